import DataLoader from 'dataloader';
import type pg from 'pg';
import type { UsageInterval as UsageIntervalRow } from '../../database/generated/client/client.js';
import { required } from '../../std/required.js';
import type { UsageInterval } from '../kernel/lifecycle.js';
import { dateOf, type Instant } from '../kernel/time.js';

/** Maximum number of pages read by one statement. */
const MAX_BATCH = 100;
const RESOURCES = ['GPU', 'DISK'] as const;

/** A page of an instance's usage intervals, ordered by start, resource and ordinal. */
export interface IntervalPage {
  instanceId: string;
  /** Maximum number of intervals to return. If negative, the page is taken from the end. */
  take: number;
  /**
   * The interval after which the page starts or, if `take` is negative, before which it ends. Null starts at the
   * beginning or, if `take` is negative, ends at the last interval.
   */
  position: Pick<UsageIntervalRow, 'instanceId' | 'resource' | 'ordinal'> | null;
}

/**
 * Reads pages of usage intervals. All loads in the same turn of the event loop share one statement per direction. The
 * statement reads only the intervals on each page, no matter how many intervals an instance has.
 */
export class UsageIntervalLoader {
  readonly #pages: DataLoader<IntervalPage, UsageIntervalRow[]>;

  constructor(pool: pg.Pool) {
    const options = { cache: false, maxBatchSize: MAX_BATCH, batchScheduleFn: setImmediate };
    this.#pages = new DataLoader((pages) => readPages(pool, pages), options);
  }

  /** Returns a page. The page is empty if its position belongs to another instance or doesn't exist. */
  async page(page: IntervalPage): Promise<UsageIntervalRow[]> {
    if (page.position !== null && page.position.instanceId !== page.instanceId) return [];
    return this.#pages.load(page);
  }
}

async function readPages(pool: pg.Pool, pages: readonly IntervalPage[]): Promise<UsageIntervalRow[][]> {
  const lists = pages.map((page) => ({ ...page, rows: [] as UsageIntervalRow[] }));
  const read = async (statement: { name: string; text: string }, wanted: typeof lists) => {
    if (wanted.length === 0) return;
    const values = [
      wanted.map(({ instanceId }) => instanceId),
      wanted.map(({ take }) => Math.abs(take)),
      wanted.map(({ position }) => position?.resource ?? null),
      wanted.map(({ position }) => position?.ordinal ?? null),
    ];
    const { rows } = await pool.query<UsageInterval & { place: bigint }>({ ...statement, values });
    for (const { place, ...row } of rows)
      required(wanted[Number(place) - 1], 'page of an interval').rows.push(toRow(row));
  };
  const [last, first] = [lists.filter(({ take }) => take < 0), lists.filter(({ take }) => take >= 0)];
  await Promise.all([read(FORWARDS, first), read(BACKWARDS, last)]);
  for (const { rows } of last) rows.reverse();
  return lists.map(({ rows }) => rows);
}

/** Converts an interval to the form returned by Prisma. */
function toRow({ startedAt, endedAt, minimumUntil, ...interval }: UsageInterval): UsageIntervalRow {
  return {
    ...interval,
    startedAt: dateOf(startedAt),
    endedAt: dateOrNull(endedAt),
    minimumUntil: dateOrNull(minimumUntil),
  };
}

function dateOrNull(instant: Instant | null): Date | null {
  return instant === null ? null : dateOf(instant);
}

const FORWARDS = pagesInOrder('usage-pages', { beyond: '>', start: '0', direction: 'asc' });
const BACKWARDS = pagesInOrder('usage-pages-from-end', { beyond: '<', start: '2147483647', direction: 'desc' });

/**
 * Builds the statement for one direction. Each resource's intervals are numbered in time order, so the primary key
 * yields each resource's part of a page, and merging the starts of both parts gives the page.
 */
function pagesInOrder(
  name: string,
  { beyond, start, direction }: { beyond: '>' | '<'; start: string; direction: 'asc' | 'desc' },
): { name: string; text: string } {
  const part = (resource: string) => `(
    select * from usage_interval
    where instance_id = wanted.instance and resource = '${resource}'
      and ordinal ${beyond} case when wanted.resource = '${resource}' then wanted.ordinal else ${start} end
      and (wanted.resource is null or at.started_at is not null and (
        wanted.resource = '${resource}' or (started_at, resource) ${beyond} (at.started_at, wanted.resource)))
    order by ordinal ${direction} limit wanted.most)`;
  const text = `
    select wanted.place, page.instance_id as "instanceId", page.resource, page.ordinal, page.rate,
      page.started_at as "startedAt", page.ended_at as "endedAt", page.minimum_until as "minimumUntil",
      page.stop_reason as "stopReason"
    from unnest($1::text[], $2::int[], $3::usage_resource[], $4::int[]) with ordinality
      as wanted (instance, most, resource, ordinal, place)
    cross join lateral (select (
      select started_at from usage_interval
      where instance_id = wanted.instance and resource = wanted.resource and ordinal = wanted.ordinal
    ) as started_at) at
    cross join lateral (
      select * from (${RESOURCES.map(part).join(' union all ')}) part
      order by started_at ${direction}, resource ${direction}, ordinal ${direction} limit wanted.most
    ) page
    order by wanted.place, page.started_at ${direction}, page.resource ${direction}, page.ordinal ${direction}`;
  return { name, text };
}
