import { isDecimal, microOf, tidyDecimal } from '../domain/kernel/decimal.js';
import { formatUsd } from '../domain/kernel/money.js';
import type { Instant } from '../domain/kernel/time.js';
import {
  type CallbackHeaders,
  type InvoiceOf,
  type OpenedInvoice,
  type PaymentProcessor,
  ProcessorRefusal,
  ProcessorUnavailable,
  type VerifiedCallback,
} from '../domain/top-ups/processor.js';
import type { ReportedPayment } from '../domain/top-ups/rules/top-up.js';
import type { AssetCode } from '../domain/top-ups/rules/top-up-assets.js';
import { isName, isObject, type Json, readObject } from './read-json.js';
import { createRequestSender, type MoreHeaders } from './send-request.js';
import { type Fee, feeOf, LARGE_USD, type Quote, SMALL_USD, withoutFee } from './shkeeper-fee.js';
import { isSignedBy } from './signature.js';

/**
 * SHKeeper, as of its code of 1 July 2026 (vsys-host/shkeeper.io: api_v1.py, callback.py, models.py,
 * services/webhook_hmac.py).
 *
 * - Errors are returned as HTTP 200 with `status: "error"`.
 * - Amounts are strings with at most 10 decimals, so the gateway never reads a JSON number as an amount.
 * - A callback lists all of the invoice's transactions, including those that still need confirmations. Only the one
 *   with `trigger` is final. Each transaction gets its own callback, which is repeated every 60 s until the response is
 *   202.
 * - `GET /tx-info` returns amounts that include the fee. Callbacks exclude it, so with a fixed fee, their amounts may
 *   be negative.
 * - A replaced transaction stays UNCONFIRMED forever.
 * - `GET /crypto` requires no key.
 * - `GET /invoices/{id}` returns CONFIRMED as soon as a payment is in a block and never reverts it, so a payment read
 *   there may not be final.
 */

/** Maximum difference between a callback's timestamp and the current time, in either direction. */
const WINDOW_SECONDS = 300n;
const SECONDS_PER_HOUR = 3_600n;
const AMOUNT_DECIMALS = 10;
const MAX_NAME = 200;
/** Maximum number of transactions read per invoice. */
const MAX_TRANSACTIONS = 100;
/** Maximum size of the list of all invoices, which SHKeeper returns at once. */
const MAX_LIST_BYTES = 200_000_000;
/** A path that requires the key and returns an empty list, because no top-up has this id. */
const KEY_PROBE = '/invoices/none';

/** SHKeeper's names for our assets. It also supports other assets. */
const CODES: Record<AssetCode, string> = {
  BTC: 'BTC',
  LTC: 'LTC',
  XMR: 'XMR',
  ETH: 'ETH',
  SOL: 'SOL',
  TRX: 'TRX',
  'USDT-TRX': 'USDT',
  'USDT-ETH': 'ETH-USDT',
  'USDT-SOL': 'SOLANA-USDT',
};
const ASSET_OF = new Map(Object.entries(CODES).map(([asset, code]) => [code, asset as AssetCode]));

export interface ShkeeperOptions {
  url: string;
  /** API key, which SHKeeper also uses to sign its callbacks. */
  key: string;
  callbackUrl: string;
  now(): Instant;
  moreHeaders: MoreHeaders;
}

export function createShkeeper({ url, key, callbackUrl, now, moreHeaders }: ShkeeperOptions): PaymentProcessor {
  const send = createRequestSender(`${url}/api/v1`, { 'X-Shkeeper-Api-Key': key }, moreHeaders);
  const fetchJson = async (path: string, body?: object, maxBytes?: number): Promise<Json> => {
    const response = await send(path, { ...(body && { method: 'POST', body }), ...(maxBytes && { maxBytes }) });
    if (!isObject(response.body)) throw new ProcessorUnavailable(`${path}: HTTP ${response.status}, not an object`);
    if (response.body.status === 'success') return response.body;
    const { message: reported } = response.body;
    const message = typeof reported === 'string' ? reported.slice(0, MAX_NAME) : '';
    if (/payment gateway is unavailable/.test(message)) throw new ProcessorRefusal(message);
    throw new ProcessorUnavailable(`${path}: HTTP ${response.status}, ${message}`);
  };

  return {
    name: 'shkeeper',
    assets: async () => {
      // The list of coins is public. With a wrong key, no invoice can be opened, so there are no assets to pay with.
      const [{ crypto }] = await Promise.all([fetchJson('/crypto'), fetchJson(KEY_PROBE)]);
      if (!Array.isArray(crypto)) throw new ProcessorUnavailable('/crypto: not a list');
      return crypto.flatMap((code) => ASSET_OF.get(code) ?? []);
    },
    open: async ({ id, asset, usd }) => {
      const path = `/${CODES[asset]}/payment_request`;
      const response = await fetchJson(path, {
        external_id: id,
        fiat: 'USD',
        amount: formatUsd(usd),
        callback_url: callbackUrl,
      });
      return openedInvoice(response, now(), path);
    },
    verify: (body, headers, at) => verify(key, body, headers, at),
    read: async (topUp) => {
      const path = `/invoices/${topUp.id}`;
      const { invoices } = await fetchJson(path);
      if (!Array.isArray(invoices) || !invoices.every(isObject)) throw new ProcessorUnavailable(`${path}: not a list`);
      const transactions = invoices.flatMap(({ txs }) => (Array.isArray(txs) ? txs : [])).slice(0, MAX_TRANSACTIONS);
      const isMined = transactions.some((transaction) => isObject(transaction) && transaction.status === 'CONFIRMED');
      const fee = isMined ? await readFee(fetchJson, topUp.asset) : null;
      const payments: ReportedPayment[] = [];
      for (const transaction of transactions) payments.push(await readPayment(fetchJson, topUp, transaction, fee));
      return payments;
    },
    // Invoices have no time, and an unpaid one has no coin.
    list: async () => {
      const { invoices } = await fetchJson('/invoices', undefined, MAX_LIST_BYTES);
      if (!Array.isArray(invoices)) throw new ProcessorUnavailable('/invoices: not a list');
      return invoices.flatMap((invoice) => {
        const { external_id: id, txs } = isObject(invoice) ? invoice : {};
        const paid = Array.isArray(txs) ? txs.filter(isObject) : [];
        const asset = ASSET_OF.get(String(paid[0]?.crypto));
        const transactions = paid.map(({ txid }) => String(txid));
        return isName(id, MAX_NAME) && asset ? [{ id, asset, invoice: id, transactions }] : [];
      });
    },
  };
}

function openedInvoice(response: Json, now: Instant, path: string): OpenedInvoice {
  const { id, wallet, amount, exchange_rate: rate, recalculate_after: hours } = response;
  const isNumbered = typeof id === 'number' && Number.isSafeInteger(id);
  const isHours = typeof hours === 'number' && Number.isSafeInteger(hours) && hours >= 0;
  if (!isNumbered || !isHours || !isName(wallet, MAX_NAME) || !isAmount(amount) || !isAmount(rate)) {
    throw new ProcessorUnavailable(`${path}: not a payment request`);
  }
  return {
    invoice: String(id),
    address: wallet,
    amount: tidyDecimal(amount),
    rate: tidyDecimal(rate),
    holdsUntil: hours === 0 ? null : now + BigInt(hours) * SECONDS_PER_HOUR,
  };
}

type FetchJson = (path: string, body?: object) => Promise<Json>;

/** Returns SHKeeper's fee, or null if it has no quotes for the coin. */
async function readFee(fetchJson: FetchJson, asset: AssetCode): Promise<Fee | null> {
  const quote = async (usd: bigint): Promise<Quote> => {
    const response = await fetchJson(`/${CODES[asset]}/quote`, { fiat: 'USD', amount: String(usd) });
    return { coins: String(response.amount_crypto), rate: String(response.exchange_rate) };
  };
  try {
    const [small, large] = await Promise.all([quote(SMALL_USD), quote(LARGE_USD)]);
    return feeOf(small, large);
  } catch (error) {
    if (error instanceof ProcessorUnavailable || error instanceof ProcessorRefusal) return null;
    throw error;
  }
}

/** Reads a transaction and its value, which `/invoices` omits. The value includes SHKeeper's own fee. */
async function readPayment(
  fetchJson: FetchJson,
  topUp: InvoiceOf,
  transaction: unknown,
  fee: Fee | null,
): Promise<ReportedPayment> {
  const path = `/invoices/${topUp.id}`;
  if (!isObject(transaction)) throw new ProcessorUnavailable(`${path}: not a transaction`);
  const { txid, crypto, addr, amount, status } = transaction;
  const isKnown = status === 'CONFIRMED' || status === 'UNCONFIRMED';
  if (!isName(txid, MAX_NAME) || !isName(crypto, MAX_NAME) || !isAmount(amount) || !isKnown) {
    throw new ProcessorUnavailable(`${path}: not a transaction`);
  }
  const isMined = status === 'CONFIRMED';
  const info = isMined ? (await fetchJson(`/tx-info/${encodeURIComponent(txid)}/${topUp.id}`)).info : null;
  const worth = isObject(info) && isAmount(info.amount) ? microOf(info.amount) : null;
  return {
    transaction: txid,
    asset: ASSET_OF.get(crypto) ?? 'OTHER',
    address: isName(addr, MAX_NAME) ? addr : null,
    coins: tidyDecimal(amount),
    usd: worth === null || fee === null ? null : withoutFee(worth, fee),
    usdWithFee: worth,
    confirmations: isMined ? 1 : 0,
    status: 'pending',
  };
}

function verify(key: string, body: Buffer, headers: CallbackHeaders, now: Instant): VerifiedCallback {
  const { 'x-shkeeper-timestamp': timestamp, 'x-shkeeper-signature': signature } = headers;
  if (typeof timestamp !== 'string' || typeof signature !== 'string') return refused('missing signature or timestamp');
  if (!/^\d{1,12}$/.test(timestamp)) return refused('timestamp is not a number');
  if (!isSignedBy(key, [`${timestamp}.`, body], signature)) return refused('signature does not match');
  const age = now - BigInt(timestamp);
  if (age > WINDOW_SECONDS || -age > WINDOW_SECONDS) return refused('timestamp is not within 300 s of now');
  const callback = readObject(body);
  if (callback === null) return malformed('body is not a JSON object');
  if (!isName(callback.external_id, MAX_NAME)) return malformed('external_id is missing');
  const payments = callback.status === 'unconfirmed' ? unconfirmedPayment(callback) : transactionsOf(callback);
  if (typeof payments === 'string') return malformed(payments);
  return { kind: 'accepted', id: callback.external_id, ...payments };
}

type CallbackPayments = { payments: ReportedPayment[]; unreadable: string | null };

function refused(reason: string): VerifiedCallback {
  return { kind: 'refused', reason };
}

function malformed(reason: string): VerifiedCallback {
  return { kind: 'malformed', reason };
}

/**
 * Reads a payment in the memory pool, which is reported only once and without a value. If it is malformed, returns the
 * reason.
 */
function unconfirmedPayment({ crypto, addr, txid, amount }: Json): CallbackPayments | string {
  if (!isName(txid, MAX_NAME)) return 'txid is missing';
  if (!isName(crypto, MAX_NAME) || !isName(addr, MAX_NAME)) return 'crypto or addr is missing';
  if (!isAmount(amount)) return 'amount is not a decimal string';
  const asset = ASSET_OF.get(crypto) ?? 'OTHER';
  const coins = tidyDecimal(amount);
  const worth = { usd: null, usdWithFee: null };
  return {
    payments: [{ transaction: txid, asset, address: addr, coins, ...worth, confirmations: 0, status: 'pending' }],
    unreadable: null,
  };
}

/**
 * Reads each transaction separately, so that an unreadable one doesn't affect the others. If none can be read, returns
 * the reason.
 */
function transactionsOf({ addr, fiat, transactions }: Json): CallbackPayments | string {
  if (fiat !== 'USD') return 'fiat is not USD';
  if (!isName(addr, MAX_NAME)) return 'addr is missing';
  if (!Array.isArray(transactions)) return 'transactions are missing';
  if (transactions.length > MAX_TRANSACTIONS) return `more than ${MAX_TRANSACTIONS} transactions`;
  const payments: ReportedPayment[] = [];
  let unreadable: string | null = null;
  for (const transaction of transactions) {
    const payment = isObject(transaction) ? paymentOf(transaction, addr) : 'a transaction is not an object';
    if (typeof payment === 'string') unreadable ??= payment;
    else payments.push(payment);
  }
  return payments.length === 0 && unreadable !== null ? unreadable : { payments, unreadable };
}

function paymentOf(transaction: Json, invoiceAddress: string): ReportedPayment | string {
  const { txid, crypto, amount_crypto: coins, amount_fiat: paid, amount_fiat_without_fee: fiat, trigger } = transaction;
  if (!isName(txid, MAX_NAME)) return 'txid is missing';
  if (!isName(crypto, MAX_NAME)) return 'crypto is missing';
  if (!isAmount(coins)) return 'amount_crypto is not a decimal string';
  // The amount is negative if a fixed fee exceeds the payment.
  const isBelowZero = typeof fiat === 'string' && fiat.startsWith('-') && isAmount(fiat.slice(1));
  if (!isBelowZero && !isAmount(fiat)) return 'amount_fiat_without_fee is not a decimal string';
  if (typeof trigger !== 'boolean') return 'trigger is not a boolean';
  return {
    transaction: txid,
    asset: ASSET_OF.get(crypto) ?? 'OTHER',
    address: invoiceAddress,
    coins: tidyDecimal(coins),
    usd: isBelowZero ? 0n : microOf(fiat),
    usdWithFee: isAmount(paid) ? microOf(paid) : null,
    // The number of confirmations isn't reported. There is at least one, and if this is the callback's own transaction,
    // there are as many as SHKeeper requires.
    confirmations: 1,
    status: trigger ? 'final' : 'pending',
  };
}

function isAmount(value: unknown): value is string {
  return isDecimal(value, AMOUNT_DECIMALS);
}
