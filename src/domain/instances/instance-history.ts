import type { Prisma } from '../../database/database.js';
import { settledAccount } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields } from '../fields.js';
import type { InstanceStatus, StopReason } from '../rules/lifecycle.js';
import type { PricingMode } from '../rules/price-rule.js';
import type { Instant } from '../rules/time.js';
import { readWith } from './as-of.js';
import type { InstanceRow } from './instance-row.js';

/** Maximum instances that one page scans for matches. This bounds its cost, however rare matches are. */
export const MAX_ROWS_SCANNED = 10_000;

/** Conditions for instances of the history. Null, omitted and empty lists mean no condition. */
export interface InstanceFilter {
  statuses?: readonly InstanceStatus[] | null;
  stopReasons?: readonly StopReason[] | null;
  gpus?: readonly string[] | null;
  modes?: readonly PricingMode[] | null;
  /** Rented in this second or later. */
  createdFrom?: Instant | null;
  /** Rented before this second. */
  createdTo?: Instant | null;
}

export interface HistoryRange extends Pick<Prisma.InstanceFindManyArgs, 'include' | 'select'> {
  /** Sequence number beyond which the page starts; null for the newest, or backwards for the oldest. */
  position: number | null;
  /** Size of the page; negative for a page of newer instances. */
  take: number;
}

export interface HistoryPage {
  /** Newest first. */
  instances: InstanceRow[];
  /** Last sequence number scanned if the limit ended the scan, so that more may follow; otherwise null. */
  scannedTo: number | null;
}

/** Returns one page of the account's matching instances, newest first. Refuses a filter out of bounds. */
export async function instanceHistory(
  deps: Deps,
  accountId: string,
  { position, take, ...query }: HistoryRange,
  filter?: InstanceFilter | null,
): Promise<HistoryPage> {
  const wanted = checkFilter(filter ?? {});
  const account = await settledAccount(deps, accountId);
  const orderBy = { sequence: 'desc' } as const;
  if (wanted === null) {
    // With its own cursor, Prisma would read everything beyond it and cut the page out of that.
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

/** Checks a filter; null if it has no condition. */
function checkFilter({ statuses, stopReasons, gpus, modes, createdFrom, createdTo }: InstanceFilter) {
  const orNull = <T>(list: readonly T[] | undefined): readonly T[] | null => (list?.length ? list : null);
  const checked = {
    statuses: orNull(checkOptional('statuses', fields.statuses, statuses)),
    stopReasons: orNull(checkOptional('stopReasons', fields.stopReasons, stopReasons)),
    gpus: orNull(checkOptional('gpus', fields.gpus, gpus)),
    modes: orNull(checkOptional('modes', fields.modes, modes)),
    createdFrom: createdFrom ?? null,
    createdTo: createdTo ?? null,
  };
  return Object.values(checked).every((value) => value === null) ? null : checked;
}

interface Span {
  isBackwards: boolean;
  /** First and last sequence number to scan. */
  nearest: number;
  furthest: number;
  /** Sequence number at which the history ends. */
  end: number;
  limit: number;
}

/** Returns the range to scan. Sequence numbers have no gaps: a range of N numbers has N instances. */
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

/** Finds sequences with an index-only scan: the index has all columns that a filter can use. */
async function findSequences(
  { db }: Deps,
  accountId: string,
  { isBackwards, nearest, furthest, limit }: Span,
  filter: NonNullable<ReturnType<typeof checkFilter>>,
): Promise<number[]> {
  const { statuses, stopReasons, gpus, modes, createdFrom, createdTo } = filter;
  const [least, most] = isBackwards ? [nearest, furthest] : [furthest, nearest];
  const { rows } = await db.pool.query<{ sequence: number }>({
    name: isBackwards ? 'history-forwards' : 'history-backwards',
    text: `select sequence from instance
           where account_id = $1 and sequence between $2 and $3
             and ($4::instance_status[] is null or status = any($4))
             and ($5::stop_reason[] is null or stop_reason = any($5))
             and ($6::text[] is null or gpu = any($6))
             and ($7::pricing_mode[] is null or mode = any($7))
             and ($8::bigint is null or created_at >= to_timestamp($8))
             and ($9::bigint is null or created_at < to_timestamp($9))
           order by sequence ${isBackwards ? 'asc' : 'desc'} limit $10`,
    values: [accountId, least, most, statuses, stopReasons, gpus, modes, createdFrom, createdTo, limit],
  });
  return rows.map(({ sequence }) => sequence);
}
