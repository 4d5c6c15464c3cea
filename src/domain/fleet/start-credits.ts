import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import { type Write, write } from '../billing/ledger.js';
import { type Account, stop } from '../kernel/lifecycle.js';
import { overlapping } from '../kernel/machine-condition.js';
import type { Rate } from '../kernel/money.js';
import { formatInstant, type Instant, LAST_INSTANT } from '../kernel/time.js';
import {
  creditOfStart,
  type ObservedStart,
  SLOW_START_SECONDS,
  type StartCredit,
  TEMPLATE_START_SECONDS,
} from './rules/start-credit.js';
import { ServiceGaps } from './service-gaps.js';

/** Maximum number of accounts settled per pass. Any others are left for the next pass. */
const BATCH = 200;

interface OpenStart extends Omit<ObservedStart, 'ownWaitUntil'> {
  instanceId: string;
  ordinal: number;
  rate: Rate;
  failedAt: Instant | null;
  waitsForOwn: boolean;
  /**
   * When the start was sent to the agent. Recorded only for starts that wait for another container of the same account.
   */
  waitedUntil: Instant | null;
  /** When the last of the account's previously destroyed containers was erased, if that happened during this start. */
  ownErasedAt: Instant | null;
}

/**
 * Credits the account for the seconds that its starts are known not to have delivered, and stops instances whose start
 * failed permanently. Starts are processed in the order in which they ended, so that the same starts always use up the
 * daily allowance for template starts. Idempotent.
 */
export function settleStarts(deps: LedgerDeps, accountId: string): Promise<void> {
  return write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.account(accountId);
    if (account === undefined) return;
    const [rows] = await current.transaction.run({ name: 'open-starts', text: STARTS_SQL, values: [accountId] });
    const starts = rows as OpenStart[];
    await stopFailed(current, account, starts);
    for (const start of starts.sort(byEnd)) await settleStart(current, account, start);
  });
}

/**
 * Stops instances whose start failed. The rows are read after settlement, so they show which instances it has ended.
 */
async function stopFailed(current: Write, account: Account, starts: readonly OpenStart[]): Promise<void> {
  const failed = starts.filter(({ to, failedAt }) => to === null && failedAt !== null);
  if (failed.length === 0) return;
  const live = new Map((await current.liveInstancesOf(account)).map((instance) => [instance.id, instance]));
  for (const start of failed) {
    const instance = required(live.get(start.instanceId), 'live instance of a start');
    stop(current.step(account), instance, 'START_FAILED');
    start.to = instance.stoppedAt;
  }
}

function byEnd(one: OpenStart, other: OpenStart): number {
  const ends = (one.to ?? LAST_INSTANT) - (other.to ?? LAST_INSTANT);
  if (ends !== 0n) return ends < 0n ? -1 : 1;
  if (one.instanceId !== other.instanceId) return one.instanceId < other.instanceId ? -1 : 1;
  return one.ordinal - other.ordinal;
}

async function settleStart(current: Write, account: Account, start: OpenStart): Promise<void> {
  const { instanceId, ordinal, rate } = start;
  const outcome = creditOfStart({ ...start, ownWaitUntil: ownWaitOf(start) }, current.at);
  if (outcome === 'unknown') return;
  const stretch = outcome === null ? null : await withinDay(current, account.id, outcome);
  if (outcome !== null && stretch !== null && stretch.from < stretch.to)
    (await ServiceGaps.load(current, account, instanceId)).add(outcome.reason, 'GPU', rate, stretch);
  current.transaction.later({ name: 'settle-start', text: SETTLE_START, values: [instanceId, ordinal] });
}

function ownWaitOf({ waitsForOwn, waitedUntil, ownErasedAt }: OpenStart): Instant | null {
  if (!waitsForOwn) return ownErasedAt;
  // The agent never received this start, so the wait lasted until the start ended.
  if (waitedUntil === null) return LAST_INSTANT;
  return ownErasedAt !== null && ownErasedAt > waitedUntil ? ownErasedAt : waitedUntil;
}

/** Deducts a template start's seconds from the account's remaining allowance for that day. */
async function withinDay(current: Write, accountId: string, credit: StartCredit): Promise<StartCredit['stretch']> {
  const { stretch } = credit;
  if (credit.reason !== 'TEMPLATE_START' || stretch.from >= stretch.to) return stretch;
  const seconds = stretch.to - stretch.from;
  const { rows } = await current.transaction.query<{ taken: bigint }>(TAKE_SQL, [accountId, credit.day, seconds]);
  return { from: stretch.from, to: stretch.from + BigInt(rows[0]?.taken ?? 0n) };
}

/** Settles starts that are over or have earned their maximum credit. */
export async function settleOpenStarts(deps: LedgerDeps): Promise<void> {
  const values = [formatInstant(deps.clock.now())];
  const { rows } = await deps.db.pool.query<{ accountId: string }>({ name: 'due-starts', text: DUE_SQL, values });
  for (const { accountId } of rows) await settleStarts(deps, accountId);
}

const INTERVAL_OF_START = `
  container_start s join instance on instance.id = s.instance_id
    join usage_interval used on used.instance_id = s.instance_id and used.resource = 'GPU' and used.ordinal = s.ordinal`;

const OWN_ERASED_AT = `(
  select max(other.erased_at) from container other join instance mine on mine.id = other.instance_id
  where other.machine_id = coalesce(instance.host_id, instance.machine_id) and ${overlapping('mine', 'instance')}
    and mine.account_id = instance.account_id and mine.id <> instance.id
    and mine.destroyed_at <= used.started_at + interval '1 second'
    and other.erased_at > used.started_at and other.erased_at <= s.running_at)`;

/** Locks the rows, so that a report arriving while a start is being settled no longer changes it. */
const STARTS_SQL = `
  select s.instance_id as "instanceId", s.ordinal, used.rate, used.started_at as "from", used.ended_at as "to",
    s.running_at as "runningAt", s.failed_at as "failedAt", s.host_fault as "hostFault",
    s.operator_image as "operatorImage", used.minimum_until as "minimumUntil", s.waits_for_own as "waitsForOwn",
    s.waited_until as "waitedUntil", ${OWN_ERASED_AT} as "ownErasedAt", instance.volume_gb > 0 and exists (
      select from volume_attachment attached join volume_snapshot snapshot using (volume_id)
      where attached.instance_id = s.instance_id and snapshot.at <= used.started_at) as restores
  from ${INTERVAL_OF_START}
  where not s.settled and instance.account_id = $1
  order by s.instance_id, s.ordinal for no key update of s`;

const SETTLE_START = 'update container_start set settled = true where instance_id = $1 and ordinal = $2';

/**
 * Returns the number of seconds taken, which is less than requested if the day's maximum is nearly used up, and zero
 * once it is.
 */
const TAKE_SQL = `
  with before as (
    select coalesce((select seconds from template_start_credit where account_id = $1 and day = $2), 0) as seconds
  ), taken as (
    select least($3::bigint, ${TEMPLATE_START_SECONDS} - seconds) as seconds from before
  ), written as (
    insert into template_start_credit (account_id, day, seconds) select $1, $2, seconds from taken where seconds > 0
    on conflict (account_id, day) do update set seconds = template_start_credit.seconds + excluded.seconds
  )
  select seconds as taken from taken`;

/** Starts that are over, have failed, or have been running for as long as credit can accrue. */
const DUE_SQL = `
  select distinct account_id as "accountId"
  from ${INTERVAL_OF_START}
  where not s.settled and (used.ended_at < $1::timestamptz or (used.ended_at is null and failed_at is not null)
    or running_at + least(interval '${SLOW_START_SECONDS} seconds', running_at - greatest(
      used.started_at, used.minimum_until, ${OWN_ERASED_AT},
      case when waits_for_own then coalesce(waited_until, running_at) end)) <= $1::timestamptz)
  limit ${BATCH}`;
