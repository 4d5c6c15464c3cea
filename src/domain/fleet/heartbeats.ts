import type { Database } from '../../database/database.js';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import { UNREACHABLE_AFTER_SECONDS } from '../kernel/fleet.js';
import { formatInstant, type Instant } from '../kernel/time.js';

/** Interval at which received heartbeats are written as one batch, in milliseconds. */
const WRITE_EVERY_MS = 1_000;
/** Maximum number of machines listed in a change notice. */
const IDS_PER_NOTICE = 50;

/**
 * Records each machine's last heartbeat. One statement writes many heartbeats without sending notices. When a machine
 * becomes reachable again, all gateways are notified and the end of the outage is recorded.
 */
export class Heartbeats {
  readonly #db: Database;
  readonly #onFault: (error: unknown) => void;
  #unwritten = new Map<string, Instant>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, onFault: (error: unknown) => void) {
    this.#db = db;
    this.#onFault = onFault;
  }

  record(machineId: string, at: Instant): void {
    const before = this.#unwritten.get(machineId);
    if (before === undefined || before < at) this.#unwritten.set(machineId, at);
    this.#timer ??= setTimeout(() => this.flush().catch(this.#onFault), WRITE_EVERY_MS).unref();
  }

  /**
   * Writes the recorded heartbeats and resolves once they are written. Heartbeats that can't be written are kept for
   * the next attempt.
   */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writing = this.#writing.catch(() => {}).then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    const received = this.#unwritten;
    this.#unwritten = new Map();
    try {
      const values = [[...received.keys()], Array.from(received.values(), formatInstant)];
      await this.#db.pool.query({ name: 'heartbeats', text: HEARTBEATS_SQL, values });
    } catch (error) {
      for (const [id, at] of received) this.record(id, at);
      throw error;
    }
  }
}

/**
 * Runs `markUnreachable` if it is due. Returns the earliest time at which a machine may be due next, which can be in
 * the past. Returns null if there is no such machine.
 */
export async function markUnreachableIfDue(db: Database, now: Instant): Promise<Instant | null> {
  const { rows } = await db.pool.query<{ seenAt: Instant | null }>({
    name: 'received-longest-ago',
    text: 'select min(seen_at) as "seenAt" from machine_heartbeat where reachable',
  });
  const { seenAt } = only(rows);
  if (seenAt === null) return null;
  const awayAt = seenAt + UNREACHABLE_AFTER_SECONDS + 1n;
  if (awayAt <= now) await markUnreachable(db, now);
  return awayAt;
}

/**
 * Marks machines without a recent heartbeat as unreachable, begins their outages and returns their ids. The first
 * gateway to check does this on behalf of all gateways.
 */
export async function markUnreachable(db: Database, now: Instant): Promise<string[]> {
  const { rows } = await db.pool.query<{ id: string }>({
    name: 'mark-away',
    text: AWAY_SQL,
    values: [formatInstant(now - UNREACHABLE_AFTER_SECONDS)],
  });
  return rows.map(({ id }) => id);
}

/**
 * Notifies all gateways, including this one, about the machines in `changed (id)` and their containers. Each notice
 * lists as many machines as fit.
 */
const NOTIFY = `
  notified as (
    select pg_notify('gateway', json_build_object('table', 'machine', 'ids', json_agg(id))::text)
    from (select id, (row_number() over (order by id) - 1) / ${IDS_PER_NOTICE} as part from changed) parts group by part
  ), notified_containers as (
    select pg_notify('gateway', json_build_object('table', 'container', 'id', instance_id, 'machine', container.machine_id,
      'account', account_id)::text)
    from changed join container on container.machine_id = changed.id and erased_at is null
      join instance on instance.id = instance_id
  )
  select id from changed, (select count(*) from notified) as all_notified, (select count(*) from notified_containers) as all_notified_containers`;

/** Locks the rows in id order, as all gateways do. */
const HEARTBEATS_SQL = `
  with before as (
    select machine_id, seen_at, reachable, received.at::timestamptz(0) as at
    from machine_heartbeat join unnest($1::text[], $2::text[]) as received (id, at) on id = machine_id
      join machine_host using (machine_id)
    -- A late heartbeat doesn't make a machine reachable again, and neither does one of a revoked agent.
    where revoked_at is null and (reachable or seen_at is null or received.at::timestamptz(0) > seen_at)
    order by machine_id for no key update of machine_heartbeat
  ), ended as (
    insert into machine_outage (machine_id, started_at, ended_at)
    select machine_id, seen_at, at from before
    where at - seen_at > interval '${UNREACHABLE_AFTER_SECONDS} seconds' or (not reachable and seen_at is not null)
    on conflict (machine_id, started_at) do update set ended_at = excluded.ended_at, settled = false
  ), written as (
    update machine_heartbeat set seen_at = greatest(machine_heartbeat.seen_at, before.at), reachable = true
    from before where machine_heartbeat.machine_id = before.machine_id
  ), changed as (
    select machine_id as id from before where not reachable
  ), ${NOTIFY}`;

/**
 * Begins the outage of a machine whose agent was revoked. The outage starts at the last heartbeat, no matter how
 * recent.
 */
export async function markRevoked(transaction: Transaction, machineId: string): Promise<void> {
  await transaction.query(REVOKED_SQL, [machineId]);
}

const REVOKED_SQL = `
  with changed as (
    update machine_heartbeat set reachable = false where reachable and machine_id = $1
    returning machine_id as id, seen_at
  ), begun as (
    insert into machine_outage (machine_id, started_at) select id, seen_at from changed
    on conflict (machine_id, started_at) do nothing
  ), ${NOTIFY}`;

const AWAY_SQL = `
  with changed as (
    update machine_heartbeat set reachable = false where reachable and seen_at < $1::timestamptz
    returning machine_id as id, seen_at
  ), begun as (
    insert into machine_outage (machine_id, started_at) select id, seen_at from changed
    on conflict (machine_id, started_at) do nothing
  ), ${NOTIFY}`;
