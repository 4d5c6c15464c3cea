import { only } from '../../database/only.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import type { TopUp, TopUpState } from './rules/top-up.js';
import { findTopUpRow, type PaidTopUp, TOP_UP_COLUMNS, withPayments } from './top-up-rows.js';

/** Maximum number of top-ups listed. The operator can get longer lists with `admin topup export`. */
const MAX_TOP_UPS = 100;
/** Age beyond which a top-up can no longer be pending. */
const CONFIRMS_WITHIN_SECONDS = 30n * 86_400n;

const PENDING_STATES: ReadonlySet<TopUpState> = new Set(['SEEN', 'CONFIRMING', 'QUARANTINED']);

/** Returns one of the account's top-ups, or null if it doesn't exist or belongs to another account. */
export async function findTopUp(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  id: string,
): Promise<PaidTopUp | null> {
  const row = await findTopUpRow(deps.db.pool, id);
  if (row === null || row.accountId !== accountId) return null;
  return only(await withPayments(deps.db.pool, [row], deps.clock.now()));
}

/** Returns up to `limit` of the account's top-ups, newest first. */
export async function listTopUps(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  limit = MAX_TOP_UPS,
): Promise<PaidTopUp[]> {
  const { rows } = await deps.db.pool.query<TopUp>(
    `select ${TOP_UP_COLUMNS} from top_up where account_id = $1 order by created_at desc, id desc limit $2`,
    [accountId, limit],
  );
  return withPayments(deps.db.pool, rows, deps.clock.now());
}

/**
 * Returns the top-ups with a payment that has been seen but is neither final nor credited yet, newest first. Pending
 * payments don't postpone the exhaustion of the balance.
 */
export async function pendingTopUps(deps: Pick<KernelDeps, 'db' | 'clock'>, accountId: string): Promise<PaidTopUp[]> {
  const now = deps.clock.now();
  const { rows } = await deps.db.pool.query<TopUp>(
    `select ${TOP_UP_COLUMNS} from top_up where account_id = $1 and created_at > $2::timestamptz and exists (
       select from payment where top_up_id = top_up.id and state in ('SEEN', 'CONFIRMING', 'QUARANTINED'))
     order by created_at desc, id desc limit ${MAX_TOP_UPS}`,
    [accountId, formatInstant(now - CONFIRMS_WITHIN_SECONDS)],
  );
  const topUps = await withPayments(deps.db.pool, rows, now);
  return topUps.filter(({ state }) => PENDING_STATES.has(state));
}

/** Counts the account's unpaid top-ups that have not expired. */
export async function countWaiting(deps: Pick<KernelDeps, 'db'>, accountId: string, now: Instant): Promise<number> {
  const { rows } = await deps.db.pool.query<{ waiting: bigint }>(
    `select count(*) as waiting from top_up where account_id = $1 and expires_at > $2::timestamptz
       and not exists (select from payment where top_up_id = top_up.id)`,
    [accountId, formatInstant(now)],
  );
  return Number(only(rows).waiting);
}
