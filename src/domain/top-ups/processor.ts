import type { Micro } from '../rules/money.js';
import type { Instant } from '../rules/time.js';
import type { ReportedPayment } from '../rules/top-up.js';
import type { AssetCode } from '../rules/top-up-assets.js';

/**
 * What the gateway asks of a payment processor. Wallets, chains and rates are the processor's work; the gateway keeps
 * the books. Every call ends within `PROCESSOR_TIMEOUT_MS` and fails with `ProcessorUnavailable`.
 */
export interface PaymentProcessor {
  /** Part of what makes a payment unique; never changed once payments were booked. */
  readonly name: 'shkeeper' | 'btcpay';
  /** What it takes now. */
  assets(): Promise<AssetCode[]>;
  /** Opens an invoice. `id` is new each time: the same id with another sum would price an invoice again. */
  open(request: { id: string; asset: AssetCode; usd: Micro }): Promise<OpenedInvoice>;
  /** Judges a callback by its raw bytes and headers, before anything in it is believed. */
  verify(body: Buffer, headers: CallbackHeaders, now: Instant): VerifiedCallback;
  /** What it knows of an invoice's payments. */
  read(topUp: InvoiceOf): Promise<ReportedPayment[]>;
}

export type CallbackHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface OpenedInvoice {
  /** The processor's own name for it. */
  invoice: string;
  address: string;
  /** Coins to send, as decimal text. */
  amount: string;
  /** USD per coin, as decimal text. */
  rate: string;
  /** Until when the rate holds; null where the processor never changes it. */
  holdsUntil: Instant | null;
}

/** How an invoice is found again. */
export interface InvoiceOf {
  id: string;
  asset: AssetCode;
  invoice: string;
}

export type VerifiedCallback =
  /** Not the processor's: nothing in it is believed. */
  | { kind: 'refused'; reason: string }
  /** The processor's, but not as it writes: kept aside. */
  | { kind: 'malformed'; reason: string }
  /** The processor's, about something else than a payment. */
  | { kind: 'ignored' }
  /** Null payments: the processor has to be asked. `unreadable`: why others of its payments are kept aside. */
  | { kind: 'news'; id: string; payments: ReportedPayment[] | null; unreadable: string | null };

/** Away, too slow, or it answers what no processor says; the operator learns of it, never a caller. */
export class ProcessorUnavailable extends Error {}

/** It refuses this request and would again: an asset it does not take now. */
export class ProcessorRefusal extends Error {}
