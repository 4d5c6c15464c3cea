import { visible } from '../figures/visible.js';
import { joinWords } from '../figures/words.js';
import { Facts } from '../parts/facts.js';
import { Fold } from '../parts/fold.js';
import { EXITS, envOf, type Launch, RESTARTS } from '../state/launch-form.js';
import { texts as workload } from '../texts/en/instance.js';
import { texts } from '../texts/en/launch.js';

interface Props {
  instance: { template: string };
  launch: Launch | null;
}

/** The folded section with an instance's workload as the renter requested it. */
export function Launched({ instance, launch }: Props) {
  const count = launch === null ? 0 : envOf(launch).length + launch.secrets.length;
  return (
    <Fold title={texts.launched} summary={workload.workloadOf(visible(instance.template), count)}>
      <Facts
        of={[
          [texts.template, <span class="mono">{visible(instance.template)}</span>],
          launch?.entrypoint == null ? null : [texts.shownEntrypoint, <CommandLine of={launch.entrypoint} />],
          launch?.command == null ? null : [texts.shownCommand, <CommandLine of={launch.command} />],
          launch === null || launch.ports.length === 0
            ? null
            : [
                texts.ports,
                launch.ports.map(({ port, name }) => (name ? texts.port(port, visible(name)) : port)).join(', '),
              ],
          launch === null || launch.tcpPorts.length === 0 ? null : [texts.shownTcpPorts, launch.tcpPorts.join(', ')],
          launch?.registryLogin == null ? null : [texts.pulledWith, launch.registryLogin],
          launch?.user == null ? null : [texts.shownUser, <span class="mono">{launch.user}</span>],
          launch === null || launch.restart === 'ALWAYS'
            ? null
            : [
                texts.whenItEnds,
                launch.restart === 'NEVER'
                  ? EXITS[launch.onExit]
                  : texts.restartElse(RESTARTS.ON_FAILURE, EXITS[launch.onExit]),
              ],
        ]}
      />
      {launch !== null && (envOf(launch).length > 0 || launch.secrets.length > 0) && (
        <dl class="pairs">
          {envOf(launch).map(([name, value]) => (
            <div key={name}>
              <dt class="mono">{name}</dt>
              <dd class="mono">{visible(value)}</dd>
            </div>
          ))}
          {launch.secrets.map(({ secret, variable, file }) => (
            <div key={variable ?? file}>
              <dt class="mono">{variable ?? `/run/secrets/${file}`}</dt>
              <dd>{texts.theSecret(secret)}</dd>
            </div>
          ))}
        </dl>
      )}
    </Fold>
  );
}

function CommandLine({ of: words }: { of: readonly string[] }) {
  return <span class="mono">{visible(joinWords(words))}</span>;
}
