import type { LedgerDeps } from '../billing/deps.js';
import { DomainError } from '../kernel/errors.js';
import { type Instant, SECONDS_PER_DAY } from '../kernel/time.js';
import { keyOf } from './book-payments.js';
import type { TopUpDeps } from './deps.js';
import type { ListedInvoice, PaymentProcessor } from './processor.js';
import { bookReports } from './reconcile.js';
import type { PaymentState, ReportedPayment, TopUp } from './rules/top-up.js';
import { findTopUpRow, isTopUpId, paymentsOf } from './top-up-rows.js';

/** Maximum age of an invoice that may still be paid. BTCPay Server watches an expired one for a week. */
const PAYABLE_SECONDS = 30n * SECONDS_PER_DAY;

/** A payment that the processor has and the database doesn't, because the database was restored from a backup. */
export interface MissingPayment {
  topUpId: string;
  /** The top-up's account. Null if the top-up is missing too. */
  accountId: string | null;
  payment: ReportedPayment;
  /** The payment's state, if it was booked. */
  booked: PaymentState | null;
}

/**
 * Finds the missing payments of invoices that could have been paid since then. With `book`, those whose top-up is known
 * are booked as if the sweep had found them, which credits no payment twice. Throws action_failed or ProcessorUnavailable.
 */
export async function findMissingPayments(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  since: Instant,
  book: boolean,
): Promise<MissingPayment[]> {
  const processor = deps.payments;
  if (processor === null) throw new DomainError('action_failed', 'no payment processor is configured; set PAYMENTS');
  const found: MissingPayment[] = [];
  for (const invoice of await processor.list(since - PAYABLE_SECONDS)) {
    if (!isTopUpId(invoice.id)) continue;
    const topUp = await findTopUpRow(deps.db.pool, invoice.id);
    const missing = await missingOf(deps, processor, invoice, topUp);
    const events = book && topUp && missing.length > 0 ? await bookReports(deps, topUp, missing) : [];
    for (const payment of missing) {
      const booked = events.find((event) => keyOf(event) === keyOf(payment))?.state ?? null;
      found.push({
        topUpId: invoice.id,
        accountId: topUp?.accountId ?? null,
        payment,
        booked: booked === 'LOST' ? null : booked,
      });
    }
  }
  return found;
}

async function missingOf(
  deps: LedgerDeps,
  processor: PaymentProcessor,
  invoice: ListedInvoice,
  topUp: TopUp | null,
): Promise<ReportedPayment[]> {
  const stored = topUp === null ? [] : await paymentsOf(deps.db.pool, topUp.id);
  const known = new Set(stored.map(({ transaction }) => transaction));
  if (invoice.transactions?.every((transaction) => known.has(transaction))) return [];
  const reports = await processor.read(topUp ?? invoice);
  return reports.filter(({ transaction, status }) => status !== 'gone' && !known.has(transaction));
}
