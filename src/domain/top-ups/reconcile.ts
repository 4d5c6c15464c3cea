import { withAdvisoryLock } from '../../database/advisory-lock.js';
import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import { bookPayments, keyOf, type PaymentEvent, storedReport } from './book-payments.js';
import type { TopUpDeps } from './deps.js';
import { type PaymentProcessor, ProcessorUnavailable } from './processor.js';
import { type ReportedPayment, SEEN_SECONDS, type TopUp } from './rules/top-up.js';
import { paymentsOf, TOP_UP_COLUMNS } from './top-up-rows.js';

const RECONCILE_LOCK = 4_207_017;
const ROUND_EVERY_MS = 20_000;
/**
 * Interval between queries about a top-up that was created within the last day or has a pending payment. Older ones
 * from the last week are queried hourly.
 */
const RECENT_EVERY_SECONDS = 60n;
const OLDER_EVERY_SECONDS = 3_600n;
const RECENT_SECONDS = SECONDS_PER_DAY;
/** Age at which a top-up without a payment is no longer queried. One with a pending payment is queried for a month. */
const OPEN_SECONDS = 7n * SECONDS_PER_DAY;
const PENDING_SECONDS = 30n * SECONDS_PER_DAY;
/** Maximum number of top-ups queried per round. */
const MAX_PER_ROUND = 300;
const MAX_CONCURRENT = 6;
/** Number of failures after which a round ends, because the processor is probably down. */
const MAX_FAILURES = 5;

export interface Reconciliation {
  stop(): Promise<void>;
}

/**
 * Starts querying the processor about open and recent top-ups, to recover from lost callbacks. Only one gateway does
 * this at a time.
 */
export function startReconciliation(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  onEvent: (event: PaymentEvent) => void,
  onFault: (error: unknown) => void,
): Reconciliation {
  let running: Promise<unknown> | null = null;
  const ended = new AbortController();
  const timer = setInterval(() => {
    running ??= reconcile(deps, onEvent, ended.signal)
      .catch(onFault)
      .finally(() => {
        running = null;
      });
  }, ROUND_EVERY_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      ended.abort();
      await running;
    },
  };
}

/** Runs one round. Returns how many top-ups were queried, or null if another gateway is running a round. */
export async function reconcile(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  onEvent: (event: PaymentEvent) => void,
  ended?: AbortSignal,
): Promise<number | null> {
  const processor = deps.payments;
  if (processor === null) return 0;
  return withAdvisoryLock(deps.db.pool, RECONCILE_LOCK, async (lost) => {
    const due = await dueTopUps(deps, processor.name);
    let [next, failures] = [0, 0];
    const canContinue = () => next < due.length && failures < MAX_FAILURES && !lost.aborted && ended?.aborted !== true;
    const worker = async () => {
      while (canContinue()) {
        const topUp = required(due[next++], 'due top-up');
        const reports = await readOrNull(processor, topUp);
        if (reports === null) failures += 1;
        else for (const event of await bookReports(deps, topUp, reports)) onEvent(event);
        await recordPoll(deps, topUp);
      }
    };
    await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
    return next;
  });
}

/** Books the stored payments that this response confirms, along with the invoice's other payments. */
export async function bookReports(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  topUp: TopUp,
  reports: readonly ReportedPayment[],
): Promise<PaymentEvent[]> {
  const stored = (await paymentsOf(deps.db.pool, topUp.id)).flatMap((payment) => storedReport(topUp, payment) ?? []);
  const waiting = new Set(stored.map(keyOf));
  const others = reports.filter((report) => !waiting.has(keyOf(report)));
  return bookPayments(deps, topUp, [...stored, ...others], reports);
}

/**
 * Records the poll after booking its result, so that a crash in between loses nothing. Failed polls are recorded too,
 * because otherwise a few unreadable top-ups would always come first and block all others.
 */
async function recordPoll({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>, { id }: TopUp): Promise<void> {
  await db.pool.query('update top_up set checked_at = $2::timestamptz where id = $1', [id, formatInstant(clock.now())]);
}

async function readOrNull(processor: PaymentProcessor, topUp: TopUp): Promise<ReportedPayment[] | null> {
  try {
    return await processor.read(topUp);
  } catch (error) {
    if (error instanceof ProcessorUnavailable) return null;
    throw error;
  }
}

async function dueTopUps({ db, clock }: Pick<KernelDeps, 'db' | 'clock'>, processor: string): Promise<TopUp[]> {
  const now = clock.now();
  const before = (seconds: Instant) => formatInstant(now - seconds);
  const { rows } = await db.pool.query<TopUp>(
    `select ${TOP_UP_COLUMNS} from top_up
     cross join lateral (select exists (select from payment
       where top_up_id = top_up.id and (state in ('CONFIRMING', 'QUARANTINED')
         or (state = 'SEEN' and first_seen_at > $7::timestamptz))) as under_way) as payments
     where processor = $1
       and created_at > case when under_way then $2::timestamptz else $3::timestamptz end
       and checked_at <= case when under_way or created_at > $4::timestamptz then $5::timestamptz else $6::timestamptz end
     order by checked_at, id limit ${MAX_PER_ROUND}`,
    [
      processor,
      before(PENDING_SECONDS),
      before(OPEN_SECONDS),
      before(RECENT_SECONDS),
      before(RECENT_EVERY_SECONDS),
      before(OLDER_EVERY_SECONDS),
      before(SEEN_SECONDS),
    ],
  );
  return rows;
}
