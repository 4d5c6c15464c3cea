import type { PreparedStatement, Transaction } from '../../database/transaction.js';
import { type Write, write } from '../billing/ledger.js';
import type { Deps } from '../deps.js';
import { type Stretch, undeliveredOfStart, within, without } from '../rules/fleet.js';
import { type Account, credit, type Instance, type Step, stop } from '../rules/lifecycle.js';
import { type Rate, unitsOfUsage } from '../rules/money.js';
import { formatInstant, type Instant } from '../rules/time.js';

/** What is accounted for by one look at most; the rest comes with the next. */
const BATCH = 200;

type Resource = 'GPU' | 'DISK';
type Reason = 'START' | 'START_FAILED' | 'OUTAGE';

interface Interval {
  resource: Resource;
  ordinal: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  minimumUntil: Instant | null;
}

interface Gap {
  ordinal: number;
  resource: Resource;
  startedAt: Instant;
  endedAt: Instant;
}

interface Start {
  ordinal: number;
  runningAt: Instant | null;
  failedAt: Instant | null;
  settled: boolean;
}

interface Outage {
  machineId: string;
  startedAt: Instant;
  /** Null while the machine is away. */
  endedAt: Instant | null;
}

/**
 * Gives back what the instance's starts did not deliver, as far as it is known, and stops an instance whose start failed
 * for good. Calling it again changes nothing: what was given is subtracted.
 */
export function settleStarts(deps: Deps, accountId: string, instanceId: string): Promise<void> {
  return write(deps, { accountIds: [accountId], instanceId }, async (current) => {
    const service = await ServiceOf.load(current, accountId, instanceId);
    if (service === null) return;
    for (const start of service.starts.filter(({ settled }) => !settled)) settleStart(current, service, start);
  });
}

function settleStart(current: Write, service: ServiceOf, { ordinal, runningAt, failedAt }: Start): void {
  const { instance } = service;
  const interval = service.intervals.find((each) => each.resource === 'GPU' && each.ordinal === ordinal);
  if (interval === undefined) return;
  let to = interval.endedAt;
  if (to === null && failedAt !== null) {
    stop(service.step, instance, 'START_FAILED');
    to = instance.stoppedAt;
  }
  const { startedAt, minimumUntil } = interval;
  const undelivered = undeliveredOfStart({ from: startedAt, to, runningAt, failedAt, minimumUntil });
  if (undelivered === null) return;
  service.give(undelivered.reason, 'GPU', interval.rate, undelivered.stretch);
  current.transaction.later({ name: 'settle-start', text: SETTLE_START, values: [instance.id, ordinal] });
}

/**
 * Gives back what an outage did not deliver of one instance: its GPU seconds within, and its disk for as long. While
 * the machine is away only what has ended is known.
 */
function settleOutageOf(
  deps: Deps,
  { startedAt, endedAt }: Outage,
  accountId: string,
  instanceId: string,
): Promise<void> {
  return write(deps, { accountIds: [accountId], instanceId }, async (current) => {
    const service = await ServiceOf.load(current, accountId, instanceId);
    if (service === null) return;
    const disk = service.intervals.find(({ resource }) => resource === 'DISK')!;
    for (const interval of service.intervals.filter(({ resource }) => resource === 'GPU')) {
      const to = earliest(interval.endedAt, endedAt);
      if (to === null) continue;
      const away = within({ from: interval.startedAt, to }, { from: startedAt, to });
      if (away === null) continue;
      service.give('OUTAGE', 'GPU', interval.rate, away);
      const kept = within(away, { from: disk.startedAt, to: disk.endedAt ?? away.to });
      if (kept !== null) service.give('OUTAGE', 'DISK', disk.rate, kept);
    }
  });
}

function earliest(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

/** One instance under the lock of its account: what was charged, what was seen, and what was given back. */
class ServiceOf {
  readonly instance: Instance;
  readonly intervals: readonly Interval[];
  readonly starts: readonly Start[];
  readonly step: Step;
  readonly #transaction: Transaction;
  readonly #given: Gap[];

  private constructor(current: Write, account: Account, instance: Instance, rows: readonly object[][]) {
    const [intervals, starts, given] = rows;
    this.instance = instance;
    this.intervals = intervals as Interval[];
    this.starts = starts as Start[];
    this.step = current.step(account);
    this.#transaction = current.transaction;
    this.#given = given as Gap[];
  }

  /** Null when the account has no such instance. */
  static async load(current: Write, accountId: string, instanceId: string): Promise<ServiceOf | null> {
    const account = current.account(accountId);
    const instance = current.instance(instanceId);
    if (account === undefined || instance === undefined) return null;
    // After what settling found due, which may have ended an interval.
    const rows = await current.transaction.run(
      ...[INTERVALS, STARTS, GAPS].map((each) => ({ ...each, values: [instanceId] })),
    );
    return new ServiceOf(current, account, instance, rows);
  }

  /** One ledger entry for each stretch that was not given back before. */
  give(reason: Reason, resource: Resource, rate: Rate, stretch: Stretch): void {
    const before = this.#given
      .filter((gap) => gap.resource === resource)
      .map(({ startedAt, endedAt }) => ({ from: startedAt, to: endedAt }));
    for (const { from, to } of without(stretch, before)) {
      const units = unitsOfUsage(rate, to - from);
      if (units === 0n) continue;
      const { id, accountId } = this.instance;
      const ordinal = this.#given.reduce((most, gap) => Math.max(most, gap.ordinal), 0) + 1;
      this.#given.push({ ordinal, resource, startedAt: from, endedAt: to });
      const values = [id, ordinal, resource, reason, rate, formatInstant(from), formatInstant(to)];
      this.#transaction.later({ name: 'insert-gap', text: INSERT_GAP, values });
      credit(this.step, {
        id: `${id}/service/${ordinal}`,
        accountId,
        kind: 'SERVICE_CREDIT',
        units,
        at: this.step.at,
        instanceId: id,
        reference: null,
        note: `${resource === 'GPU' ? 'GPU' : 'disk'}, ${to - from} s: ${WORDS[reason]}`,
      });
    }
  }
}

const WORDS: Record<Reason, string> = {
  START: 'until the container ran',
  START_FAILED: 'the start failed',
  OUTAGE: 'the machine was away',
};

/** Accounts for what is left to be: starts that are over or were seen, outages that ended or of which something did. */
export async function settleService(deps: Deps): Promise<void> {
  const { pool } = deps.db;
  const { rows: starts } = await pool.query<Affected>({ name: 'open-starts', text: OPEN_STARTS });
  for (const { accountId, instanceId } of starts) await settleStarts(deps, accountId, instanceId);
  await pool.query({ name: 'settle-idle-outages', text: SETTLE_IDLE_OUTAGES });
  const { rows: outages } = await pool.query<Outage>({ name: 'open-outages', text: OPEN_OUTAGES });
  for (const outage of outages) await settleOutage(deps, outage);
}

async function settleOutage(deps: Deps, outage: Outage): Promise<void> {
  const { pool } = deps.db;
  const startedAt = formatInstant(outage.startedAt);
  const values = [outage.machineId, startedAt, outage.endedAt === null ? null : formatInstant(outage.endedAt)];
  const { rows: affected } = await pool.query<Affected>({ name: 'affected-by-outage', text: AFFECTED, values });
  for (const { accountId, instanceId } of affected) await settleOutageOf(deps, outage, accountId, instanceId);
  if (outage.endedAt !== null) await pool.query({ name: 'settle-outage', text: SETTLE_OUTAGE, values });
}

interface Affected {
  accountId: string;
  instanceId: string;
}

type Reading = Pick<PreparedStatement, 'name' | 'text'>;

const INTERVALS: Reading = {
  name: 'intervals-of-instance',
  text: `select resource, ordinal, rate, started_at as "startedAt", ended_at as "endedAt",
           minimum_until as "minimumUntil"
         from usage_interval
         where instance_id = $1 order by resource, ordinal`,
};
const STARTS: Reading = {
  name: 'starts-of-instance',
  text: `select ordinal, running_at as "runningAt", failed_at as "failedAt", settled from container_start
         where instance_id = $1 order by ordinal`,
};
const GAPS: Reading = {
  name: 'gaps-of-instance',
  text: `select ordinal, resource, started_at as "startedAt", ended_at as "endedAt" from service_gap
         where instance_id = $1 order by ordinal`,
};
const INSERT_GAP = `
  insert into service_gap (instance_id, ordinal, resource, reason, rate, started_at, ended_at)
  values ($1, $2, $3, $4, $5, $6, $7)`;
const SETTLE_START = 'update container_start set settled = true where instance_id = $1 and ordinal = $2';

const OPEN_STARTS = `
  select distinct account_id as "accountId", instance.id as "instanceId"
  from container_start s join instance on instance.id = s.instance_id
  where not settled and (running_at is not null or failed_at is not null or status <> 'RUNNING' or gpu_intervals > ordinal)
  limit ${BATCH}`;
/** Of machines on which nothing was. */
const SETTLE_IDLE_OUTAGES = `
  update machine_outage outage set settled = true where not settled and ended_at is not null and not exists (
    select from container where container.machine_id = outage.machine_id and (erased_at is null or erased_at >= started_at))`;
/** Keep open outages until disk credits are booked, which come last. */
const OPEN_OUTAGES = `
  select machine_id as "machineId", started_at as "startedAt", ended_at as "endedAt" from machine_outage outage
  where not settled and (ended_at is not null or exists (
    select from container join instance on instance.id = instance_id
    where container.machine_id = outage.machine_id and (erased_at is null or erased_at >= outage.started_at)
      and stopped_at > outage.started_at and not exists (
        select from service_gap gap
        where gap.instance_id = instance.id and resource = 'DISK' and gap.ended_at >= stopped_at)))
  order by ended_at limit ${BATCH}`;
/** Without an end: of which something has ended. */
const AFFECTED = `
  select account_id as "accountId", instance.id as "instanceId" from container join instance on instance.id = instance_id
  where container.machine_id = $1 and (erased_at is null or erased_at >= $2::timestamptz) and exists (
    select from usage_interval where usage_interval.instance_id = instance.id and resource = 'GPU'
      and coalesce(ended_at > $2::timestamptz, $3::timestamptz is not null)
      and started_at < coalesce($3::timestamptz, 'infinity'))
  order by account_id, instance.id`;
const SETTLE_OUTAGE = `
  update machine_outage set settled = true
  where machine_id = $1 and started_at = $2::timestamptz and ended_at = $3::timestamptz`;
