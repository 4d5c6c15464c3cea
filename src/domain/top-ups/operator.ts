import { only } from '../../database/only.js';
import { required } from '../../std/required.js';
import type { LedgerDeps } from '../billing/deps.js';
import { billingFields } from '../billing/fields.js';
import { type Write, write } from '../billing/ledger.js';
import { balanceAt } from '../kernel/accrual.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import type { Account } from '../kernel/lifecycle.js';
import type { Micro } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import { bookCredit, bookLine } from './book-payments.js';
import {
  amountOf,
  creditedMicro,
  isOver,
  MAX_PAYMENT_MICRO,
  type Payment,
  type TopUp,
  type TopUpState,
} from './rules/top-up.js';
import { findTopUpRow, type PaidTopUp, paymentsOf, savePayment, TOP_UP_COLUMNS, withPayments } from './top-up-rows.js';

/** Maximum number of top-ups listed for the operator. */
const MAX_LISTED = 1_000;
const MAX_EXPORTED = 100_000;

export interface TopUpFilter {
  accountId?: string | undefined;
  state?: TopUpState | undefined;
}

/** Returns the top-ups of one account, or of all accounts, newest first. Only the newest 1,000 are searched. */
export async function listAllTopUps(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  { accountId, state }: TopUpFilter,
): Promise<PaidTopUp[]> {
  const { rows } = await deps.db.pool.query<TopUp>(
    `select ${TOP_UP_COLUMNS} from top_up where coalesce(account_id = $1, true)
     order by created_at desc, id desc limit ${MAX_LISTED}`,
    [accountId ?? null],
  );
  const topUps = await withPayments(deps.db.pool, rows, deps.clock.now());
  return state === undefined ? topUps : topUps.filter((topUp) => topUp.state === state);
}

/** Returns a top-up with its payments. Throws not_found. */
export async function showTopUp(deps: Pick<KernelDeps, 'db' | 'clock'>, id: string): Promise<PaidTopUp> {
  return only(await withPayments(deps.db.pool, [await known(deps, id)], deps.clock.now()));
}

export interface Decision {
  transaction: string;
  note: string;
}

/**
 * Credits a payment on the operator's decision. The payment may be quarantined, pending, or one never reported by the
 * processor, in which case the operator must specify the amount.
 */
export async function creditPayment(
  deps: LedgerDeps,
  id: string,
  { transaction, usdMicro, note }: Decision & { usdMicro?: Micro | undefined },
): Promise<PaidTopUp> {
  return decide(deps, id, (current, account, topUp, payments) => {
    const stored = payments.find((payment) => payment.transaction === transaction && !isOver(payment));
    if (stored === undefined && payments.some((payment) => payment.transaction === transaction)) {
      throw new DomainError('action_failed', 'this payment has already been credited, refused or reversed');
    }
    const worth = usdMicro ?? stored?.usdMicro ?? null;
    if (worth === null || worth <= 0n || worth > MAX_PAYMENT_MICRO) {
      throw new DomainError('invalid_request', "amount must be the payment's value in USD, above 0", {
        field: 'amount',
      });
    }
    const payment: Payment = {
      transaction: check('transaction', billingFields.reference, transaction),
      asset: stored?.asset ?? topUp.asset,
      coins: stored?.coins ?? '0',
      confirmations: stored?.confirmations ?? 0,
      firstSeenAt: stored?.firstSeenAt ?? current.at,
      usdMicro: worth,
      state: 'CREDITED',
      creditedAt: current.at,
      confirmedByProcessor: true,
      reason: check('note', billingFields.note, note),
    };
    bookCredit(current, account, topUp, payment);
    current.transaction.later(savePayment(topUp, payment));
  });
}

/**
 * Refuses a payment permanently. If it was already credited, it is reversed by an adjustment, even if the balance
 * becomes negative, because the money was never received (for example, after a chain reorganization).
 */
export async function refusePayment(deps: LedgerDeps, id: string, { transaction, note }: Decision): Promise<PaidTopUp> {
  return decide(deps, id, (current, account, topUp, payments) => {
    const stored = payments.find((payment) => payment.transaction === transaction && !isDone(payment));
    if (stored === undefined) throw new DomainError('not_found', 'no such payment, or it can no longer be refused');
    const reason = check('note', billingFields.note, note);
    const isCredited = stored.state === 'CREDITED';
    if (isCredited) {
      const name = `${topUp.id}/${stored.asset}/${transaction}`;
      bookLine(current, account, {
        id: `topup-reversal/${name}`,
        kind: 'ADJUSTMENT',
        micro: -amountOf(stored),
        reference: `top-up reversal ${name}`,
        note: reason,
      });
    }
    current.transaction.later(savePayment(topUp, { ...stored, state: isCredited ? 'REVERSED' : 'REFUSED', reason }));
  });
}

function isDone({ state }: Payment): boolean {
  return state === 'REFUSED' || state === 'REVERSED';
}

export interface Refund {
  usdMicro: Micro;
  /** The external transaction that returned the money. Each transaction is recorded as a refund only once. */
  transaction: string;
  note: string;
}

/** Records a refund. It can't exceed the balance, or the amount credited by the top-up less earlier refunds. */
export async function refundTopUp(deps: LedgerDeps, id: string, refund: Refund): Promise<PaidTopUp> {
  const transaction = check('transaction', billingFields.reference, refund.transaction);
  const note = check('note', billingFields.note, refund.note);
  return decide(deps, id, async (current, account, topUp, payments) => {
    const line = `topup-refund/${topUp.id}/${transaction}`;
    const { rows } = await current.transaction.query<{ id: string; micro: Micro }>(
      `select id, (-units / 3600)::bigint as micro from ledger_entry
       where account_id = $1 and starts_with(id, $2)`,
      [account.id, `topup-refund/${topUp.id}/`],
    );
    const { usdMicro } = refund;
    const booked = rows.find((row) => row.id === line);
    if (booked?.micro === usdMicro) return;
    if (booked !== undefined) {
      throw new DomainError('invalid_request', 'transaction was already used for a refund of a different amount', {
        field: 'transaction',
      });
    }
    const left = creditedMicro(payments) - rows.reduce((sum, { micro }) => sum + micro, 0n);
    if (usdMicro <= 0n || usdMicro > left) {
      throw new DomainError(
        'action_failed',
        'a refund must be above 0 and must not exceed the credited amount that has not been refunded yet',
      );
    }
    if (usdMicro > balanceAt(account, current.at)) {
      throw new DomainError('action_failed', "a refund must not exceed the account's balance");
    }
    const reference = `top-up refund ${transaction}`;
    bookLine(current, account, { id: line, kind: 'ADJUSTMENT', micro: -usdMicro, reference, note });
  });
}

type Decide = (current: Write, account: Account, topUp: TopUp, payments: readonly Payment[]) => Promise<void> | void;

async function decide(deps: LedgerDeps, id: string, decision: Decide): Promise<PaidTopUp> {
  const topUp = await known(deps, id);
  await write(deps, { accountIds: [topUp.accountId] }, async (current) => {
    const payments = await paymentsOf(current.transaction, topUp.id);
    await decision(current, current.lockedAccount(topUp.accountId), topUp, payments);
  });
  return showTopUp(deps, id);
}

async function known(deps: Pick<KernelDeps, 'db'>, id: string): Promise<TopUp> {
  const topUp = await findTopUpRow(deps.db.pool, id);
  if (topUp === null) throw new DomainError('not_found', `no top-up ${id}`);
  return topUp;
}

/** A top-up's ledger entry: a payment, its reversal or a refund. */
export interface BookedLine {
  at: Instant;
  kind: 'credit' | 'reversal' | 'refund';
  accountId: string;
  topUpId: string;
  processor: string;
  asset: string;
  transaction: string;
  /** Empty for a refund. */
  coins: string;
  usdMicro: Micro;
  ledgerEntryId: string;
  note: string | null;
}

/** Returns the top-ups' ledger entries within [from, to), oldest first. Throws if there are more than 100,000. */
export async function bookedLines(deps: Pick<KernelDeps, 'db'>, from: Instant, to: Instant): Promise<BookedLine[]> {
  const { rows } = await deps.db.pool.query<BookedLine>(
    `select entry.at, split_part(entry.id, '/', 1) as kind, entry.account_id as "accountId", top_up.id as "topUpId",
       top_up.processor, coalesce(payment.asset, top_up.asset) as asset,
       coalesce(payment.transaction, split_part(entry.id, '/', 3)) as transaction, coalesce(payment.coins, '') as coins,
       (entry.units / 3600)::bigint as "usdMicro", entry.id as "ledgerEntryId", entry.note
     from ledger_entry entry
     join top_up on top_up.id = split_part(entry.id, '/', 2)
     left join payment on payment.top_up_id = top_up.id
       and entry.id in ('topup/' || top_up.id || '/' || payment.asset || '/' || payment.transaction,
                        'topup-reversal/' || top_up.id || '/' || payment.asset || '/' || payment.transaction)
     where starts_with(entry.id, 'topup') and entry.at >= $1::timestamptz and entry.at < $2::timestamptz
     order by entry.at, entry.id limit ${MAX_EXPORTED + 1}`,
    [formatInstant(from), formatInstant(to)],
  );
  if (rows.length > MAX_EXPORTED) {
    throw new DomainError('invalid_request', `the period has more than ${MAX_EXPORTED} lines; choose a shorter one`);
  }
  const kinds: Record<string, BookedLine['kind']> = {
    topup: 'credit',
    'topup-reversal': 'reversal',
    'topup-refund': 'refund',
  };
  return rows.map((row) => ({ ...row, kind: required(kinds[row.kind], 'kind of a booked line') }));
}
