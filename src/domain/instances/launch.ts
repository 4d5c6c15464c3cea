import type { Transaction } from '../../database/transaction.js';
import type { Write } from '../billing/ledger.js';
import { checkOptional } from '../kernel/field.js';
import {
  type AgentOfMachine,
  checkAgent,
  checkLaunch,
  type ExitAction,
  type Launch,
  type RestartPolicy,
} from '../kernel/launch.js';
import type { Instance } from '../kernel/lifecycle.js';
import type { PricingMode } from '../kernel/price-rule.js';
import { checkSecrets } from '../secrets/secrets.js';
import { instanceFields } from './fields.js';

/** A launch as given by the caller. Each of its properties may be omitted or null. */
export type LaunchInput = { [Member in keyof Launch]?: Launch[Member] | null } & {
  restart?: RestartPolicy | null;
  onExit?: ExitAction | null;
};

/** Reads and validates a launch. Returns undefined if it has no settings. Throws invalid_request. */
export function readLaunch(input: LaunchInput | null | undefined, mode: PricingMode): Launch | undefined {
  if (input === null || input === undefined) return undefined;
  const restart = checkOptional('restart', instanceFields.restart, input.restart);
  const onExit = checkOptional('onExit', instanceFields.onExit, input.onExit);
  const launch = withoutEmpty({
    name: checkOptional('name', instanceFields.launchName, input.name),
    env: checkOptional('env', instanceFields.env, input.env),
    secrets: checkOptional('secrets', instanceFields.launchSecrets, input.secrets)?.map(withoutEmpty),
    entrypoint: checkOptional('entrypoint', instanceFields.entrypoint, input.entrypoint),
    command: checkOptional('command', instanceFields.command, input.command),
    ports: checkOptional('ports', instanceFields.launchPorts, input.ports)?.map(withoutEmpty),
    tcpPorts: checkOptional('tcpPorts', instanceFields.tcpPorts, input.tcpPorts),
    registryLogin: checkOptional('registryLogin', instanceFields.registryLogin, input.registryLogin),
    user: checkOptional('user', instanceFields.containerUser, input.user),
    restart: restart === 'ALWAYS' ? undefined : restart,
    onExit: onExit === 'KEEP' ? undefined : onExit,
  });
  checkLaunch(launch, mode);
  return Object.keys(launch).length === 0 ? undefined : launch;
}

/** Stores a launch after its instance, to which it refers. */
export function storeLaunch(current: Write, { id }: Instance, launch: Launch): void {
  current.flush();
  current.transaction.later({
    name: 'note-launch',
    text: 'insert into instance_launch (instance_id, launch) values ($1, $2::jsonb)',
    values: [id, JSON.stringify(launch)],
  });
}

/**
 * Throws action_failed if starting the instance on this machine would fail because the host agent is too old for the
 * launch or because a secret is missing.
 */
export async function checkLaunchOfStart(
  reader: Pick<Transaction, 'query'>,
  machine: AgentOfMachine,
  { id, accountId }: Pick<Instance, 'id' | 'accountId'>,
): Promise<void> {
  const { rows } = await reader.query<{ launch: Launch | null; image: string; hasTokens: boolean }>({
    name: 'launch-of-instance',
    text: `select launch, coalesce(image, template) as image,
             exists (select from made_token where made_token.instance_id = instance.id) as "hasTokens"
           from instance left join instance_launch on instance_launch.instance_id = instance.id
             left join container on container.instance_id = instance.id
           where instance.id = $1`,
    values: [id],
  });
  const [found] = rows;
  // Tokens are passed to a container the same way as secrets.
  if (found?.hasTokens) checkAgent(machine, { secrets: [] }, 'action_failed');
  if (found === undefined || found.launch === null) return;
  checkAgent(machine, found.launch, 'action_failed');
  await checkSecrets(reader, accountId, found.launch, found.image, 'action_failed');
}

/** Omits null and empty properties, so that equal launches have the same JSON. */
function withoutEmpty<T extends object>(members: T): { [Member in keyof T]: NonNullable<T[Member]> } {
  const nonEmpty = Object.entries(members).filter(
    ([, value]) =>
      value !== null && value !== undefined && (typeof value !== 'object' || Object.keys(value).length > 0),
  );
  return Object.fromEntries(nonEmpty) as { [Member in keyof T]: NonNullable<T[Member]> };
}

export function launchOf(row: { launch: unknown } | null): Launch | null {
  return row === null ? null : (row.launch as Launch);
}
