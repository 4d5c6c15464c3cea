import { required } from '../../../std/required.js';
import type { Micro } from '../../kernel/money.js';
import type { Instant } from '../../kernel/time.js';
import type { AssetCode } from './top-up-assets.js';

/** Decides whether a payment is credited, quarantined or only displayed, and derives its top-up's state. */

/**
 * SEEN means that the payment isn't in a block yet. CONFIRMING means that it doesn't have enough confirmations to be
 * final. QUARANTINED means that it is final but awaiting review. CREDITED, REFUSED and REVERSED are final states. GONE
 * means that, before the payment was credited, the processor withdrew it or no block included it.
 */
export type PaymentState = 'SEEN' | 'CONFIRMING' | 'QUARANTINED' | 'CREDITED' | 'REFUSED' | 'REVERSED' | 'GONE';

export type TopUpState =
  | 'WAITING'
  | 'SEEN'
  | 'CONFIRMING'
  | 'CREDITED'
  | 'UNDERPAID'
  | 'OVERPAID'
  | 'EXPIRED'
  | 'LATE'
  | 'QUARANTINED';

export interface TopUp {
  id: string;
  accountId: string;
  processor: string;
  asset: AssetCode;
  /** The requested amount. */
  usdMicro: Micro;
  /** The processor's id for the invoice. */
  invoice: string;
  address: string;
  /** The number of coins to send and the price of a coin in USD, both as decimal strings. */
  amount: string;
  rate: string;
  createdAt: Instant;
  /** When the promised rate expires. A payment first seen after that is late. */
  expiresAt: Instant;
}

export interface Payment {
  transaction: string;
  state: PaymentState;
  /** OTHER means an asset unknown to the gateway. */
  asset: AssetCode | 'OTHER';
  coins: string;
  /** The amount to credit. Null until the processor reports one. */
  usdMicro: Micro | null;
  /** Lower bound on the number of confirmations. */
  confirmations: number;
  firstSeenAt: Instant;
  creditedAt: Instant | null;
  /** Whether the processor confirmed the payment when queried. */
  confirmedByProcessor: boolean;
  /** Why the payment is quarantined or was refused. */
  reason: string | null;
}

/** Minimum of 5 USD, because network fees would consume a smaller payment. */
export const MIN_TOP_UP_MICRO: Micro = 5_000_000n;
export const MAX_TOP_UP_MICRO: Micro = 100_000_000_000n;
/** Larger payments are always quarantined. */
export const MAX_PAYMENT_MICRO: Micro = 1_000_000_000_000n;
/** Maximum number of payments per top-up, so that a sender of many tiny payments can't fill the table. */
export const MAX_PAYMENTS = 100;
/** Maximum number of an account's top-ups that can be waiting for a payment. */
export const MAX_WAITING = 20;
/** Lifetime of a top-up if the processor never changes its rate, in seconds. */
export const DEFAULT_RATE_SECONDS = 86_400n;
/** Number of seconds over which credits made without querying the processor are added up. */
export const UNCONFIRMED_SECONDS = 86_400n;

/** Maximum number of seconds that the gateway waits for a block to include a payment. */
export const SEEN_SECONDS = 86_400n;

/**
 * Divisor for the tolerance. A payment within one percent of the amount counts as complete, because wallets round and
 * processors convert back and forth.
 */
const TOLERANCE = 100n;

/** A transaction that pays an invoice, as reported by the processor. */
export interface ReportedPayment {
  transaction: string;
  /** OTHER means a coin or network unknown to the gateway. */
  asset: AssetCode | 'OTHER';
  address: string | null;
  /** Number of coins received, as a decimal string. */
  coins: string;
  /** The coins' value at the processor's rate, rounded down once. Null if it wasn't reported. */
  usd: Micro | null;
  /** The value before deduction of the processor's own fee. Null if it wasn't reported. */
  usdWithFee: Micro | null;
  /** Lower bound on the number of confirmations. */
  confirmations: number;
  /**
   * `final` means that the processor itself considers the payment irreversible. `gone` means that it no longer pays the
   * invoice.
   */
  status: 'pending' | 'final' | 'gone';
}

export interface Evaluation {
  /** Amount credited to this account within the last day without querying the processor, excluding this payment. */
  unconfirmedMicro: Micro;
  /** If the sum exceeds this amount, the processor is queried. */
  queryAboveMicro: Micro;
  /**
   * The processor's response about this transaction. Undefined if the processor hasn't been queried yet, and null if it
   * doesn't know the transaction.
   */
  queried: ReportedPayment | null | undefined;
  now: Instant;
}

/** This text is stored as a payment's reason and later compared with it, so it must not change. */
export const NOT_QUERIED_YET = 'the processor is yet to be asked back';

/** Returns a payment's new state after a report, or null if nothing changes. `known` is the stored payment. */
export function evaluatePayment(
  topUp: TopUp,
  known: Payment | undefined,
  report: ReportedPayment,
  evaluation: Evaluation,
): Payment | null {
  if (known !== undefined && isOver(known)) return null;
  if (known?.state === 'QUARANTINED' && known.reason !== NOT_QUERIED_YET) return null;
  const payment: Payment = {
    ...(known ?? { firstSeenAt: evaluation.now, creditedAt: null }),
    transaction: report.transaction,
    asset: report.asset,
    coins: report.coins,
    usdMicro: report.usd ?? known?.usdMicro ?? null,
    confirmations: Math.max(report.confirmations, known?.confirmations ?? 0),
    confirmedByProcessor: false,
    state: report.confirmations === 0 && known?.state !== 'CONFIRMING' ? 'SEEN' : 'CONFIRMING',
    reason: null,
  };
  const evaluated = evaluateState(topUp, known, payment, report, evaluation);
  return known !== undefined && isSame(known, evaluated) ? null : evaluated;
}

function evaluateState(
  topUp: TopUp,
  known: Payment | undefined,
  payment: Payment,
  report: ReportedPayment,
  evaluation: Evaluation,
): Payment {
  if (report.status === 'gone') return { ...payment, state: 'GONE', reason: 'the processor withdrew it' };
  // A payment that was already final doesn't become pending because of a callback about a different transaction.
  if (report.status === 'pending') return known?.state === 'QUARANTINED' ? known : payment;
  const quarantined = (reason: string): Payment => ({ ...payment, state: 'QUARANTINED', reason });
  if (report.asset !== topUp.asset) return quarantined('it arrived in another coin or on another network');
  if (report.address !== null && report.address !== topUp.address)
    return quarantined("it went to another top-up's address");
  if (payment.usdMicro === null || payment.usdMicro <= 0n) return quarantined('it has no value');
  if (payment.usdMicro > MAX_PAYMENT_MICRO) return quarantined('it exceeds the maximum for one payment');
  if (evaluation.unconfirmedMicro + payment.usdMicro > evaluation.queryAboveMicro) {
    const { queried: response } = evaluation;
    if (response === undefined) return quarantined(NOT_QUERIED_YET);
    if (response === null || !confirms(response, payment, topUp))
      return quarantined('the processor does not confirm it');
    return { ...payment, state: 'CREDITED', creditedAt: evaluation.now, confirmedByProcessor: true };
  }
  return { ...payment, state: 'CREDITED', creditedAt: evaluation.now };
}

/**
 * Whether the processor's response confirms the payment. The credit is compared with the value before the fee, because
 * after the fee, two different roundings could disagree.
 */
function confirms(response: ReportedPayment, payment: Payment, topUp: TopUp): boolean {
  const isMined = response.status === 'final' || (response.status === 'pending' && response.confirmations > 0);
  const isSameInvoice =
    response.asset === topUp.asset && (response.address === null || response.address === topUp.address);
  return (
    isMined &&
    isSameInvoice &&
    response.coins === payment.coins &&
    response.usdWithFee !== null &&
    response.usdWithFee >= amountOf(payment)
  );
}

/** Whether a payment has been credited, refused or reversed, after which further reports don't change anything. */
export function isOver({ state }: Payment): boolean {
  return state === 'CREDITED' || state === 'REFUSED' || state === 'REVERSED';
}

function isSame(known: Payment, evaluated: Payment): boolean {
  return (
    known.state === evaluated.state &&
    known.confirmations === evaluated.confirmations &&
    known.usdMicro === evaluated.usdMicro &&
    known.coins === evaluated.coins &&
    known.reason === evaluated.reason
  );
}

/** Returns the amount of a payment that was or will be credited. Other payments may have no known amount. */
export function amountOf({ usdMicro }: Pick<Payment, 'usdMicro'>): Micro {
  return required(usdMicro, 'amount of a credited payment');
}

/** Returns the total amount credited to the account. */
export function creditedMicro(payments: readonly Payment[]): Micro {
  return payments.reduce((sum, payment) => (payment.state === 'CREDITED' ? sum + amountOf(payment) : sum), 0n);
}

/**
 * Returns the payments as displayed. A payment counts as gone if no block included it within a day, or before other
 * payments added up to the full amount, because processors keep replaced transactions forever. If a block includes it
 * after all, it is still credited.
 */
export function withoutReplaced(topUp: TopUp, payments: readonly Payment[], now: Instant): Payment[] {
  const paidAt = paidInFullAt(topUp, payments);
  return payments.map((payment) => {
    const { state, firstSeenAt } = payment;
    const isGone = now >= firstSeenAt + SEEN_SECONDS || (paidAt !== null && firstSeenAt <= paidAt);
    return state === 'SEEN' && isGone ? { ...payment, state: 'GONE', reason: 'no block included it' } : payment;
  });
}

/** Returns when the credited payments first added up to the requested amount. */
function paidInFullAt(topUp: TopUp, payments: readonly Payment[]): Instant | null {
  const credited = payments
    .filter(({ state }) => state === 'CREDITED')
    .map((payment) => ({
      micro: amountOf(payment),
      creditedAt: required(payment.creditedAt, 'time of a credited payment'),
    }))
    .sort((a, b) => (a.creditedAt < b.creditedAt ? -1 : 1));
  let sum = 0n;
  for (const { micro, creditedAt } of credited) {
    sum += micro;
    if (sum >= topUp.usdMicro - topUp.usdMicro / TOLERANCE) return creditedAt;
  }
  return null;
}

/**
 * Returns a top-up's state. It is derived from the payments as displayed and never stored, so it is always up to date.
 */
export function topUpState(topUp: TopUp, payments: readonly Payment[], now: Instant): TopUpState {
  const has = (state: PaymentState) => payments.some((payment) => payment.state === state);
  if (has('QUARANTINED')) return 'QUARANTINED';
  if (has('CONFIRMING')) return 'CONFIRMING';
  if (has('SEEN')) return 'SEEN';
  if (!has('CREDITED')) return now < topUp.expiresAt ? 'WAITING' : 'EXPIRED';
  if (payments.some(({ state, firstSeenAt }) => state === 'CREDITED' && firstSeenAt >= topUp.expiresAt)) return 'LATE';
  const credited = creditedMicro(payments);
  const tolerance = topUp.usdMicro / TOLERANCE;
  if (credited < topUp.usdMicro - tolerance) return 'UNDERPAID';
  return credited > topUp.usdMicro + tolerance ? 'OVERPAID' : 'CREDITED';
}

/** Returns the lowest number of confirmations among payments that aren't final yet, or null if all of them are. */
export function confirmationsOf(payments: readonly Payment[]): number | null {
  const pending = payments.filter(({ state }) => state === 'SEEN' || state === 'CONFIRMING');
  return pending.length === 0 ? null : Math.min(...pending.map(({ confirmations }) => confirmations));
}
