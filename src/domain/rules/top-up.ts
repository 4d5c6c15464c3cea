import type { Micro } from './money.js';
import type { Instant } from './time.js';
import type { AssetCode } from './top-up-assets.js';

/** When a payment is credited, kept aside or only shown, and what that makes of its top-up. */

/**
 * SEEN: no block holds it yet. CONFIRMING: not final by the coin's confirmations. QUARANTINED: final, and kept aside.
 * CREDITED, REFUSED, REVERSED: the end of it. GONE: before it was credited, the processor took it back or no
 * block took it.
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
  /** What was asked for. */
  usdMicro: Micro;
  /** The processor's own name for its invoice. */
  invoice: string;
  address: string;
  /** Coins to send, and USD per coin, as decimal texts. */
  amount: string;
  rate: string;
  createdAt: Instant;
  /** Until when the rate is promised; a payment first seen after it is late. */
  expiresAt: Instant;
}

export interface Payment {
  transaction: string;
  state: PaymentState;
  /** OTHER: one that the gateway doesn't know. */
  asset: AssetCode | 'OTHER';
  coins: string;
  /** What is credited for it; null while the processor has not said. */
  usdMicro: Micro | null;
  /** At least. */
  confirmations: number;
  firstSeenAt: Instant;
  creditedAt: Instant | null;
  /** Whether the processor, asked back, said the same. */
  confirmedByProcessor: boolean;
  /** Why it is kept aside or was refused. */
  reason: string | null;
}

/** From 5 USD up: below it a network's fee eats what is sent. */
export const MIN_TOP_UP_MICRO: Micro = 5_000_000n;
export const MAX_TOP_UP_MICRO: Micro = 100_000_000_000n;
/** One payment above it is kept aside, whoever vouches for it. */
export const MAX_PAYMENT_MICRO: Micro = 1_000_000_000_000n;
/** A payment of that many at most belongs to a top-up: someone who sends dust again and again fills no table. */
export const MAX_PAYMENTS = 100;
/** Top-ups of an account that wait for a payment at once. */
export const MAX_WAITING = 20;
/** Where the processor never changes its rate, a top-up is waited for this long. */
export const HOLDS_SECONDS = 86_400n;
/** Sums without being asked back are added up over this time. */
export const UNASKED_SECONDS = 86_400n;

/** A payment that no block holds is waited for this long. */
export const SEEN_SECONDS = 86_400n;

/** Within one per cent of what was asked it is paid: wallets round, and processors convert back and forth. */
const TOLERANCE = 100n;

/** One transaction that pays an invoice, as the processor reports it. */
export interface ReportedPayment {
  transaction: string;
  /** OTHER: a coin or network that the gateway doesn't know. */
  asset: AssetCode | 'OTHER';
  address: string | null;
  /** Coins that arrived, as decimal text. */
  coins: string;
  /** What they are worth by the processor's rate, rounded down once; null where it doesn't say. */
  usd: Micro | null;
  /** The same before the processor's own fee; null where it doesn't say. */
  usdWithFee: Micro | null;
  /** Confirmations that it has at least. */
  confirmations: number;
  /** `final`: by the processor's own count it won't be taken back. `gone`: it no longer pays the invoice. */
  status: 'pending' | 'final' | 'gone';
}

export interface Judgement {
  /** Credited in the last day without being asked back, this account's, before this payment. */
  unaskedMicro: Micro;
  /** From which sum on the processor is asked back. */
  askAboveMicro: Micro;
  /** What the processor said of this transaction, asked just now; undefined: it was not asked. Null: it knows of none. */
  asked: ReportedPayment | null | undefined;
  now: Instant;
}

export const NOT_ASKED_YET = 'the processor is yet to be asked back';

/** What a report makes of a payment; null when nothing changes. `known` is what was stored of it before. */
export function judge(
  topUp: TopUp,
  known: Payment | undefined,
  report: ReportedPayment,
  judgement: Judgement,
): Payment | null {
  if (known !== undefined && isOver(known)) return null;
  if (known?.state === 'QUARANTINED' && known.reason !== NOT_ASKED_YET) return null;
  const payment: Payment = {
    ...(known ?? { firstSeenAt: judgement.now, creditedAt: null }),
    transaction: report.transaction,
    asset: report.asset,
    coins: report.coins,
    usdMicro: report.usd ?? known?.usdMicro ?? null,
    confirmations: Math.max(report.confirmations, known?.confirmations ?? 0),
    confirmedByProcessor: false,
    state: report.confirmations === 0 && known?.state !== 'CONFIRMING' ? 'SEEN' : 'CONFIRMING',
    reason: null,
  };
  const judged = judgeState(topUp, known, payment, report, judgement);
  return known !== undefined && isSame(known, judged) ? null : judged;
}

function judgeState(
  topUp: TopUp,
  known: Payment | undefined,
  payment: Payment,
  report: ReportedPayment,
  judgement: Judgement,
): Payment {
  if (report.status === 'gone') return { ...payment, state: 'GONE', reason: 'the processor takes it back' };
  // What was final once is not made pending by a callback about another transaction.
  if (report.status === 'pending') return known?.state === 'QUARANTINED' ? known : payment;
  const aside = (reason: string): Payment => ({ ...payment, state: 'QUARANTINED', reason });
  if (report.asset !== topUp.asset) return aside('it came in another coin or on another network');
  if (report.address !== null && report.address !== topUp.address) return aside("it went to another top-up's address");
  if (payment.usdMicro === null || payment.usdMicro <= 0n) return aside('it is worth nothing');
  if (payment.usdMicro > MAX_PAYMENT_MICRO) return aside('it is worth more than one payment may be');
  if (judgement.unaskedMicro + payment.usdMicro > judgement.askAboveMicro) {
    const { asked } = judgement;
    if (asked === undefined) return aside(NOT_ASKED_YET);
    if (asked === null || !confirms(asked, payment, topUp))
      return aside('the processor, asked back, does not say the same');
    return { ...payment, state: 'CREDITED', creditedAt: judgement.now, confirmedByProcessor: true };
  }
  return { ...payment, state: 'CREDITED', creditedAt: judgement.now };
}

/** What is credited is compared with the worth before the fee: without it, two roundings could differ. */
function confirms(asked: ReportedPayment, payment: Payment, topUp: TopUp): boolean {
  const isMined = asked.status === 'final' || (asked.status === 'pending' && asked.confirmations > 0);
  const isHere = asked.asset === topUp.asset && (asked.address === null || asked.address === topUp.address);
  return (
    isMined &&
    isHere &&
    asked.coins === payment.coins &&
    asked.usdWithFee !== null &&
    asked.usdWithFee >= payment.usdMicro!
  );
}

/** Credited, refused or reversed: a report of it again changes nothing. */
export function isOver({ state }: Payment): boolean {
  return state === 'CREDITED' || state === 'REFUSED' || state === 'REVERSED';
}

function isSame(known: Payment, judged: Payment): boolean {
  return (
    known.state === judged.state &&
    known.confirmations === judged.confirmations &&
    known.usdMicro === judged.usdMicro &&
    known.coins === judged.coins &&
    known.reason === judged.reason
  );
}

/** What stands on the account for it. */
export function creditedMicro(payments: readonly Payment[]): Micro {
  return payments.reduce((sum, { state, usdMicro }) => (state === 'CREDITED' ? sum + usdMicro! : sum), 0n);
}

/**
 * The payments as they are shown: one that no block took within a day, or by when others had paid all that was asked for,
 * is gone. Processors keep a transaction that was replaced for ever. If a block takes it after all, it is credited.
 */
export function withoutReplaced(topUp: TopUp, payments: readonly Payment[], now: Instant): Payment[] {
  const paidAt = paidInFullAt(topUp, payments);
  return payments.map((payment) => {
    const { state, firstSeenAt } = payment;
    const isGone = now >= firstSeenAt + SEEN_SECONDS || (paidAt !== null && firstSeenAt <= paidAt);
    return state === 'SEEN' && isGone ? { ...payment, state: 'GONE', reason: 'no block took it' } : payment;
  });
}

/** When what was credited first came to what was asked for. */
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

/** What a top-up's payments, as they are shown, make of it; never stored, so never behind them. */
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

/** Confirmations of the payment that has fewest, while one is not final; null otherwise. */
export function confirmationsOf(payments: readonly Payment[]): number | null {
  const pending = payments.filter(({ state }) => state === 'SEEN' || state === 'CONFIRMING');
  return pending.length === 0 ? null : Math.min(...pending.map(({ confirmations }) => confirmations));
}
