import { isDecimal, microOfCoins, subtractDecimals, tidyDecimal } from '../domain/kernel/decimal.js';
import { formatUsd } from '../domain/kernel/money.js';
import {
  type CallbackHeaders,
  type ListedInvoice,
  type PaymentProcessor,
  ProcessorRefusal,
  ProcessorUnavailable,
  type VerifiedCallback,
} from '../domain/top-ups/processor.js';
import type { ReportedPayment } from '../domain/top-ups/rules/top-up.js';
import type { AssetCode, Confirmations } from '../domain/top-ups/rules/top-up-assets.js';
import { isName, isObject, type Json, readObject } from './read-json.js';
import { createRequestSender, type MoreHeaders } from './send-request.js';
import { isSignedBy } from './signature.js';

/**
 * BTCPay Server, accessed through its Greenfield API as of its code of 23 July 2026 (GreenfieldInvoiceController.cs,
 * InvoicePaymentMethodDataModel.cs, WebhookSender.cs).
 *
 * A webhook only prompts the gateway to read from the server, so a repeated or late webhook changes nothing. Webhooks
 * have no signed timestamp, so a replayed one also prompts a read.
 */

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i;
const MAX_NAME = 200;
const MAX_PAYMENTS = 100;
/** Number of invoices requested at once. An invoice takes about 2 KB. */
const PAGE = 100;
/** Time that BTCPay Server watches an expired invoice for payments. */
const MONITORING_MINUTES = 7 * 24 * 60;

/**
 * BTCPay's payment methods for our assets, which are coins on their own chains. Ethereum, Tron and Solana tokens are
 * not supported.
 */
const METHODS: Partial<Record<AssetCode, string>> = { BTC: 'BTC-CHAIN', LTC: 'LTC-CHAIN', XMR: 'XMR-CHAIN' };
const ASSET_OF = new Map(Object.entries(METHODS).map(([asset, method]) => [method, asset as AssetCode]));

export interface BtcpayOptions {
  url: string;
  /** Greenfield API key with permission to create and view the store's invoices. */
  key: string;
  store: string;
  /** The webhook's secret. */
  secret: string;
  confirmations: Confirmations;
  moreHeaders: MoreHeaders;
}

export function createBtcpay({ url, key, store, secret, confirmations, moreHeaders }: BtcpayOptions): PaymentProcessor {
  const send = createRequestSender(
    `${url}/api/v1/stores/${encodeURIComponent(store)}`,
    { authorization: `token ${key}` },
    moreHeaders,
  );
  const fetchJson = async (path: string, body?: object): Promise<unknown> => {
    const response = await send(path, body && { method: 'POST', body });
    if (response.status === 200) return response.body;
    const problem = `${path}: HTTP ${response.status}`;
    throw response.status === 422 || response.status === 400
      ? new ProcessorRefusal(problem)
      : new ProcessorUnavailable(problem);
  };
  const methodOf = async (asset: AssetCode, invoice: string): Promise<Json | undefined> => {
    const path = `/invoices/${encodeURIComponent(invoice)}/payment-methods?onlyAccountedPayments=false`;
    const methods = await fetchJson(path);
    if (!Array.isArray(methods) || !methods.every(isObject)) throw new ProcessorUnavailable(`${path}: not a list`);
    return methods.find(({ paymentMethodId }) => paymentMethodId === METHODS[asset]);
  };

  return {
    name: 'btcpay',
    assets: async () => {
      const methods = await fetchJson('/payment-methods?onlyEnabled=true');
      if (!Array.isArray(methods)) throw new ProcessorUnavailable('/payment-methods: not a list');
      return methods.flatMap((method) => (isObject(method) && ASSET_OF.get(String(method.paymentMethodId))) || []);
    },
    open: async ({ id, asset, usd }) => {
      const method = METHODS[asset];
      if (method === undefined) throw new ProcessorRefusal(`BTCPay Server doesn't support ${asset}`);
      const invoice = await fetchJson('/invoices', {
        amount: formatUsd(usd),
        currency: 'USD',
        metadata: { orderId: id },
        checkout: {
          paymentMethods: [method],
          speedPolicy: speedPolicyOf(confirmations[asset]),
          monitoringMinutes: MONITORING_MINUTES,
          // Otherwise, an address may not be assigned until the invoice's page is opened.
          lazyPaymentMethods: false,
        },
      });
      if (!isObject(invoice) || !isName(invoice.id, MAX_NAME) || !isSeconds(invoice.expirationTime)) {
        throw new ProcessorUnavailable('/invoices: not an invoice');
      }
      const prompt = await methodOf(asset, invoice.id);
      const { destination, amount, rate } = prompt ?? {};
      if (!isName(destination, MAX_NAME) || !isDecimal(amount) || !isDecimal(rate)) {
        throw new ProcessorUnavailable('/payment-methods: missing address, amount or rate');
      }
      return {
        invoice: invoice.id,
        address: destination,
        amount: tidyDecimal(amount),
        rate: tidyDecimal(rate),
        holdsUntil: BigInt(invoice.expirationTime),
      };
    },
    verify: (body, headers) => verify(secret, store, body, headers),
    read: async ({ asset, invoice }) => {
      const method = await methodOf(asset, invoice);
      if (method === undefined) return [];
      const { payments, rate } = method;
      if (!Array.isArray(payments) || !isDecimal(rate))
        throw new ProcessorUnavailable('/payment-methods: missing payments');
      return payments.slice(0, MAX_PAYMENTS).map((payment) => paymentOf(payment, asset, rate, confirmations[asset]));
    },
    list: async (since) => {
      const found: ListedInvoice[] = [];
      for (let skip = 0; ; skip += PAGE) {
        const page = await fetchJson(`/invoices?startDate=${since}&skip=${skip}&take=${PAGE}`);
        if (!Array.isArray(page)) throw new ProcessorUnavailable('/invoices: not a list');
        found.push(...page.flatMap(invoiceOf));
        if (page.length < PAGE) return found;
      }
    },
  };
}

/**
 * Returns the fastest speed policy that suffices. Depending on an invoice's policy, BTCPay Server treats a payment as
 * final after 0, 1, 2 or 6 confirmations. It doesn't count any further, as docs/payments.md explains.
 */
function speedPolicyOf(confirmations: number): string {
  if (confirmations <= 1) return 'MediumSpeed';
  return confirmations === 2 ? 'LowMediumSpeed' : 'LowSpeed';
}

function verify(secret: string, store: string, body: Buffer, headers: CallbackHeaders): VerifiedCallback {
  const header = headers['btcpay-sig'];
  const [, hex = ''] = (typeof header === 'string' && SIGNATURE.exec(header)) || [];
  if (!isSignedBy(secret, [body], hex)) return { kind: 'refused', reason: 'signature does not match' };
  const event = readObject(body);
  if (event === null) return { kind: 'malformed', reason: 'body is not a JSON object' };
  if (event.storeId !== store) return { kind: 'malformed', reason: 'storeId is another store' };
  if (typeof event.type !== 'string' || !event.type.startsWith('Invoice')) return { kind: 'ignored' };
  const id = isObject(event.metadata) ? event.metadata.orderId : undefined;
  // The store may also have invoices for other goods.
  return isName(id, MAX_NAME) ? { kind: 'accepted', id, payments: null, unreadable: null } : { kind: 'ignored' };
}

/** Returns the invoice if it was opened for a top-up, because the store may also have invoices for other goods. */
function invoiceOf(invoice: unknown): ListedInvoice[] {
  const { id, metadata, checkout } = isObject(invoice) ? invoice : {};
  const topUp = isObject(metadata) ? metadata.orderId : undefined;
  const methods = isObject(checkout) && Array.isArray(checkout.paymentMethods) ? checkout.paymentMethods : [];
  const asset = ASSET_OF.get(String(methods[0]));
  const isOurs = isName(id, MAX_NAME) && isName(topUp, MAX_NAME) && asset !== undefined;
  return isOurs ? [{ id: topUp, asset, invoice: id, transactions: null }] : [];
}

const STATUS = { Processing: 'pending', Settled: 'final', Invalid: 'gone' } as const;

function paymentOf(payment: unknown, asset: AssetCode, rate: string, confirmations: number): ReportedPayment {
  const { id, value, fee, status, destination } = isObject(payment) ? payment : {};
  const known =
    typeof status === 'string' && Object.hasOwn(STATUS, status) ? STATUS[status as keyof typeof STATUS] : null;
  if (!isName(id, MAX_NAME) || !isDecimal(value) || !isDecimal(fee) || known === null) {
    throw new ProcessorUnavailable('/payment-methods: not a payment');
  }
  // The part of a payment that covers the invoice's network fee is not credited.
  const coins = subtractDecimals(value, fee);
  return {
    transaction: id,
    asset,
    address: isName(destination, MAX_NAME) ? destination : null,
    coins,
    usd: microOfCoins(coins, rate),
    usdWithFee: microOfCoins(coins, rate),
    confirmations: known === 'final' ? confirmations : 0,
    status: known,
  };
}

function isSeconds(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
