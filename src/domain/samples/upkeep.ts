import type { Database } from '../../database/database.js';
import { only } from '../../database/only.js';
import { inTransaction } from '../../database/transaction.js';
import { every, type Sweep } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { GPU_COLUMNS, INSTANCE_COLUMNS, mergedOf, namesOf } from './columns.js';
import { SAMPLE_SECONDS, STEPS, stepOf } from './rules/samples.js';

const CHECK_EVERY_MS = 10_000;
/** Maximum delay of a sample: up to 60 s until it is reported, plus the time until it is written. */
const LATE_SECONDS = 120n;
/** Minimum period rolled up by one statement, in seconds. Longer steps are rolled up whole. */
const MIN_ROLLUP_SECONDS = 300;
/** Maximum number of rows deleted by one statement, and of consecutive statements. */
const DELETE_BATCH = 10_000;
const MAX_DROPS = 200;

/**
 * Rolls up samples and deletes old ones. Every gateway runs this, but only one works at a time, and no work is
 * repeated.
 */
export function startSampleUpkeep(deps: Pick<KernelDeps, 'db' | 'clock'>, onFault: (error: unknown) => void): Sweep {
  const maintainIfNeeded = async () => {
    if (await hasSamples(deps.db)) await maintainSamples(deps);
  };
  return every(CHECK_EVERY_MS, maintainIfNeeded, onFault);
}

/** Checks for samples with one statement, which saves an idle gateway the ten that maintain them. */
async function hasSamples({ pool }: Database): Promise<boolean> {
  const { rows } = await pool.query<{ are: boolean }>({
    name: 'any-samples',
    text: 'select exists (select from instance_sample) or exists (select from gpu_sample) as are',
  });
  return only(rows).are;
}

export async function maintainSamples({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>): Promise<void> {
  const now = clock.now();
  for (const { seconds } of STEPS.slice(1)) {
    while (await rollUp(db, seconds, now));
  }
  for (const { seconds, keptSeconds } of STEPS) await drop(db, seconds, now - keptSeconds);
}

/**
 * Rolls up samples into the next steps of the given length. Returns false if nothing is left to do for now, or if
 * another gateway is doing it. Rows and progress are committed together.
 */
async function rollUp(db: Database, seconds: number, now: Instant): Promise<boolean> {
  const ended = stepOf(now - LATE_SECONDS, seconds);
  return inTransaction(db.pool, async (transaction) => {
    const { rows } = await transaction.query<{ rolledTo: Instant; firstAt: Instant | null }>(PROGRESS_SQL, [seconds]);
    const progress = rows[0];
    if (progress === undefined || progress.rolledTo >= ended) return false;
    const from = progress.firstAt === null ? ended : stepOf(progress.firstAt, seconds);
    const next = from + BigInt(Math.max(seconds, MIN_ROLLUP_SECONDS));
    const to = next < ended ? next : ended;
    const range = [formatInstant(from), formatInstant(to)];
    if (from < to) {
      for (const table of TABLES) await transaction.query(rollUpSql(table), [seconds, ...range]);
    }
    await transaction.query(ROLLED_SQL, [seconds, formatInstant(to < from ? from : to)]);
    return to < ended;
  });
}

async function drop(db: Database, seconds: number, before: Instant): Promise<void> {
  for (const table of TABLES) {
    for (let count = 0; count < MAX_DROPS; count += 1) {
      const { rowCount } = await db.pool.query({
        name: `drop-${table.name}-${seconds}`,
        text: dropSql(table, seconds),
        values: [formatInstant(before), DELETE_BATCH],
      });
      if ((rowCount ?? 0) < DELETE_BATCH) break;
    }
  }
}

/** Skips a step that another gateway is working on. */
const PROGRESS_SQL = `
  select rolled_to as "rolledTo",
    (select min(at) from instance_sample where step_seconds = ${SAMPLE_SECONDS} and at >= rolled_to) as "firstAt"
  from sample_rollup where step_seconds = $1::int for update skip locked`;

const ROLLED_SQL = 'update sample_rollup set rolled_to = $2::timestamptz where step_seconds = $1::int';

/**
 * A sample table. Its write statements are spelled out, because a check scans the code to prove that only the ledger
 * writes money.
 */
interface SampleTable {
  name: string;
  insert: string;
  remove: string;
  columns: typeof INSTANCE_COLUMNS;
  /** Primary key columns other than the instance and the time. */
  key: string;
}

const TABLES: readonly SampleTable[] = [
  {
    name: 'instance_sample',
    insert: 'insert into instance_sample',
    remove: 'delete from instance_sample',
    columns: INSTANCE_COLUMNS,
    key: '',
  },
  {
    name: 'gpu_sample',
    insert: 'insert into gpu_sample',
    remove: 'delete from gpu_sample',
    columns: GPU_COLUMNS,
    key: ', place',
  },
];

function rollUpSql({ name, insert, columns, key }: SampleTable): string {
  const step = `date_bin(make_interval(secs => $1::int), at, 'epoch')`;
  return `${insert} (step_seconds, instance_id, at${key}, ${namesOf(columns)})
    select $1::int, instance_id, ${step}${key}, ${mergedOf(columns)} from ${name}
    where step_seconds = ${SAMPLE_SECONDS} and at >= $2::timestamptz and at < $3::timestamptz
    group by instance_id, ${step}${key} on conflict do nothing`;
}

/**
 * Returns the statement that deletes old rows of one step, and therefore from one partition. Rows that another gateway
 * is deleting are skipped. Samples are kept until they have been rolled up into every step.
 */
function dropSql({ name, remove }: SampleTable, seconds: number): string {
  const rolled = seconds === SAMPLE_SECONDS ? ' and at < (select min(rolled_to) from sample_rollup)' : '';
  return `${remove} where step_seconds = ${seconds} and ctid = any(array(
    select ctid from ${name} where step_seconds = ${seconds} and at < $1::timestamptz${rolled} limit $2 for update skip locked))`;
}
