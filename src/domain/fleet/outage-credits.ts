import type { PreparedStatement } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { within } from '../kernel/fleet.js';
import type { Rate } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { type Resource, ServiceGaps } from './service-gaps.js';

/** Maximum number of outages settled per pass. Any others are left for the next pass. */
const BATCH = 200;

interface Interval {
  resource: Resource;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
}

interface Outage {
  machineId: string;
  startedAt: Instant;
  /** Null while the machine is unreachable. */
  endedAt: Instant | null;
}

interface Affected {
  accountId: string;
  instanceId: string;
}

interface Loss extends Affected, Omit<Outage, 'machineId'> {}

/** Settles outages that have ended and, for ongoing outages, any usage that has ended. Does the same for lost GPUs. */
export async function settleOpenOutages(deps: LedgerDeps): Promise<void> {
  const { pool } = deps.db;
  await pool.query({ name: 'settle-idle-outages', text: SETTLE_IDLE_OUTAGES });
  const { rows: outages } = await pool.query<Outage>({ name: 'open-outages', text: OPEN_OUTAGES });
  for (const outage of outages) await settleOutage(deps, outage);
  const { rows: losses } = await pool.query<Loss>({ name: 'open-gpu-losses', text: OPEN_LOSSES });
  for (const loss of losses) await settleLoss(deps, loss);
}

async function settleLoss(deps: LedgerDeps, loss: Loss): Promise<void> {
  const { accountId, instanceId, startedAt, endedAt } = loss;
  await settleOutageOf(deps, loss, accountId, instanceId);
  const values = [instanceId, formatInstant(startedAt), endedAt === null ? null : formatInstant(endedAt)];
  await deps.db.pool.query({ name: 'settle-gpu-loss', text: SETTLE_LOSS, values });
}

async function settleOutage(deps: LedgerDeps, outage: Outage): Promise<void> {
  const { pool } = deps.db;
  const startedAt = formatInstant(outage.startedAt);
  const values = [outage.machineId, startedAt, outage.endedAt === null ? null : formatInstant(outage.endedAt)];
  const { rows: affected } = await pool.query<Affected>({ name: 'affected-by-outage', text: AFFECTED, values });
  for (const { accountId, instanceId } of affected) await settleOutageOf(deps, outage, accountId, instanceId);
  if (outage.endedAt !== null) await pool.query({ name: 'settle-outage', text: SETTLE_OUTAGE, values });
}

/**
 * Credits one instance for an outage: its GPU time during the outage and its disk for the same time. While the machine
 * is unreachable, only ended intervals count.
 */
function settleOutageOf(
  deps: LedgerDeps,
  { startedAt, endedAt }: Pick<Outage, 'startedAt' | 'endedAt'>,
  accountId: string,
  instanceId: string,
): Promise<void> {
  return write(deps, { accountIds: [accountId] }, async (current) => {
    const account = current.account(accountId);
    if (account === undefined) return;
    // Read after settlement, which may have ended an interval.
    const [rows] = await current.transaction.run({ ...INTERVALS, values: [instanceId] });
    const intervals = rows as Interval[];
    const gaps = await ServiceGaps.load(current, account, instanceId);
    const disk = required(
      intervals.find(({ resource }) => resource === 'DISK'),
      'disk interval',
    );
    for (const interval of intervals.filter(({ resource }) => resource === 'GPU')) {
      const to = earliest(interval.endedAt, endedAt);
      if (to === null) continue;
      const outage = within({ from: interval.startedAt, to }, { from: startedAt, to });
      if (outage === null) continue;
      gaps.add('OUTAGE', 'GPU', interval.rate, outage);
      const diskGap = within(outage, { from: disk.startedAt, to: disk.endedAt ?? outage.to });
      if (diskGap !== null) gaps.add('OUTAGE', 'DISK', disk.rate, diskGap);
    }
  });
}

function earliest(one: Instant | null, other: Instant | null): Instant | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}

const INTERVALS: Pick<PreparedStatement, 'name' | 'text'> = {
  name: 'intervals-of-instance',
  text: `select resource, rate, started_at as "startedAt", ended_at as "endedAt" from usage_interval
         where instance_id = $1 order by resource, ordinal`,
};

/** Settles past outages of machines that had no containers. */
const SETTLE_IDLE_OUTAGES = `
  update machine_outage outage set settled = true where not settled and ended_at is not null and not exists (
    select from container where container.machine_id = outage.machine_id and (erased_at is null or erased_at >= started_at))`;
/**
 * Includes an ongoing outage until the disk has been credited for an interval that ended during it, which happens last.
 */
const OPEN_OUTAGES = `
  select machine_id as "machineId", started_at as "startedAt", ended_at as "endedAt" from machine_outage outage
  where not settled and (ended_at is not null or exists (
    select from container join usage_interval used on used.instance_id = container.instance_id and used.resource = 'GPU'
    where container.machine_id = outage.machine_id and (erased_at is null or erased_at >= outage.started_at)
      and used.ended_at > outage.started_at and used.ended_at > used.started_at and not exists (
        select from service_gap gap
        where gap.instance_id = used.instance_id and gap.resource = 'DISK' and gap.ended_at >= used.ended_at)))
  order by ended_at limit ${BATCH}`;
/** Instances affected by an outage. For an ongoing outage, only those with an interval that has ended. */
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

/** Losses that have ended, and losses of stopped instances, which can't be started while a GPU is missing. */
const OPEN_LOSSES = `
  select account_id as "accountId", id as "instanceId", started_at as "startedAt", ended_at as "endedAt"
  from gpu_loss join instance on id = instance_id
  where not settled and (ended_at is not null or status <> 'RUNNING') order by account_id, id, started_at limit ${BATCH}`;
/** Skips a loss that has ended or begun again in the meantime. */
const SETTLE_LOSS = `
  update gpu_loss set settled = true, ended_at = coalesce(ended_at, greatest(stopped_at, started_at))
  from instance where id = instance_id and instance_id = $1 and started_at = $2::timestamptz
    and ended_at is not distinct from $3::timestamptz and (ended_at is not null or status <> 'RUNNING')`;
