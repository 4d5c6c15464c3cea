import DataLoader from 'dataloader';
import type { Database } from '../../database/database.js';
import { type Clock, formatInstant, type Instant } from '../kernel/time.js';
import { GPU_COLUMNS, INSTANCE_COLUMNS, membersOf, mergedOf, namesOf } from './columns.js';
import { LOAD_SECONDS, type MetricRange, metricRange, SAMPLE_SECONDS } from './rules/samples.js';

/** Maximum number of instances read by one statement. */
const MAX_BATCH = 500;

/** A GPU's measurements over the seconds that a point covers. Null means unknown. */
export interface GpuMetrics {
  /** Index among the instance's GPUs, starting at 0. */
  place: number;
  busyPercent: number | null;
  busyMaxPercent: number | null;
  memoryUsedMb: number | null;
  memoryTotalMb: number | null;
  powerWatts: number | null;
  celsius: number | null;
  smMhz: number | null;
  faults: number | null;
  processes: number | null;
}

/**
 * An instance's measurements over the seconds starting at `at`. Each value is the mean of the samples in that period,
 * or null if unknown.
 */
export interface MetricPoint {
  at: Instant;
  cpuPercent: number | null;
  memoryUsedBytes: number | null;
  diskUsedBytes: number | null;
  networkInBytesPerSecond: number | null;
  networkOutBytesPerSecond: number | null;
  processes: number | null;
  /** GPUs by index. */
  gpus: GpuMetrics[];
}

export interface InstanceMetrics {
  /** Number of seconds that each point covers. */
  stepSeconds: number;
  /** Oldest first. Empty if nothing was measured. */
  points: MetricPoint[];
}

/** The instance and range to read. */
interface Wanted {
  instanceId: string;
  range: MetricRange;
}

/**
 * Loads past instance measurements. Requests for the same range within one event loop turn share a statement. Nothing
 * is cached.
 */
export class MetricLoader {
  readonly #points: DataLoader<Wanted, MetricPoint[]>;
  readonly #clock: Clock;

  constructor({ pool }: Pick<Database, 'pool'>, clock: Clock) {
    this.#clock = clock;
    const options = { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate };
    this.#points = new DataLoader((wanted) => readPoints(pool, wanted), options);
  }

  /**
   * Returns an instance's measurements in [from, to) as at most `points` points. The caller must have checked access.
   * Throws if the range is out of bounds.
   */
  async of(instanceId: string, wanted: Parameters<typeof metricRange>[0]): Promise<InstanceMetrics> {
    const range = metricRange(wanted, this.#clock.now());
    return { stepSeconds: range.pointSeconds, points: await this.#points.load({ instanceId, range }) };
  }
}

async function readPoints(pool: Database['pool'], wanted: readonly Wanted[]): Promise<MetricPoint[][]> {
  const lists = wanted.map((each) => ({ ...each, points: [] as MetricPoint[] }));
  const ranges = new Map<string, { range: MetricRange; same: typeof lists }>();
  for (const each of lists) {
    const key = valuesOf(each.range).join(' ');
    const known = ranges.get(key);
    if (known === undefined) ranges.set(key, { range: each.range, same: [each] });
    else known.same.push(each);
  }
  const read = async (range: MetricRange, same: typeof lists) => {
    const isFinest = range.step.seconds === SAMPLE_SECONDS;
    const { rows } = await pool.query<PointRow & { instanceId: string }>({
      name: isFinest ? 'metrics-fine' : 'metrics-coarse',
      text: isFinest ? FINE_SQL : COARSE_SQL,
      values: [[...new Set(same.map(({ instanceId }) => instanceId))], ...valuesOf(range)],
    });
    for (const each of same) {
      const own = rows.filter(({ instanceId }) => instanceId === each.instanceId);
      each.points = own.map(pointOf);
    }
  };
  // Read sequentially, because a request may name many ranges and connections are scarce.
  for (const { range, same } of ranges.values()) await read(range, same);
  return lists.map(({ points }) => points);
}

function valuesOf({ step, pointSeconds, from, to }: MetricRange): unknown[] {
  const values = [formatInstant(from), formatInstant(to), pointSeconds];
  return step.seconds === SAMPLE_SECONDS ? values : [...values, step.seconds];
}

/**
 * Reads the current load of instances. Requests made in the same event loop turn are batched into one query. Nothing is
 * cached.
 */
export class LoadLoader {
  readonly #pool: Database['pool'];
  readonly #clock: Clock;
  readonly #loads: DataLoader<string, MetricPoint | null>;

  constructor({ pool }: Pick<Database, 'pool'>, clock: Clock) {
    this.#pool = pool;
    this.#clock = clock;
    const read = async (ids: readonly string[]) => {
      const values = [ids, formatInstant(clock.now() - LOAD_SECONDS)];
      const { rows } = await pool.query<PointRow & { instanceId: string }>({ name: 'loads', text: LOADS_SQL, values });
      const byId = new Map(rows.map((row) => [row.instanceId, pointOf(row)]));
      return ids.map((id) => byId.get(id) ?? null);
    };
    this.#loads = new DataLoader(read, {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
  }

  /** Returns the instance's load, or null if nothing was measured within the last minute. */
  of(instanceId: string): Promise<MetricPoint | null> {
    return this.#loads.load(instanceId);
  }

  /** Returns the loads of the accounts' running instances, by account. */
  async ofAccounts(accountIds: readonly string[]): Promise<Map<string, InstanceLoad[]>> {
    const values = [accountIds, formatInstant(this.#clock.now() - LOAD_SECONDS)];
    const { rows } = await this.#pool.query<PointRow & { instanceId: string; accountId: string }>({
      name: 'loads-of-accounts',
      text: LOADS_OF_ACCOUNTS_SQL,
      values,
    });
    const loads = new Map<string, InstanceLoad[]>();
    for (const { accountId, instanceId, ...row } of rows) {
      const known = loads.get(accountId) ?? [];
      known.push({ instanceId, load: pointOf(row) });
      loads.set(accountId, known);
    }
    return loads;
  }
}

export interface InstanceLoad {
  instanceId: string;
  load: MetricPoint;
}

interface PointRow {
  at: Instant;
  measured: Omit<MetricPoint, 'at' | 'gpus'>;
  gpus: GpuMetrics[] | null;
}

function pointOf({ at, measured, gpus }: PointRow): MetricPoint {
  return { at, ...measured, gpus: gpus ?? [] };
}

const MEASURED = `json_build_object(${membersOf(INSTANCE_COLUMNS)})`;
const MEASURED_GPU = `json_build_object('place', place, ${membersOf(GPU_COLUMNS)})`;
/** Selects the given instances' rows within the range. */
const WANTED = 'instance_id = any($1::text[]) and at >= $2::timestamptz and at < $3::timestamptz';
const MERGED_AT = 'instance_id, date_bin(make_interval(secs => $4::int), at, $2::timestamptz) as at';

const merged = (instanceRows: string, gpuRows: string) => `
  select instance_id as "instanceId", at, ${MEASURED} as measured, gpus
  from (select ${MERGED_AT}, ${mergedOf(INSTANCE_COLUMNS)} from ${instanceRows} group by 1, 2) point
  left join (
    select instance_id, at, json_agg(${MEASURED_GPU} order by place) as gpus
    from (select ${MERGED_AT}, place, ${mergedOf(GPU_COLUMNS)} from ${gpuRows} group by 1, 2, 3) gpu group by 1, 2
  ) gpus using (instance_id, at) order by instance_id, at`;

const FINE_SQL = merged(
  `instance_sample where step_seconds = ${SAMPLE_SECONDS} and ${WANTED}`,
  `gpu_sample where step_seconds = ${SAMPLE_SECONDS} and ${WANTED}`,
);

/** Selects the rows of a coarser step, plus the samples not yet rolled up into it. */
const coarse = (table: string, columns: typeof INSTANCE_COLUMNS, place: string) => `(
    select instance_id, at${place}, ${namesOf(columns)} from ${table} where step_seconds = $5::int and ${WANTED}
    union all
    select instance_id, date_bin(make_interval(secs => $5::int), at, 'epoch')${place}, ${mergedOf(columns)}
    from ${table} where step_seconds = ${SAMPLE_SECONDS} and ${WANTED}
      and at >= (select rolled_to from sample_rollup where step_seconds = $5::int)
    group by instance_id, date_bin(make_interval(secs => $5::int), at, 'epoch')${place}
  ) rows`;
const COARSE_SQL = merged(
  coarse('instance_sample', INSTANCE_COLUMNS, ''),
  coarse('gpu_sample', GPU_COLUMNS, ', place'),
);

const NEWEST = `
  cross join lateral (
    select * from instance_sample where step_seconds = ${SAMPLE_SECONDS} and instance_id = wanted.id and at >= $2::timestamptz
    order by at desc limit 1
  ) newest
  left join lateral (
    select json_agg(${MEASURED_GPU} order by place) as gpus from gpu_sample
    where gpu_sample.step_seconds = ${SAMPLE_SECONDS} and gpu_sample.instance_id = newest.instance_id and gpu_sample.at = newest.at
  ) gpus on true`;

const LOADS_SQL = `
  select newest.instance_id as "instanceId", at, ${MEASURED} as measured, gpus
  from unnest($1::text[]) as wanted (id) ${NEWEST}`;

const LOADS_OF_ACCOUNTS_SQL = `
  select wanted.account_id as "accountId", newest.instance_id as "instanceId", at, ${MEASURED} as measured, gpus
  from (select id, account_id from instance where account_id = any($1::text[]) and status = 'RUNNING') wanted ${NEWEST}
  order by newest.instance_id`;
