import { type Labels, requirementsOf } from '../figures/labels.js';
import { visible } from '../figures/visible.js';
import { joinWords } from '../figures/words.js';
import { Facts } from '../parts/facts.js';
import { Fold } from '../parts/fold.js';
import { draft } from '../state/launch-draft.js';
import { EMPTY, EXITS, envOf, formOf, type Launch, RESTARTS, type VolumeRow } from '../state/launch-form.js';
import { go, withParameters } from '../state/location.js';
import { texts as workload } from '../texts/en/instance.js';
import { texts } from '../texts/en/launch.js';

interface Props {
  instance: { template: string; diskGb: number; gpu: string; numGpus: number; labels: Labels };
  launch: Launch | null;
  volumes: readonly VolumeRow[];
}

/** Opens the deploy page, filled in with the same workload. */
export function deployAgain({ instance, launch, volumes }: Props): void {
  const { template, diskGb, gpu, numGpus, labels } = instance;
  const parameters = new URLSearchParams({ template, 'deploy-disk': String(diskGb), gpu, gpus: String(numGpus) });
  const requirements = requirementsOf(labels);
  if (requirements.length > 0) parameters.set('labels', requirements.join(', '));
  const rows = volumes.map(({ id, path }) => ({ id, path }));
  draft.value = { ...(launch === null ? EMPTY : formOf(launch)), volumes: rows };
  go(withParameters('/deploy', parameters));
}

/** The folded section with an instance's workload as the renter requested it. */
export function Launched({ instance, launch }: Pick<Props, 'instance' | 'launch'>) {
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
