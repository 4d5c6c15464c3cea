import { GENERIC_PLANS, inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import { DomainError } from '../kernel/errors.js';
import { type Micro, type Rate, shownBalance, shownSum, type Units } from '../kernel/money.js';
import { formatInstant, type Instant, latest, SECONDS_PER_DAY } from '../kernel/time.js';
import {
  type Checkpoint,
  checkpointBefore,
  makeCheckpoints,
  openingOf,
  sizesWithin,
  usedSince,
} from './checkpoints.js';
import type { SettlingDeps } from './deps.js';
import { MOVED, secondsBefore } from './recompute.js';
import { settledAccount } from './settlement.js';

/**
 * A charge within the period: either for one instance's GPUs, disk, early exit or preemption minimum, or for one volume
 * while it had a certain size.
 */
export interface StatementLine {
  /** Null if the line is for a volume. */
  instanceId: string | null;
  /** Null if the line is for an instance. */
  volumeId: string | null;
  kind: 'GPU' | 'DISK' | 'EARLY_EXIT' | 'PREEMPTION_MINIMUM' | 'VOLUME';
  /**
   * Seconds billed within the period. For an early exit, these are the seconds whose discount is repaid. For a
   * preemption minimum, they are the remaining seconds of the minimum.
   */
  seconds: bigint;
  /** The locked rate in micro-USD per hour. For an early exit, this is the discount. */
  rate: Rate;
  /**
   * Start of the first billed second and end of the last one. For an early exit or a minimum, both are the time of the
   * charge.
   */
  from: Instant;
  to: Instant;
  /** The exact charge: rate × seconds. */
  units: Units;
  /** The rounded running total after this line minus the previous one. */
  amount: Micro;
}

/** A balance change within the period that isn't a charge. */
export interface StatementMovement {
  id: string;
  kind: 'CREDIT' | 'ADJUSTMENT' | 'SERVICE_CREDIT';
  at: Instant;
  /** The rounded running total after this movement minus the previous one. */
  amount: Micro;
  /** For a service credit, the instance whose charges are refunded. Null for other movements. */
  instanceId: string | null;
  reference: string | null;
  note: string | null;
}

/** A statement for the period [from, to). Opening + movements − lines = closing, exact to the micro-USD. */
export interface Statement {
  accountId: string;
  from: Instant;
  to: Instant;
  openingBalance: Micro;
  closingBalance: Micro;
  movements: StatementMovement[];
  lines: StatementLine[];
}

/**
 * Returns the account's statement, computed from ledger entries and usage intervals on a single database snapshot. If
 * `to` is null or in the future, the period ends with the current second. Throws if the period ends before it starts or
 * contains more than `maxLines` lines.
 */
export async function statement(
  deps: SettlingDeps,
  accountId: string,
  period: { from: Instant; to: Instant | null },
  maxLines: number = Number.MAX_SAFE_INTEGER,
): Promise<Statement> {
  return inPeriod(deps, accountId, period, async (transaction, { checkpoint, from, to, usedTo }) => {
    const { spentBefore, creditBefore } = await openingOf(transaction, accountId, checkpoint, from);
    const usage = await usageLines(transaction, accountId, checkpoint, { from, to, usedTo }, maxLines + 1);
    if (usage.length > maxLines) throw tooLong(maxLines);
    const { movements, creditAfter } = await movementsWithin(transaction, accountId, { from, to }, creditBefore);
    const { lines, spentAfter } = withAmounts(usage, spentBefore);
    return {
      accountId,
      from,
      to: usedTo < to ? usedTo : to,
      openingBalance: shownBalance(creditBefore, spentBefore),
      closingBalance: shownBalance(creditAfter, spentAfter),
      movements: movements.map(({ units: _, ...movement }) => movement),
      lines,
    };
  });
}

/** A day of a period, with its exact charges and movements. */
export interface StatementDay {
  from: Instant;
  lines: Omit<StatementLine, 'amount'>[];
  movements: (StatementMovement & { units: Units })[];
}

/** Returns the days of a period like a statement's, read on a single snapshot, and `about`'s result for them. */
export async function statementDays<T>(
  deps: SettlingDeps,
  accountId: string,
  period: { from: Instant; to: Instant },
  maxLines: number,
  about: (transaction: Transaction, days: StatementDay[]) => Promise<T>,
): Promise<{ days: StatementDay[]; about: T }> {
  return inPeriod(deps, accountId, period, async (transaction, { checkpoint, from, to, usedTo }) => {
    const days: StatementDay[] = [];
    let room = maxLines;
    for (let start = from; start < to; start += SECONDS_PER_DAY) {
      const end = start + SECONDS_PER_DAY;
      const day = { from: start, to: end < to ? end : to, usedTo: end < usedTo ? end : usedTo };
      const lines = await usageLines(transaction, accountId, checkpoint, day, room + 1);
      const { movements } = await movementsWithin(transaction, accountId, day, 0n);
      room -= lines.length;
      if (room < 0) throw tooLong(maxLines);
      days.push({ from: start, lines, movements });
    }
    return { days, about: await about(transaction, days) };
  });
}

interface ReadPeriod extends Record<'from' | 'to' | 'usedTo', Instant> {
  checkpoint: Checkpoint;
}

/** Settles the account, limits the period to the present, and runs `work` on a single database snapshot. */
async function inPeriod<T>(
  deps: SettlingDeps,
  accountId: string,
  period: { from: Instant; to: Instant | null },
  work: (transaction: Transaction, read: ReadPeriod) => Promise<T>,
): Promise<T> {
  const { from } = period;
  if (from < 0n) throw new DomainError('invalid_request', 'from must not be before 1970', { field: 'from' });
  if (period.to !== null && period.to < from)
    throw new DomainError('invalid_request', 'to must not be before from', { field: 'to' });
  const account = await settledAccount(deps, accountId);
  const now = latest(deps.clock.now(), account.settledAt);
  if (from > now) throw new DomainError('invalid_request', 'from must not be in the future', { field: 'from' });
  // Usage in future seconds is excluded. Entries made within the current second are included.
  const to = period.to === null || period.to > now ? now + 1n : period.to;
  const usedTo = to > now ? now : to;
  await makeCheckpoints(deps.db.pool, account);
  const server = period.to !== null && period.to <= now ? 'replica' : 'primary';
  const options = { server, settings: GENERIC_PLANS } as const;
  return inSnapshot(deps.db, options, async (transaction) => {
    const checkpoint = await checkpointBefore(transaction, accountId, from, usedTo);
    return work(transaction, { checkpoint, from, to, usedTo });
  });
}

function tooLong(maxLines: number): DomainError {
  return new DomainError('invalid_request', `the statement has more than ${maxLines} lines; choose a shorter period`, {
    field: 'from',
  });
}

/** Rounds the running total after each line, so that the lines add up to the change in displayed spend. */
function withAmounts(usage: readonly Omit<StatementLine, 'amount'>[], spentBefore: Units) {
  const spent = shownSum(spentBefore);
  const lines = usage.map((line): StatementLine => ({ ...line, amount: spent.add(line.units) }));
  return { lines, spentAfter: spent.total() };
}

/** The running total is rounded here too, because a service credit may not be a whole number of micro-USD. */
async function movementsWithin(
  transaction: Transaction,
  accountId: string,
  { from, to }: { from: Instant; to: Instant },
  creditBefore: Units,
) {
  const bounds = [accountId, formatInstant(from), formatInstant(to)];
  const { rows } = await transaction.query<Omit<StatementMovement, 'amount'> & { units: Units }>({
    name: 'statement-movements',
    text: MOVEMENTS_SQL,
    values: bounds,
  });
  const credited = shownSum(creditBefore);
  const movements = rows.map((movement) => ({ ...movement, amount: credited.add(movement.units) }));
  return { movements, creditAfter: credited.total() };
}

async function usageLines(
  transaction: Transaction,
  accountId: string,
  { openInstances, sequence, lastSequence }: Checkpoint,
  { from, to, usedTo }: Record<'from' | 'to' | 'usedTo', Instant>,
  limit: number,
): Promise<Omit<StatementLine, 'amount'>[]> {
  const bounds = [from, to, usedTo].map(formatInstant);
  const values = [accountId, ...bounds, limit, openInstances, sequence, lastSequence];
  const { rows } = await transaction.query<Omit<StatementLine, 'amount'>>({
    name: 'statement-lines',
    text: LINES_SQL,
    values,
  });
  return rows;
}

const MOVEMENTS_SQL = `
  select id, kind, at, units, instance_id as "instanceId", reference, note from ledger_entry
  where account_id = $1 and ${MOVED} and at >= $2::timestamptz and at < $3::timestamptz
  order by at, id`;

const SECONDS_WITHIN = `${secondsBefore('$4::timestamptz')} - ${secondsBefore('$2::timestamptz')}`;
const FIRST_WITHIN = 'greatest(started_at, $2::timestamptz)';
const END_WITHIN = 'least(coalesce(ended_at, $4::timestamptz), $4::timestamptz)';

/**
 * SQL for the statement lines in order. Instances come first, each with GPU before disk, early exit and minimum,
 * followed by volumes, oldest first.
 */
const LINES_SQL = `
  select "instanceId", "volumeId", kind, seconds, "from", "to", rate, units from (
    select sequence, instance_id as "instanceId", null as "volumeId", null::timestamptz as created_at, resource::text as kind,
      case resource when 'GPU' then 1 else 2 end as place, rate,
      sum(${SECONDS_WITHIN})::bigint as seconds, min(${FIRST_WITHIN}) as "from", max(${END_WITHIN}) as "to",
      sum(rate * (${SECONDS_WITHIN}))::bigint as units
    from ${usedSince('$1', { open: '$6::text[]', sequence: '$7', lastSequence: '$8', until: '$4::timestamptz' })}
    where started_at < $4::timestamptz and coalesce(ended_at > $2::timestamptz, true) and coalesce(destroyed_at > $2::timestamptz, true)
    group by sequence, instance_id, resource, rate
    union all
    select sequence, instance.id, null, null, 'EARLY_EXIT', 3, on_demand_rate - gpu_rate, gpu_seconds, at, at, early_exit_units
    from ledger_entry join instance on instance.id = instance_id
    where ledger_entry.account_id = $1 and kind = 'EARLY_EXIT' and at >= $2::timestamptz and at < $3::timestamptz
    union all
    select sequence, instance.id, null, null, 'PREEMPTION_MINIMUM', 4, gpu_rate, (-sum(units) / gpu_rate)::bigint,
      min(at), max(at), -sum(units)::bigint
    from ledger_entry join instance on instance.id = instance_id
    where ledger_entry.account_id = $1 and kind = 'PREEMPTION_MINIMUM' and at >= $2::timestamptz and at < $3::timestamptz
    group by sequence, instance.id
    union all
    select null, null, volume_id, created_at, 'VOLUME', 5, rate, ${SECONDS_WITHIN}, ${FIRST_WITHIN}, ${END_WITHIN},
      rate * (${SECONDS_WITHIN})
    from ${sizesWithin('$1', '$2::timestamptz', '$4::timestamptz')}
  ) as charged
  where units > 0 order by sequence nulls last, place, created_at, "volumeId", rate limit $5`;
