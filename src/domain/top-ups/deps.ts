import type { SettlingDeps } from '../billing/deps.js';
import type { PaymentProcessor } from './processor.js';

export interface TopUpDeps extends SettlingDeps {
  /** Null if top-ups are disabled. */
  readonly payments: PaymentProcessor | null;
}
