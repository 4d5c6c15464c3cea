import type { Micro } from '../kernel/money.js';
import type { Instant } from '../kernel/time.js';
import type { ReportedPayment } from './rules/top-up.js';
import type { AssetCode } from './rules/top-up-assets.js';

/**
 * The gateway's interface to a payment processor. The processor handles wallets, chains and exchange rates, while the
 * gateway keeps the books. Every call ends within `PROCESSOR_TIMEOUT_MS` and throws `ProcessorUnavailable` on failure.
 */
export interface PaymentProcessor {
  /** Part of each payment's unique key. It must never change once payments have been booked. */
  readonly name: 'shkeeper' | 'btcpay';
  /** Returns the assets that the processor currently accepts. */
  assets(): Promise<AssetCode[]>;
  /**
   * Opens an invoice. `id` must be new each time, because reusing one with another amount would reprice the existing
   * invoice.
   */
  open(request: { id: string; asset: AssetCode; usd: Micro }): Promise<OpenedInvoice>;
  /** Verifies a callback from its raw bytes and headers, before any of its content is trusted. */
  verify(body: Buffer, headers: CallbackHeaders, now: Instant): VerifiedCallback;
  /** Returns an invoice's payments. */
  read(topUp: InvoiceOf): Promise<ReportedPayment[]>;
  /** Returns the invoices created since then, or more if the processor doesn't report when invoices were created. */
  list(since: Instant): Promise<ListedInvoice[]>;
}

export type CallbackHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface OpenedInvoice {
  /** The processor's id for the invoice. */
  invoice: string;
  address: string;
  /** Coins to send, as a decimal string. */
  amount: string;
  /** USD per coin, as a decimal string. */
  rate: string;
  /** When the rate expires. Null if the processor never changes it. */
  holdsUntil: Instant | null;
}

/** Identifies an invoice to the processor. */
export interface InvoiceOf {
  id: string;
  asset: AssetCode;
  invoice: string;
}

export interface ListedInvoice extends InvoiceOf {
  /** Ids of its transactions. Null if the list doesn't contain them. */
  transactions: string[] | null;
}

export type VerifiedCallback =
  /** Not from the processor, so none of its content is trusted. */
  | { kind: 'refused'; reason: string }
  /** From the processor, but in an unknown format, so it is quarantined. */
  | { kind: 'malformed'; reason: string }
  /** From the processor, but not about a payment. */
  | { kind: 'ignored' }
  /**
   * From the processor. If `payments` is null, the processor must be queried. `unreadable` says why some of its
   * payments are quarantined.
   */
  | { kind: 'accepted'; id: string; payments: ReportedPayment[] | null; unreadable: string | null };

/** Thrown if the processor is down, is too slow or returns an invalid response. Only the operator sees the details. */
export class ProcessorUnavailable extends Error {}

/**
 * Thrown if the processor rejects a request and would do so again, for example because it doesn't currently accept the
 * asset.
 */
export class ProcessorRefusal extends Error {}
