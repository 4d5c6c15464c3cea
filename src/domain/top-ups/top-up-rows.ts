import type pg from 'pg';
import { only } from '../../database/only.js';
import type { PreparedStatement, Transaction } from '../../database/transaction.js';
import type { Micro } from '../kernel/money.js';
import { formatInstant, type Instant } from '../kernel/time.js';
import {
  type Payment,
  type TopUp,
  type TopUpState,
  topUpState,
  UNCONFIRMED_SECONDS,
  withoutReplaced,
} from './rules/top-up.js';

/** Matches ids created by `createTopUp`: `t-` followed by 20 hex characters. */
const TOP_UP_ID = /^t-[0-9a-f]{20}$/;

/** A top-up with its payments, oldest first, and the state that follows from them. */
export interface PaidTopUp extends TopUp {
  payments: Payment[];
  state: TopUpState;
}

/** A pool or a transaction. */
type Queryable = { query<T extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<pg.QueryResult<T>> };

export const TOP_UP_COLUMNS = `top_up.id, top_up.account_id as "accountId", top_up.processor, top_up.asset,
  top_up.usd_micro as "usdMicro", top_up.invoice, top_up.address, top_up.amount, top_up.rate,
  top_up.created_at as "createdAt", top_up.expires_at as "expiresAt"`;

const PAYMENT_COLUMNS = `asset, transaction, state, coins, usd_micro as "usdMicro", confirmations,
  first_seen_at as "firstSeenAt", credited_at as "creditedAt", asked_back as "confirmedByProcessor", reason`;

export function isTopUpId(id: string): boolean {
  return TOP_UP_ID.test(id);
}

export async function findTopUpRow(from: Queryable, id: string): Promise<TopUp | null> {
  // No other string can be an id, and PostgreSQL might even reject it.
  if (!isTopUpId(id)) return null;
  const { rows } = await from.query<TopUp>(`select ${TOP_UP_COLUMNS} from top_up where id = $1`, [id]);
  return rows[0] ?? null;
}

export async function paymentsOf(from: Queryable, topUpId: string): Promise<Payment[]> {
  const text = `select ${PAYMENT_COLUMNS} from payment where top_up_id = $1 order by first_seen_at, transaction, asset`;
  return (await from.query<Payment & pg.QueryResultRow>(text, [topUpId])).rows;
}

/** Returns the top-ups with their payments, in the given order. */
export async function withPayments(from: Queryable, topUps: readonly TopUp[], now: Instant): Promise<PaidTopUp[]> {
  const text = `select top_up_id as "topUpId", ${PAYMENT_COLUMNS} from payment
    where top_up_id = any($1::text[]) order by first_seen_at, transaction, asset`;
  const { rows } = await from.query<Payment & { topUpId: string }>(text, [topUps.map(({ id }) => id)]);
  return topUps.map((topUp) => {
    const payments = rows.filter(({ topUpId }) => topUpId === topUp.id).map(({ topUpId: _, ...payment }) => payment);
    const shown = withoutReplaced(topUp, payments, now);
    return { ...topUp, payments: shown, state: topUpState(topUp, shown, now) };
  });
}

/** Returns the amount credited to the account within the last day without the processor's confirmation. */
export async function unconfirmedMicro(from: Queryable, accountId: string, now: Instant): Promise<Micro> {
  const { rows } = await from.query<{ micro: Micro }>(
    `select coalesce(sum(payment.usd_micro), 0)::bigint as micro from payment join top_up on top_up.id = top_up_id
     where account_id = $1 and state = 'CREDITED' and not asked_back and credited_at > $2::timestamptz`,
    [accountId, formatInstant(now - UNCONFIRMED_SECONDS)],
  );
  return only(rows).micro;
}

export function insertTopUp(transaction: Transaction, topUp: TopUp): void {
  transaction.later({
    name: 'insert-top-up',
    text: `insert into top_up (id, account_id, processor, asset, usd_micro, invoice, address, amount, rate, created_at,
             expires_at, checked_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $10)`,
    values: [
      topUp.id,
      topUp.accountId,
      topUp.processor,
      topUp.asset,
      topUp.usdMicro,
      topUp.invoice,
      topUp.address,
      topUp.amount,
      topUp.rate,
      formatInstant(topUp.createdAt),
      formatInstant(topUp.expiresAt),
    ],
  });
}

/** Returns the statement that inserts or updates a payment. */
export function savePayment({ processor, id }: TopUp, payment: Payment): PreparedStatement {
  const { creditedAt, firstSeenAt } = payment;
  return {
    name: 'save-payment',
    text: `insert into payment (processor, asset, transaction, top_up_id, state, coins, usd_micro, confirmations,
             first_seen_at, credited_at, asked_back, reason)
           values ($1, $2, $3, $4, $5::text::payment_state, $6, $7, $8, $9, $10, $11::text::boolean, $12)
           on conflict (processor, asset, transaction, top_up_id) do update set
             state = excluded.state, coins = excluded.coins, usd_micro = excluded.usd_micro,
             confirmations = excluded.confirmations, credited_at = excluded.credited_at,
             asked_back = excluded.asked_back, reason = excluded.reason`,
    values: [
      processor,
      payment.asset,
      payment.transaction,
      id,
      payment.state,
      payment.coins,
      payment.usdMicro,
      payment.confirmations,
      formatInstant(firstSeenAt),
      creditedAt === null ? null : formatInstant(creditedAt),
      String(payment.confirmedByProcessor),
      payment.reason,
    ],
  };
}
