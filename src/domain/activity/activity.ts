import type { Activity, Prisma } from '../../database/generated/client/client.js';
import { every, type Sweep } from '../kernel/background.js';
import type { KernelDeps } from '../kernel/deps.js';
import { dateOf, formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import type { ActivityDeps } from './deps.js';

/** Number of days to keep activity. */
export const ACTIVITY_DAYS = 90n;
const DELETE_BATCH = 1_000;
const FLUSH_EVERY_MS = 1_000;
const DROP_EVERY_MS = 600_000;

export type { Activity };

export interface ActivityFilter {
  keyId?: string | null | undefined;
  operation?: string | null | undefined;
  /** Id or name of the request's target, such as an instance or a key. */
  target?: string | null | undefined;
  refused?: boolean | null | undefined;
  from?: Instant | null | undefined;
  to?: Instant | null | undefined;
}

/** Returns activity entries, most recently written first. */
export function listActivity(
  deps: Pick<KernelDeps, 'db'>,
  accountId: string,
  filter: ActivityFilter,
  query: Prisma.ActivityFindManyArgs,
): Promise<Activity[]> {
  return deps.db.prisma.activity.findMany({
    ...query,
    where: { accountId, ...whereOf(filter) },
    orderBy: { id: 'desc' },
  });
}

function whereOf({ keyId, operation, target, refused, from, to }: ActivityFilter): Prisma.ActivityWhereInput {
  return {
    ...(keyId != null && { keyId }),
    ...(operation != null && { operation }),
    ...(target != null && { targets: { has: target } }),
    ...(refused != null && { code: refused ? { not: null } : null }),
    ...((from != null || to != null) && {
      at: { ...(from != null && { gte: dateOf(from) }), ...(to != null && { lt: dateOf(to) }) },
    }),
  };
}

/** Deletes rows older than 90 days, in batches of limited size. Returns the number of deleted rows. */
export async function dropOldActivity(deps: Pick<KernelDeps, 'db' | 'clock'>): Promise<number> {
  const before = formatInstant(deps.clock.now() - ACTIVITY_DAYS * SECONDS_PER_DAY);
  for (let dropped = 0; ; ) {
    // Ids increase with time, but rows of rejected requests are updated later. Those rows are checked again next time.
    const { rowCount } = await deps.db.pool.query(
      // Both columns of the primary key, so that its index finds the rows.
      `delete from activity where (account_id, id) in (
         select account_id, id from activity where at < $1::timestamptz order by at limit $2 for update skip locked)`,
      [before, DELETE_BATCH],
    );
    dropped += rowCount ?? 0;
    if ((rowCount ?? 0) < DELETE_BATCH) return dropped;
  }
}

/** Starts writing buffered activity and deleting old rows in the background. */
export function startActivity(
  deps: Pick<ActivityDeps, 'db' | 'clock' | 'activityLog'>,
  onFault: (error: unknown) => void,
): Sweep {
  const flushing = every(FLUSH_EVERY_MS, () => deps.activityLog.flush(), onFault);
  const dropping = every(DROP_EVERY_MS, () => dropOldActivity(deps), onFault);
  return {
    stop: async () => {
      await Promise.all([flushing.stop(), dropping.stop()]);
      await deps.activityLog.flush().catch(onFault);
    },
  };
}
