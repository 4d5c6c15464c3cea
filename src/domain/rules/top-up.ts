import type { Micro } from './money.js';
import type { Instant } from './time.js';
import type { AssetCode } from './top-up-assets.js';

/** Decides whether a payment is credited, quarantined or only shown, and the resulting state of its top-up. */

/**
 * SEEN: not in a block yet. CONFIRMING: not final by the coin's confirmations. QUARANTINED: final, but set aside for
 * review. CREDITED, REFUSED, REVERSED: final states. GONE: before it was credited, the processor withdrew it or no
 * block included it.
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
  /** Amount requested. */
  usdMicro: Micro;
  /** The processor's id of its invoice. */
  invoice: string;
  address: string;
  /** Coins to send, and USD per coin, as decimal texts. */
  amount: string;
  rate: string;
  createdAt: Instant;
  /** End of the promised rate; a payment first seen after it is late. */
  expiresAt: Instant;
}

export interface Payment {
  transaction: string;
  state: PaymentState;
  /** OTHER: an asset unknown to the gateway. */
  asset: AssetCode | 'OTHER';
  coins: string;
  /** Amount to credit; null until the processor reports one. */
  usdMicro: Micro | null;
  /** Lower bound. */
  confirmations: number;
  firstSeenAt: Instant;
  creditedAt: Instant | null;
  /** Whether the processor confirmed it when queried. */
  confirmedByProcessor: boolean;
  /** Why it is quarantined or was refused. */
  reason: string | null;
}

/** Minimum of 5 USD: below it, network fees consume the payment. */
export const MIN_TOP_UP_MICRO: Micro = 5_000_000n;
export const MAX_TOP_UP_MICRO: Micro = 100_000_000_000n;
/** Larger payments are always quarantined. */
export const MAX_PAYMENT_MICRO: Micro = 1_000_000_000_000n;
/** Maximum payments of a top-up, so that someone who keeps sending dust can't fill the table. */
export const MAX_PAYMENTS = 100;
/** Maximum top-ups of an account that wait for a payment. */
export const MAX_WAITING = 20;
/** Time limit of a top-up if the processor never changes its rate, in seconds. */
export const DEFAULT_RATE_SECONDS = 86_400n;
/** Seconds over which credits without a query to the processor are added up. */
export const UNCONFIRMED_SECONDS = 86_400n;

/** Seconds for which a payment that is in no block is awaited. */
export const SEEN_SECONDS = 86_400n;

/**
 * Divisor of the tolerance: a payment within one percent of the amount is complete, because wallets round and
 * processors convert back and forth.
 */
const TOLERANCE = 100n;

/** A transaction that pays an invoice, as the processor reports it. */
export interface ReportedPayment {
  transaction: string;
  /** OTHER: a coin or network unknown to the gateway. */
  asset: AssetCode | 'OTHER';
  address: string | null;
  /** Coins that arrived, as decimal text. */
  coins: string;
  /** Their value by the processor's rate, rounded down once; null if not reported. */
  usd: Micro | null;
  /** The value before the processor's own fee; null if not reported. */
  usdWithFee: Micro | null;
  /** Lower bound of its confirmations. */
  confirmations: number;
  /** `final`: by the processor's own count it won't be reversed. `gone`: it no longer pays the invoice. */
  status: 'pending' | 'final' | 'gone';
}

export interface Evaluation {
  /** Amount credited to this account in the last day without a query, before this payment. */
  unconfirmedMicro: Micro;
  /** Sum above which the processor is queried. */
  queryAboveMicro: Micro;
  /** The processor's response for this transaction; undefined: not queried yet. Null: the processor doesn't know it. */
  queried: ReportedPayment | null | undefined;
  now: Instant;
}

/** Stored as the reason of payments and compared with it; keep the text. */
export const NOT_QUERIED_YET = 'the processor is yet to be asked back';

/** Returns a payment's new state after a report; null if nothing changes. `known` is its stored state. */
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
  // A payment that was final is not made pending by a callback about another transaction.
  if (report.status === 'pending') return known?.state === 'QUARANTINED' ? known : payment;
  const quarantined = (reason: string): Payment => ({ ...payment, state: 'QUARANTINED', reason });
  if (report.asset !== topUp.asset) return quarantined('it arrived in another coin or on another network');
  if (report.address !== null && report.address !== topUp.address)
    return quarantined("it went to another top-up's address");
  if (payment.usdMicro === null || payment.usdMicro <= 0n) return quarantined('it has no value');
  if (payment.usdMicro > MAX_PAYMENT_MICRO) return quarantined('it exceeds the maximum of one payment');
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
 * Whether the processor's response confirms the payment. The credit is compared with the value before the fee: after
 * it, two roundings could differ.
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
    response.usdWithFee >= payment.usdMicro!
  );
}

/** Whether a payment is credited, refused or reversed: further reports change nothing. */
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

/** Returns the amount credited to the account. */
export function creditedMicro(payments: readonly Payment[]): Micro {
  return payments.reduce((sum, { state, usdMicro }) => (state === 'CREDITED' ? sum + usdMicro! : sum), 0n);
}

/**
 * Returns the payments as displayed: one that no block included within a day, or before others had paid the full
 * amount, is gone. Processors keep a replaced transaction forever. If a block includes it after all, it is credited.
 */
export function withoutReplaced(topUp: TopUp, payments: readonly Payment[], now: Instant): Payment[] {
  const paidAt = paidInFullAt(topUp, payments);
  return payments.map((payment) => {
    const { state, firstSeenAt } = payment;
    const isGone = now >= firstSeenAt + SEEN_SECONDS || (paidAt !== null && firstSeenAt <= paidAt);
    return state === 'SEEN' && isGone ? { ...payment, state: 'GONE', reason: 'no block included it' } : payment;
  });
}

/** Returns when the credited payments first reached the requested amount. */
function paidInFullAt(topUp: TopUp, payments: readonly Payment[]): Instant | null {
  const credited = payments
    .filter(({ state }) => state === 'CREDITED')
    .sort((a, b) => (a.creditedAt! < b.creditedAt! ? -1 : 1));
  let sum = 0n;
  for (const { usdMicro, creditedAt } of credited) {
    sum += usdMicro!;
    if (sum >= topUp.usdMicro - topUp.usdMicro / TOLERANCE) return creditedAt;
  }
  return null;
}

/** Returns a top-up's state, derived from its payments as displayed; never stored, so always up to date. */
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

/** Returns the confirmations of the payment with the fewest, while one is not final; null otherwise. */
export function confirmationsOf(payments: readonly Payment[]): number | null {
  const pending = payments.filter(({ state }) => state === 'SEEN' || state === 'CONFIRMING');
  return pending.length === 0 ? null : Math.min(...pending.map(({ confirmations }) => confirmations));
}
