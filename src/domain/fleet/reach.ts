import type { SettlingDeps } from '../billing/deps.js';
import { settledAccount } from '../billing/settlement.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { ContainerPhase } from '../kernel/fleet.js';
import { INSTANCE_ID, type InstanceStatus } from '../kernel/lifecycle.js';
import { formatInstant } from '../kernel/time.js';

/** The client that opens a connection to an instance: an account using one of its keys, or no key for a public port. */
export interface Opener {
  accountId: string;
  apiKeyId: string | null;
  /** Token hash of the console session that provided the API key. */
  session?: Buffer | undefined;
  sshKeyId: string | null;
}

/**
 * `unknown`: the account has no such instance, the key is revoked or the account is suspended. `stopped`: no container
 * is running, but the log is still readable. `starting`: the instance is rented, but its container isn't running yet.
 * `unreachable`: the machine isn't sending heartbeats.
 */
type ReachState = 'unknown' | 'running' | 'starting' | 'stopped' | 'destroyed' | 'unreachable';

export interface Reach {
  state: ReachState;
  /** Null if the state is `unknown` or if no agent runs the instance. */
  machineId: string | null;
}

const NOTHING: Reach = { state: 'unknown', machineId: null };

/** Settles everything due and then returns whether the client may reach the instance now. */
export async function reachOf(deps: SettlingDeps, opener: Opener, instanceId: string): Promise<Reach> {
  if (!INSTANCE_ID.test(instanceId)) return NOTHING;
  await settledAccount(deps, opener.accountId);
  return readReach(deps, opener, instanceId);
}

interface Row {
  status: InstanceStatus;
  machineId: string | null;
  phase: ContainerPhase | null;
  isOfLastStart: boolean;
  reachable: boolean;
}

/** Like `reachOf`, but doesn't settle the account first. */
export async function readReach(
  { db, clock }: Pick<KernelDeps, 'db' | 'clock'>,
  opener: Opener,
  instanceId: string,
): Promise<Reach> {
  const { rows } = await db.pool.query<Row>({
    name: 'reach',
    text: REACH_SQL,
    values: [
      instanceId,
      opener.accountId,
      opener.apiKeyId,
      opener.sshKeyId,
      opener.session ?? null,
      formatInstant(clock.now()),
    ],
  });
  const row = rows[0];
  if (row === undefined) return NOTHING;
  return { state: stateOf(row), machineId: row.machineId };
}

function stateOf({ status, machineId, phase, isOfLastStart, reachable }: Row): ReachState {
  if (status === 'DESTROYED') return 'destroyed';
  if (status === 'STOPPED') return 'stopped';
  if (machineId === null) return 'starting';
  if (!reachable) return 'unreachable';
  return phase === 'RUNNING' && isOfLastStart ? 'running' : 'starting';
}

const REACH_SQL = `
  select instance.status, container.machine_id as "machineId", container.phase,
    coalesce(container.start = gpu_intervals, false) as "isOfLastStart", coalesce(reachable, false) as reachable
  from instance join account on account.id = account_id
    left join container on container.instance_id = instance.id
    left join machine_heartbeat heartbeat on heartbeat.machine_id = container.machine_id
  where instance.id = $1 and account_id = $2 and suspended_at is null
    and ($3::text is null or exists
      (select 1 from api_key where api_key.id = $3 and api_key.account_id = $2 and revoked_at is null
        and (expires_at is null or expires_at > $6)))
    and ($4::text is null or exists (select 1 from ssh_key where ssh_key.id = $4 and ssh_key.account_id = $2))
    and ($5::bytea is null or exists
      (select 1 from console_session where token_hash = $5 and key_id = $3 and expires_at > $6))`;
