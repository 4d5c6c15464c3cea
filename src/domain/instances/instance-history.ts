import type { Prisma } from '../../database/database.js';
import type { SettlingDeps } from '../billing/deps.js';
import { settledAccount } from '../billing/settlement.js';
import type { KernelDeps } from '../kernel/deps.js';
import { checkOptional } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import type { InstanceStatus, StopReason } from '../kernel/lifecycle.js';
import type { PricingMode } from '../kernel/price-rule.js';
import type { Instant } from '../kernel/time.js';
import { readWith } from './as-of.js';
import { instanceFields } from './fields.js';
import type { InstanceRow } from './instance-row.js';
import { selectorOf } from './label-selector.js';

/** Maximum number of instances scanned for one page. This bounds the cost even if matches are rare. */
export const MAX_ROWS_SCANNED = 10_000;

/** Filters for the instance history. A field that is null, omitted or an empty list matches everything. */
export interface InstanceFilter {
  statuses?: readonly InstanceStatus[] | null;
  stopReasons?: readonly StopReason[] | null;
  gpus?: readonly string[] | null;
  modes?: readonly PricingMode[] | null;
  /** A label selector. */
  labels?: string | null;
  /** Matches instances rented at or after this second. */
  createdFrom?: Instant | null;
  /** Matches instances rented before this second. */
  createdTo?: Instant | null;
}

export interface HistoryRange extends Pick<Prisma.InstanceFindManyArgs, 'include' | 'select'> {
  /**
   * Sequence number after which the page starts. If null, the page starts with the newest instance or, when paging
   * backwards, with the oldest.
   */
  position: number | null;
  /** Page size. If negative, the page is read backwards, towards newer instances. */
  take: number;
}

export interface HistoryPage {
  /** The matching instances, newest first. */
  instances: InstanceRow[];
  /** The last sequence number scanned, if the scan reached its limit and there may be more matches. Otherwise null. */
  scannedTo: number | null;
}

/** Returns one page of the account's matching instances, newest first. Throws if the filter is out of bounds. */
export async function instanceHistory(
  deps: SettlingDeps,
  accountId: string,
  { position, take, ...query }: HistoryRange,
  filter?: InstanceFilter | null,
): Promise<HistoryPage> {
  const wanted = checkFilter(filter ?? {});
  const account = await settledAccount(deps, accountId);
  const orderBy = { sequence: 'desc' } as const;
  if (wanted === null) {
    // If given its own cursor, Prisma would read everything after the cursor and then cut the page out of the result.
    const beyond = position === null ? {} : { sequence: take < 0 ? { gt: position } : { lt: position } };
    const where = { accountId, ...beyond };
    const rows = await deps.db.prisma.instance.findMany({ ...query, where, orderBy, take });
    return { instances: rows.map((row) => readWith(account, row)), scannedTo: null };
  }
  const span = spanOf(position, take, account.deployedInstances);
  const found = await findSequences(deps, accountId, span, wanted);
  const isCutShort = found.length < span.limit && span.furthest !== span.end;
  const instances =
    found.length === 0
      ? []
      : await deps.db.prisma.instance.findMany({ ...query, where: { accountId, sequence: { in: found } }, orderBy });
  return { instances: instances.map((row) => readWith(account, row)), scannedTo: isCutShort ? span.furthest : null };
}

/** Validates a filter. Returns null if it matches everything. */
function checkFilter({ statuses, stopReasons, gpus, modes, labels, createdFrom, createdTo }: InstanceFilter) {
  const orNull = <T>(list: readonly T[] | undefined): readonly T[] | null => (list?.length ? list : null);
  const checked = {
    statuses: orNull(checkOptional('statuses', instanceFields.statuses, statuses)),
    stopReasons: orNull(checkOptional('stopReasons', instanceFields.stopReasons, stopReasons)),
    gpus: orNull(checkOptional('gpus', commonFields.gpus, gpus)),
    modes: orNull(checkOptional('modes', instanceFields.modes, modes)),
    labels: selectorOf(labels),
    createdFrom: createdFrom ?? null,
    createdTo: createdTo ?? null,
  };
  return Object.values(checked).every((value) => value === null) ? null : checked;
}

interface Span {
  isBackwards: boolean;
  /** The first and the last sequence number to scan. */
  nearest: number;
  furthest: number;
  /** The last sequence number in the direction of the scan. */
  end: number;
  limit: number;
}

/** Returns the range to scan. Sequence numbers have no gaps, so a range of N numbers contains N instances. */
function spanOf(position: number | null, take: number, newest: number): Span {
  const limit = Math.abs(take);
  if (take < 0) {
    const nearest = (position ?? 0) + 1;
    return {
      isBackwards: true,
      nearest,
      furthest: Math.min(nearest + MAX_ROWS_SCANNED - 1, newest),
      end: newest,
      limit,
    };
  }
  const nearest = Math.min((position ?? newest + 1) - 1, newest);
  return { isBackwards: false, nearest, furthest: Math.max(nearest - MAX_ROWS_SCANNED + 1, 1), end: 1, limit };
}

/**
 * Finds sequence numbers with an index-only scan, which is possible because the index contains every column used by
 * filters.
 */
async function findSequences(
  { db }: Pick<KernelDeps, 'db'>,
  accountId: string,
  { isBackwards, nearest, furthest, limit }: Span,
  filter: NonNullable<ReturnType<typeof checkFilter>>,
): Promise<number[]> {
  const { statuses, stopReasons, gpus, modes, labels, createdFrom, createdTo } = filter;
  const [least, most] = isBackwards ? [nearest, furthest] : [furthest, nearest];
  const ofLabels = labels === null ? [] : [JSON.stringify(labels.pairs), labels.keys];
  const { rows } = await db.pool.query<{ sequence: number }>({
    // Labels are not in the index. Only a filter by labels reads them.
    name: `${isBackwards ? 'history-forwards' : 'history-backwards'}${labels === null ? '' : '-labels'}`,
    text: `select sequence from instance
           where account_id = $1 and sequence between $2 and $3
             and ($4::instance_status[] is null or status = any($4))
             and ($5::stop_reason[] is null or stop_reason = any($5))
             and ($6::text[] is null or gpu = any($6))
             and ($7::pricing_mode[] is null or mode = any($7))
             and ($8::bigint is null or created_at >= to_timestamp($8))
             and ($9::bigint is null or created_at < to_timestamp($9))
${labels === null ? '' : ' and labels @> $11::jsonb and labels ?& $12::text[]'}
           order by sequence ${isBackwards ? 'asc' : 'desc'} limit $10`,
    values: [accountId, least, most, statuses, stopReasons, gpus, modes, createdFrom, createdTo, limit, ...ofLabels],
  });
  return rows.map(({ sequence }) => sequence);
}
