import type { Micro } from '../rules/money.js';
import type { Instant } from '../rules/time.js';
import type { ReportedPayment } from '../rules/top-up.js';
import type { AssetCode } from '../rules/top-up-assets.js';

/**
 * The gateway's interface to a payment processor. The processor handles wallets, chains and rates; the gateway keeps
 * the books. Every call ends within `PROCESSOR_TIMEOUT_MS` and fails with `ProcessorUnavailable`.
 */
export interface PaymentProcessor {
  /** Part of a payment's unique key, which must never change once payments are booked. */
  readonly name: 'shkeeper' | 'btcpay';
  /** Returns the assets it accepts now. */
  assets(): Promise<AssetCode[]>;
  /**
   * Opens an invoice. `id` must be new each time: repeating an id with another amount would reprice an existing
   * invoice.
   */
  open(request: { id: string; asset: AssetCode; usd: Micro }): Promise<OpenedInvoice>;
  /** Verifies a callback by its raw bytes and headers, before any of its content is trusted. */
  verify(body: Buffer, headers: CallbackHeaders, now: Instant): VerifiedCallback;
  /** Returns the payments of an invoice. */
  read(topUp: InvoiceOf): Promise<ReportedPayment[]>;
}

export type CallbackHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface OpenedInvoice {
  /** The processor's id of the invoice. */
  invoice: string;
  address: string;
  /** Coins to send, as decimal text. */
  amount: string;
  /** USD per coin, as decimal text. */
  rate: string;
  /** End of the rate's validity; null if the processor never changes it. */
  holdsUntil: Instant | null;
}

/** Identifies an invoice at the processor. */
export interface InvoiceOf {
  id: string;
  asset: AssetCode;
  invoice: string;
}

export type VerifiedCallback =
  /** Not from the processor: none of its content is trusted. */
  | { kind: 'refused'; reason: string }
  /** From the processor, but in an unknown format: quarantined. */
  | { kind: 'malformed'; reason: string }
  /** From the processor, but not about a payment. */
  | { kind: 'ignored' }
  /**
   * From the processor. With null payments, the processor must be queried. `unreadable` is the reason why some of its
   * payments are quarantined.
   */
  | { kind: 'accepted'; id: string; payments: ReportedPayment[] | null; unreadable: string | null };

/** The processor is down, too slow, or gives an invalid response. Only the operator sees the details. */
export class ProcessorUnavailable extends Error {}

/** The processor refuses this request and would refuse it again, e.g. for an asset that it doesn't accept now. */
export class ProcessorRefusal extends Error {}
