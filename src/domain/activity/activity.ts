import type { Activity, Prisma } from '../../database/generated/client/client.js';
import { every, type Sweep } from '../background.js';
import type { Deps } from '../deps.js';
import { dateOf, formatInstant, type Instant, SECONDS_PER_DAY } from '../rules/time.js';

/** How long a row is kept. */
export const ACTIVITY_DAYS = 90n;
const DROPPED_AT_ONCE = 1_000;
const FLUSH_EVERY_MS = 1_000;
const DROP_EVERY_MS = 600_000;

export type { Activity };

export interface ActivityFilter {
  keyId?: string | null | undefined;
  operation?: string | null | undefined;
  /** An instance, key or anything else that it was about. */
  target?: string | null | undefined;
  refused?: boolean | null | undefined;
  from?: Instant | null | undefined;
  to?: Instant | null | undefined;
}

/** Newest first, in the order in which they were written. */
export function listActivity(
  deps: Deps,
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

/** Removes what is older than 90 days, a bounded number at a time. Returns how many rows went. */
export async function dropOldActivity(deps: Deps): Promise<number> {
  const before = formatInstant(deps.clock.now() - ACTIVITY_DAYS * SECONDS_PER_DAY);
  for (let dropped = 0; ; ) {
    // Ids grow with time, but for refusals, whose row moves on: those are looked at again later.
    const { rowCount } = await deps.db.pool.query(
      `delete from activity where id in (
         select id from activity where at < $1::timestamptz order by at limit $2 for update skip locked)`,
      [before, DROPPED_AT_ONCE],
    );
    dropped += rowCount ?? 0;
    if ((rowCount ?? 0) < DROPPED_AT_ONCE) return dropped;
  }
}

/** Writes what is noted apart, and drops what is old. */
export function startActivity(deps: Deps, onFault: (error: unknown) => void): Sweep {
  const flushing = every(FLUSH_EVERY_MS, () => deps.activityLog.flush(), onFault);
  const dropping = every(DROP_EVERY_MS, () => dropOldActivity(deps), onFault);
  return {
    stop: async () => {
      await Promise.all([flushing.stop(), dropping.stop()]);
      await deps.activityLog.flush().catch(onFault);
    },
  };
}
