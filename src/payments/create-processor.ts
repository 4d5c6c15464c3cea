import type { Instant } from '../domain/kernel/time.js';
import type { PaymentProcessor } from '../domain/top-ups/processor.js';
import type { Confirmations } from '../domain/top-ups/rules/top-up-assets.js';
import { createBtcpay } from './btcpay.js';
import type { MoreHeaders } from './send-request.js';
import { createShkeeper } from './shkeeper.js';

export interface ProcessorSettings {
  payments: PaymentProcessor['name'];
  paymentsUrl: string;
  paymentsKey: string;
  paymentsSecret: string | null;
  paymentsStore: string | null;
  topUpConfirmations: Confirmations;
  moreHeaders: MoreHeaders;
}

/** Creates the processor chosen by the operator. */
export function createProcessor(
  settings: ProcessorSettings,
  callbackUrl: string,
  now: () => Instant,
): PaymentProcessor {
  const { payments, paymentsUrl: url, paymentsKey: key, topUpConfirmations: confirmations, moreHeaders } = settings;
  if (payments === 'shkeeper') return createShkeeper({ url, key, callbackUrl, now, moreHeaders });
  return createBtcpay({
    url,
    key,
    store: settings.paymentsStore!,
    secret: settings.paymentsSecret!,
    confirmations,
    moreHeaders,
  });
}
