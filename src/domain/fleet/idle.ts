import type { LedgerDeps } from '../billing/deps.js';
import { type Write, write } from '../billing/ledger.js';
import { decideIdle, type IdleDecision, type IdleWatch } from '../kernel/idle.js';
import { type Instance, stop } from '../kernel/lifecycle.js';
import { formatInstant } from '../kernel/time.js';

/** Maximum number of instances read per pass: as many as can be watched in a fleet of 20,000 machines. */
const MAX_ROWS = 20_000;

interface WatchedRow extends IdleWatch {
  id: string;
  accountId: string;
}

/**
 * Warns the renters of idle running instances and later stops those instances. Any gateway can do this, because the
 * facts are in the database and decisions are made while the account is locked.
 */
export async function stopIdle(deps: LedgerDeps): Promise<void> {
  const { rows } = await deps.db.pool.query<WatchedRow>({
    name: 'idle-watches',
    text: WATCHES_SQL,
    values: [MAX_ROWS],
  });
  const now = deps.clock.now();
  for (const { id, accountId, ...watch } of rows) {
    if (requiresAction(decideIdle(watch, now))) await actOn(deps, id, accountId);
  }
}

function requiresAction(decision: IdleDecision | null): decision is IdleDecision {
  return decision !== null && decision.does !== 'wait';
}

async function actOn(deps: LedgerDeps, id: string, accountId: string): Promise<void> {
  await write(deps, { accountIds: [accountId], instanceId: id }, async (current) => {
    const instance = current.instance(id);
    if (instance?.status !== 'RUNNING') return;
    const { rows } = await current.transaction.query<WatchedRow>(WATCH_SQL, [id]);
    const decision = rows[0] === undefined ? null : decideIdle(rows[0], current.at);
    if (!requiresAction(decision)) return;
    if (decision.does === 'warn') warn(current, instance, decision);
    else stop(current.step(current.lockedAccount(accountId)), instance, 'IDLE');
  });
}

/** Warns once per idle period, because the warning is stored along with the period. */
function warn(current: Write, { id, accountId, stopWhenIdle }: Instance, { since, stopsAt }: IdleDecision): void {
  const values = [id, formatInstant(since), formatInstant(current.at)];
  current.transaction.later({ name: 'warn-idle', text: WARN_SQL, values });
  current.emit({
    accountId,
    type: 'instance.idle_soon',
    subject: id,
    at: current.at,
    data: {
      instance: id,
      idle_since: formatInstant(since),
      stops_at: formatInstant(stopsAt),
      stop_when_idle: stopWhenIdle,
    },
  });
}

const WATCHES = `
  select instance.id, account_id as "accountId", stop_when_idle as minutes, asked_at as "setAt", quiet_since as "quietSince",
    active_at as "activeAt", seen_at as "seenAt", warned_of as "warnedOf", warned_at as "warnedAt",
    (select max(ended_at) from machine_outage where machine_outage.machine_id = machine_heartbeat.machine_id) as "backAt"
  from idle_watch join instance on instance.id = instance_id
    join machine_heartbeat on machine_heartbeat.machine_id = coalesce(instance.host_id, instance.machine_id)
  where status = 'RUNNING' and stop_when_idle is not null and quiet_since is not null and start = gpu_intervals and reachable`;
const WATCHES_SQL = `${WATCHES} order by instance.id limit $1`;
/** The lock waits for any report that is still being written. */
const WATCH_SQL = `${WATCHES} and instance.id = $1 for no key update of idle_watch`;

const WARN_SQL =
  'update idle_watch set warned_of = $2::timestamptz, warned_at = $3::timestamptz where instance_id = $1';
