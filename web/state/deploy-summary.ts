import { labelsOf, requirementsOf } from '../figures/labels.js';
import { localTime, secondsOf } from '../figures/time.js';
import { visible } from '../figures/visible.js';
import { texts } from '../texts/en/deploy.js';
import { serverNow } from './clock.js';
import type { useDeployForm } from './deploy-form.js';
import type { LaunchForm } from './launch-form.js';

type DeployForm = ReturnType<typeof useDeployForm>;

/** Describes what the launch form sets, in one line. Null if the template's defaults apply. */
export function launchSummary(form: LaunchForm, labels: string): string | null {
  const { name, env, secrets, entrypoint, command, ports, tcpPorts, registryLogin, user, restart } = form;
  const numbers = [...ports, ...tcpPorts].map(({ port }) => port).filter((port) => port !== '');
  return joined([
    name,
    ...requirementsOf(labelsOf(labels)),
    env.length > 0 && texts.variables(env.length),
    secrets.length > 0 && texts.secrets(secrets.length),
    (command.trim() !== '' || entrypoint.trim() !== '') && texts.ownCommand,
    numbers.length > 0 && texts.ports(numbers.join(', ')),
    registryLogin,
    user,
    restart !== 'ALWAYS' && texts.ownRestart,
  ]);
}

/** Describes the deadlines and the limit in one line. Null if there are none. */
export function limitsSummary({ plain }: Pick<DeployForm, 'plain'>): string | null {
  const [stopAt, destroyAt, idle, limit] = (['stop-at', 'destroy-at', 'idle', 'limit'] as const).map(plain);
  return joined([
    stopAt && texts.stopAt(deadlineText(stopAt)),
    destroyAt && texts.destroyAt(deadlineText(destroyAt)),
    idle && texts.stopIdle(idle),
    limit && texts.atMost(limit),
  ]);
}

/** Formats an instant as a local time. A duration stays as typed. */
function deadlineText(typed: string): string {
  const at = /^\d{4}-/.test(typed) ? secondsOf(typed) : Number.NaN;
  return Number.isNaN(at) ? typed : localTime(at, serverNow.value);
}

function joined(parts: readonly (string | false | undefined)[]): string | null {
  const set = parts.filter((part) => part);
  return set.length === 0 ? null : visible(set.join(' · '));
}
