import { withAdvisoryLock } from '../../database/advisory-lock.js';
import type { Deps } from '../deps.js';
import { formatInstant, type Instant, SECONDS_PER_DAY } from '../rules/time.js';
import { type ReportedPayment, SEEN_SECONDS, type TopUp } from '../rules/top-up.js';
import { bookPayments, keyOf, type PaymentEvent, storedReport } from './book-payments.js';
import { type PaymentProcessor, ProcessorUnavailable } from './processor.js';
import { paymentsOf, TOP_UP_COLUMNS } from './top-up-rows.js';

const RECONCILE_LOCK = 4_207_017;
const LOOK_EVERY_MS = 20_000;
/** A top-up of today, or with a payment under way, is asked about so often; an older one of this week once an hour. */
const RECENT_EVERY_SECONDS = 60n;
const OLDER_EVERY_SECONDS = 3_600n;
const RECENT_SECONDS = SECONDS_PER_DAY;
/** Without a payment it is forgotten after that; with one that is not over, after a month. */
const OPEN_SECONDS = 7n * SECONDS_PER_DAY;
const UNDER_WAY_SECONDS = 30n * SECONDS_PER_DAY;
/** Asked about in one round, and at once. */
const ROUND = 300;
const AT_ONCE = 6;
/** A processor that is away is not asked again and again within a round. */
const MAX_FAILURES = 5;

export interface Reconciliation {
  stop(): Promise<void>;
}

/**
 * Asks the processor about top-ups that are open or were so lately, for as long as it runs: whatever callback was lost is
 * made good. One gateway does it at a time.
 */
export function startReconciliation(
  deps: Deps,
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
  }, LOOK_EVERY_MS).unref();
  return {
    stop: async () => {
      clearInterval(timer);
      ended.abort();
      await running;
    },
  };
}

/** One round. Null: another gateway is at it. Else how many top-ups were asked about. */
export async function reconcile(
  deps: Deps,
  onEvent: (event: PaymentEvent) => void,
  ended?: AbortSignal,
): Promise<number | null> {
  const processor = deps.payments;
  if (processor === null) return 0;
  return withAdvisoryLock(deps.db.pool, RECONCILE_LOCK, async (lost) => {
    const due = await dueTopUps(deps, processor.name);
    let [next, failures] = [0, 0];
    const goOn = () => next < due.length && failures < MAX_FAILURES && !lost.aborted && ended?.aborted !== true;
    const worker = async () => {
      while (goOn()) {
        const topUp = due[next++]!;
        const reports = await readOrNull(processor, topUp);
        if (reports === null) failures += 1;
        else for (const event of await catchUp(deps, topUp, reports)) onEvent(event);
        await noteAsked(deps, topUp);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return next;
  });
}

/** What waits to be asked back is judged by this answer, together with what it reports by itself. */
async function catchUp(deps: Deps, topUp: TopUp, reports: readonly ReportedPayment[]): Promise<PaymentEvent[]> {
  const stored = (await paymentsOf(deps.db.pool, topUp.id)).flatMap((payment) => storedReport(topUp, payment) ?? []);
  const waiting = new Set(stored.map(keyOf));
  const others = reports.filter((report) => !waiting.has(keyOf(report)));
  return bookPayments(deps, topUp, [...stored, ...others], reports);
}

/**
 * After what was said is booked, so that a crash between loses nothing; also when nothing could be read: a few top-ups
 * that never can be would else be the first of each round, and keep all others from theirs.
 */
async function noteAsked({ db, clock }: Deps, { id }: TopUp): Promise<void> {
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

async function dueTopUps({ db, clock }: Deps, processor: string): Promise<TopUp[]> {
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
     order by checked_at, id limit ${ROUND}`,
    [
      processor,
      before(UNDER_WAY_SECONDS),
      before(OPEN_SECONDS),
      before(RECENT_SECONDS),
      before(RECENT_EVERY_SECONDS),
      before(OLDER_EVERY_SECONDS),
      before(SEEN_SECONDS),
    ],
  );
  return rows;
}
