import { inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import type { Instance } from '../kernel/lifecycle.js';
import { type Micro, shownSpend, type Units } from '../kernel/money.js';
import {
  dateOf,
  dateOfDay,
  formatDay,
  formatInstant,
  type Instant,
  instantOf,
  latest,
  SECONDS_PER_DAY,
} from '../kernel/time.js';
import { checkpointBefore, makeCheckpoints, openingOf, sizesWithin, usedSince } from './checkpoints.js';
import type { SettlingDeps } from './deps.js';
import { CHARGED, secondsBefore } from './recompute.js';
import { settledAccount } from './settlement.js';

export const MAX_SPEND_DAYS = 92;
/** Number of instances listed by default. */
export const DEFAULT_LISTED = 10;
/** Maximum number of charges read. There is one per instance per day. */
const MAX_CHARGES = 50_000;

/** An account's spend over a period of UTC days, by day and by instance. */
export interface SpendByDay {
  /** First and last day as YYYY-MM-DD. Future days are omitted. */
  from: string;
  to: string;
  /** The second up to which spend is included. */
  asOf: Instant;
  total: Micro;
  days: SpendDay[];
  /** The instances with the highest spend, in descending order. */
  instances: InstanceSpend[];
  /** Spend on all other instances and on volumes. */
  others: Micro;
  /** The part of `others` that was spent on volumes. */
  volumes: Micro;
  /** Spend on all instances by model, in descending order. These amounts and `volumes` add up to the total. */
  models: { gpu: string; amount: Micro }[];
  /** The names with the highest spend, in descending order, up to the same limit as `instances`. */
  names: NameSpend[];
}

export interface NameSpend {
  /** The name given at launch, or the instance's id if it has no name. */
  name: string;
  /** Number of instances with this name. */
  instances: number;
  amount: Micro;
}

export interface SpendDay {
  date: string;
  total: Micro;
  /** That day's spend on each listed instance, in list order. Instances without spend are omitted. */
  instances: { instanceId: string; amount: Micro }[];
  others: Micro;
  volumes: Micro;
}

export interface InstanceSpend extends Pick<Instance, 'gpu' | 'numGpus' | 'region' | 'template' | 'mode' | 'status'> {
  instanceId: string;
  name: string;
  amount: Micro;
}

interface Charge {
  /** Number of days since `from`. */
  day: number;
  /** Null for the combined charge of all volumes. */
  instanceId: string | null;
  units: Units;
}

/**
 * Returns spend by day and by instance, listing the `limit` instances with the highest spend. Each amount is the
 * rounded running total after it minus the previous one, counted day by day and, within a day, in instance order. All
 * rows and columns therefore add up, and the days of a month add up to the month's spend. Throws invalid_request if the
 * period is too long or starts in the future.
 */
export async function spendByDay(
  deps: SettlingDeps,
  accountId: string,
  period: { from: string; to?: string | null; limit?: number | null },
): Promise<SpendByDay> {
  const limit = check('limit', commonFields.limit, period.limit ?? DEFAULT_LISTED);
  const account = await settledAccount(deps, accountId);
  const asOf = latest(deps.clock.now(), account.settledAt);
  const today = formatDay(dateOf(asOf));
  const to = period.to == null || period.to > today ? today : period.to;
  const [first, last] = [period.from, to].map((day) => instantOf(dateOfDay(day))) as [Instant, Instant];
  checkPeriod(period.from, to, first, last, today);
  const end = last + SECONDS_PER_DAY;
  await makeCheckpoints(deps.db.pool, account);
  return inSnapshot(deps.db, { server: end <= asOf ? 'replica' : 'primary' }, async (transaction) => {
    const amounts = await amountsWithin(transaction, accountId, { first, end, asOf });
    const all = await spendOfInstances(transaction, accountId, amounts);
    const instances = greatestFirst(all).slice(0, limit);
    const total = sumOf(amounts);
    return {
      from: period.from,
      to,
      asOf,
      total,
      days: daysOf(first, last, amounts, instances),
      instances,
      others: total - sumOf(instances),
      volumes: sumOf(amounts.filter(({ instanceId }) => instanceId === null)),
      models: greatestFirst(grouped(all, ({ gpu }) => gpu)).map(({ key, amount }) => ({ gpu: key, amount })),
      names: greatestFirst(grouped(all, ({ name }) => name))
        .slice(0, limit)
        .map(({ key, count, amount }) => ({ name: key, instances: count, amount })),
    };
  });
}

/** Reads the charges from `first` to `end`, or to `asOf` if that is earlier. Throws invalid_request if there are too many. */
async function amountsWithin(
  transaction: Transaction,
  accountId: string,
  { first, end, asOf }: { first: Instant; end: Instant; asOf: Instant },
): Promise<Amount[]> {
  const usedTo = end > asOf ? asOf : end;
  const checkpoint = await checkpointBefore(transaction, accountId, first, usedTo);
  const { spentBefore } = await openingOf(transaction, accountId, checkpoint, first);
  const { rows: charges } = await transaction.query<Charge>(CHARGES_SQL, [
    accountId,
    formatInstant(first),
    formatInstant(usedTo),
    // Charges made within the current second are included.
    formatInstant(end > asOf ? asOf + 1n : end),
    MAX_CHARGES + 1,
    checkpoint.openInstances,
    checkpoint.sequence,
    checkpoint.lastSequence,
  ]);
  if (charges.length > MAX_CHARGES) {
    throw new DomainError('invalid_request', 'the period has too many charges; choose a shorter one', {
      field: 'from',
    });
  }
  return withAmounts(charges, spentBefore);
}

/** Returns each charged instance with its total, in the order of its first charge. */
async function spendOfInstances(
  transaction: Transaction,
  accountId: string,
  amounts: readonly Amount[],
): Promise<InstanceSpend[]> {
  const totals = new Map<string, Micro>();
  for (const { instanceId, amount } of amounts)
    if (instanceId !== null) totals.set(instanceId, (totals.get(instanceId) ?? 0n) + amount);
  const { rows: known } = await transaction.query<Omit<InstanceSpend, 'amount'>>(NAMED_SQL, [
    accountId,
    [...totals.keys()],
  ]);
  const byId = new Map(known.map((instance) => [instance.instanceId, instance]));
  return [...totals].map(([id, amount]) => ({ ...required(byId.get(id), 'charged instance'), amount }));
}

/** Sorts in descending order. The sort is stable, so if two amounts are equal, the older one comes first. */
function greatestFirst<Spent extends { amount: Micro }>(all: readonly Spent[]): Spent[] {
  return all.toSorted(({ amount: one }, { amount: other }) => (one < other ? 1 : one > other ? -1 : 0));
}

/** Sums instances' spend by key, keeping the order in which the keys first appear. */
function grouped(all: readonly InstanceSpend[], keyOf: (instance: InstanceSpend) => string) {
  const groups = new Map<string, { key: string; count: number; amount: Micro }>();
  for (const instance of all) {
    const key = keyOf(instance);
    const { count, amount } = groups.get(key) ?? { count: 0, amount: 0n };
    groups.set(key, { key, count: count + 1, amount: amount + instance.amount });
  }
  return [...groups.values()];
}

function checkPeriod(from: string, to: string, first: Instant, last: Instant, today: string): void {
  const refuse = (field: string, message: string) => {
    throw new DomainError('invalid_request', message, { field });
  };
  if (first < 0n) refuse('from', 'from must not be before 1970');
  if (from > today) refuse('from', 'from must not be in the future');
  if (last < first) refuse('to', 'to must not be before from');
  if (last - first >= BigInt(MAX_SPEND_DAYS) * SECONDS_PER_DAY) {
    refuse('from', `the period ${from} to ${to} must have at most ${MAX_SPEND_DAYS} days`);
  }
}

interface Amount {
  day: number;
  instanceId: string | null;
  amount: Micro;
}

/** Rounds the running total after each charge, in the given order. */
function withAmounts(charges: readonly Charge[], spentBefore: Units): Amount[] {
  let spent = spentBefore;
  return charges.map(({ day, instanceId, units }) => {
    const before = shownSpend(spent);
    spent += units;
    return { day, instanceId, amount: shownSpend(spent) - before };
  });
}

/** Returns every day of the period, including days without spend. */
function daysOf(
  first: Instant,
  last: Instant,
  amounts: readonly Amount[],
  named: readonly InstanceSpend[],
): SpendDay[] {
  const byDay = new Map<number, Map<string | null, Micro>>();
  for (const { day, instanceId, amount } of amounts)
    byDay.set(day, (byDay.get(day) ?? new Map<string | null, Micro>()).set(instanceId, amount));
  return Array.from({ length: Number((last - first) / SECONDS_PER_DAY) + 1 }, (_, day) => {
    const byInstance = byDay.get(day) ?? new Map<string | null, Micro>();
    const instances = named.flatMap(({ instanceId }) => {
      const amount = byInstance.get(instanceId);
      return amount === undefined ? [] : [{ instanceId, amount }];
    });
    const total = [...byInstance.values()].reduce((sum, amount) => sum + amount, 0n);
    const date = formatDay(dateOf(first + BigInt(day) * SECONDS_PER_DAY));
    return { date, total, instances, others: total - sumOf(instances), volumes: byInstance.get(null) ?? 0n };
  });
}

function sumOf(amounts: readonly { amount: Micro }[]): Micro {
  return amounts.reduce((sum, { amount }) => sum + amount, 0n);
}

/** SQL for the days overlapped by an interval, each with its start and end. */
const CUT = `
      cross join lateral (
        select day, $2::timestamptz + day * interval '24 hours' as day_start,
          least($2::timestamptz + (day + 1) * interval '24 hours', $3::timestamptz) as day_end
        from generate_series(
          floor(greatest(extract(epoch from started_at - $2::timestamptz), 0) / 86400)::int,
          floor(extract(epoch from least(coalesce(ended_at, $3::timestamptz), $3::timestamptz) - $2::timestamptz) / 86400)::int
        ) as day
      ) cut`;
const UNITS_OF_DAY = `rate * (${secondsBefore('day_end')} - ${secondsBefore('day_start')})`;

/**
 * SQL for the charges of each instance on each day: usage intervals split at midnight UTC, early exits and preemption
 * minimums. The last charge of each day is the combined charge for all volumes. The row order is fixed.
 */
const CHARGES_SQL = `
  select day::int, "instanceId", sum(units)::bigint as units from (
    select sequence, instance_id as "instanceId", day, ${UNITS_OF_DAY} as units
    from ${usedSince('$1', { open: '$6::text[]', sequence: '$7', lastSequence: '$8', until: '$3::timestamptz' })} ${CUT}
    where started_at < $3::timestamptz and coalesce(ended_at > $2::timestamptz, true)
      and day_start < day_end
    union all
    select sequence, instance.id, floor(extract(epoch from at - $2::timestamptz) / 86400)::int, -units
    from ledger_entry cross join lateral (select id, sequence from instance where id = instance_id offset 0) instance
    where ledger_entry.account_id = $1 and ${CHARGED} and at >= $2::timestamptz and at < $4::timestamptz
    union all
    select null, null, day, ${UNITS_OF_DAY}
    from ${sizesWithin('$1', '$2::timestamptz', '$3::timestamptz')} ${CUT}
    where day_start < day_end
  ) as charged
  where units > 0 group by day, sequence, "instanceId" order by day, sequence nulls last limit $5`;

const NAMED_SQL = `
  select id as "instanceId", coalesce(launch->>'name', id) as name, gpu, num_gpus as "numGpus", region, template, mode, status
  from instance left join instance_launch on instance_id = id where account_id = $1 and id = any($2::text[])`;
