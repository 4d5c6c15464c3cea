import type { LedgerDeps } from '../billing/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { SendMail, SendWebhook } from './receiver.js';

export interface WebhookDeps
  extends Pick<KernelDeps, 'db' | 'clock' | 'settings' | 'sealingKeys'>,
    Pick<LedgerDeps, 'activity'> {
  /** Sends an event to a webhook. */
  readonly sendWebhook: SendWebhook;
  /** Null if mail is disabled. */
  readonly sendMail: SendMail | null;
}
