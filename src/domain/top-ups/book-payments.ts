import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import { type Write, write } from '../billing/ledger.js';
import { rateOf } from '../kernel/decimal.js';
import type { KernelDeps } from '../kernel/deps.js';
import { type EventType, type NewEvent, usdOf } from '../kernel/events.js';
import { type Account, credit, type LedgerKind } from '../kernel/lifecycle.js';
import { type Micro, unitsOfMicro } from '../kernel/money.js';
import type { Instant } from '../kernel/time.js';
import type { TopUpDeps } from './deps.js';
import { ProcessorUnavailable } from './processor.js';
import {
  amountOf,
  evaluatePayment,
  isOver,
  MAX_PAYMENTS,
  NOT_QUERIED_YET,
  type Payment,
  type PaymentState,
  type ReportedPayment,
  type TopUp,
} from './rules/top-up.js';
import { ASSETS } from './rules/top-up-assets.js';
import { paymentsOf, savePayment, unconfirmedMicro } from './top-up-rows.js';

/** A payment's outcome, for the operator's log. */
export interface PaymentEvent {
  topUpId: string;
  accountId: string;
  transaction: string;
  asset: string;
  /** LOST means that the processor reversed a payment after it was credited. The operator must decide what to do. */
  state: PaymentState | 'LOST';
  usdMicro: Micro | null;
  reason: string | null;
}

/**
 * Books what the processor reports about a top-up. A payment's row and ledger entry are committed together while the
 * account is locked, so the payment is credited only once, even if it is reported repeatedly or concurrently. `queried`
 * is the processor's current response, if it has just been queried. If it is missing but needed to confirm an amount,
 * the processor is queried before anything is locked.
 */
export async function bookPayments(
  deps: LedgerDeps & Pick<TopUpDeps, 'payments'>,
  topUp: TopUp,
  reports: readonly ReportedPayment[],
  queried?: readonly ReportedPayment[],
): Promise<PaymentEvent[]> {
  const preview = evaluateAll(deps, topUp, reports, {
    payments: await paymentsOf(deps.db.pool, topUp.id),
    unconfirmed: await unconfirmedMicro(deps.db.pool, topUp.accountId, deps.clock.now()),
    queried,
    now: deps.clock.now(),
  });
  // Most reports only repeat known facts and therefore need no lock.
  if (preview.changed.length === 0) return preview.lost;
  const needsQuery = preview.changed.some(({ reason }) => reason === NOT_QUERIED_YET);
  const answer = queried ?? (needsQuery ? await queryProcessor(deps, topUp) : undefined);
  return write(deps, { accountIds: [topUp.accountId] }, async (current) => {
    const account = current.lockedAccount(topUp.accountId);
    const { changed, lost } = evaluateAll(deps, topUp, reports, {
      payments: await paymentsOf(current.transaction, topUp.id),
      unconfirmed: await unconfirmedMicro(current.transaction, topUp.accountId, current.at),
      queried: answer,
      now: current.at,
    });
    for (const payment of changed) {
      if (payment.state === 'CREDITED') bookCredit(current, account, topUp, payment);
      current.transaction.later(savePayment(topUp, payment));
      current.emit(topUpEvent(topUp, payment, current.at));
    }
    return [...lost, ...changed.map((payment) => eventOf(topUp, payment, payment.state))];
  });
}

interface Before {
  payments: readonly Payment[];
  unconfirmed: Micro;
  queried: readonly ReportedPayment[] | undefined;
  now: Instant;
}

function evaluateAll(
  deps: Pick<KernelDeps, 'settings'>,
  topUp: TopUp,
  reports: readonly ReportedPayment[],
  before: Before,
) {
  const known = new Map(before.payments.map((payment) => [keyOf(payment), payment]));
  const changed: Payment[] = [];
  const lost: PaymentEvent[] = [];
  let unconfirmed = before.unconfirmed;
  for (const report of reports) {
    const stored = known.get(keyOf(report));
    if (stored === undefined && known.size >= MAX_PAYMENTS) continue;
    if (stored?.state === 'CREDITED' && report.status === 'gone') lost.push(eventOf(topUp, stored, 'LOST'));
    const queried = before.queried && (before.queried.find((answer) => keyOf(answer) === keyOf(report)) ?? null);
    const payment = evaluatePayment(topUp, stored, report, {
      unconfirmedMicro: unconfirmed,
      queryAboveMicro: deps.settings.topUpAskAboveMicro,
      queried,
      now: before.now,
    });
    if (payment === null) continue;
    known.set(keyOf(report), payment);
    changed.push(payment);
    if (payment.state === 'CREDITED' && !payment.confirmedByProcessor) unconfirmed += amountOf(payment);
  }
  return { changed, lost };
}

/**
 * Queries the processor. Returns undefined while it is down, in which case the payment is quarantined and the sweep
 * queries the processor again.
 */
async function queryProcessor(
  { payments: processor }: Pick<TopUpDeps, 'payments'>,
  topUp: TopUp,
): Promise<ReportedPayment[] | undefined> {
  try {
    return await required(processor, 'payment processor').read(topUp);
  } catch (error) {
    if (error instanceof ProcessorUnavailable) return undefined;
    throw error;
  }
}

export function keyOf({ asset, transaction }: { asset: string; transaction: string }): string {
  return `${asset} ${transaction}`;
}

function eventOf({ id, accountId }: TopUp, payment: Payment, state: PaymentEvent['state']): PaymentEvent {
  const { transaction, asset, usdMicro, reason } = payment;
  return { topUpId: id, accountId, transaction, asset, state, usdMicro, reason };
}

function topUpEvent({ id, accountId }: TopUp, payment: Payment, at: Instant): NewEvent {
  const { transaction, asset, coins, usdMicro, state, confirmations } = payment;
  const usd = usdMicro === null ? null : usdOf(usdMicro);
  const data = { top_up: id, asset, transaction, coins, usd, confirmations };
  return { accountId, type: `topup.${state.toLowerCase()}` as EventType, subject: id, at, data };
}

/** Credits a payment. The entry's id is derived from the payment, so that no payment can be credited twice. */
export function bookCredit(current: Write, account: Account, topUp: TopUp, payment: Payment): void {
  const { coins, transaction } = payment;
  const micro = amountOf(payment);
  const rate = rateOf(micro, coins);
  const { coin, network } = ASSETS[topUp.asset];
  const name = `${topUp.id}/${payment.asset}/${transaction}`;
  bookLine(current, account, {
    id: `topup/${name}`,
    kind: 'CREDIT',
    micro,
    reference: `top-up ${name}`,
    note: rate === null ? `${coin} (${network})` : `${coins} ${coin} (${network}) at ${rate} USD`,
  });
}

interface Line {
  id: string;
  kind: Extract<LedgerKind, 'CREDIT' | 'ADJUSTMENT'>;
  micro: Micro;
  reference: string;
  note: string;
}

export function bookLine(current: Write, account: Account, { id, kind, micro, reference, note }: Line): void {
  const units = unitsOfMicro(micro);
  credit(current.step(account), {
    id,
    accountId: account.id,
    kind,
    units,
    at: current.at,
    instanceId: null,
    reference,
    note,
  });
}

/**
 * Returns the stored report of a payment that is awaiting the processor's confirmation. Returns null for any other
 * payment.
 */
export function storedReport(topUp: TopUp, payment: Payment): ReportedPayment | null {
  if (isOver(payment) || payment.reason !== NOT_QUERIED_YET) return null;
  const { transaction, asset, coins, usdMicro, confirmations } = payment;
  return {
    transaction,
    asset,
    address: topUp.address,
    coins,
    usd: usdMicro,
    usdWithFee: null,
    confirmations,
    status: 'final',
  };
}
