import type { AccountsDeps } from '../accounts/deps.js';
import type { InventoryDeps } from '../inventory/deps.js';
import type { Offer } from '../inventory/rules/offer.js';
import type { SharedResults } from '../inventory/shared-results.js';
import type { PriceSheet } from '../market/price-sheet.js';
import type { SampleDeps } from '../samples/deps.js';
import type { OpenLogs } from './log-source.js';
import type { SubscriptionRegistry } from './subscriptions.js';

export interface UpdateDeps extends AccountsDeps, Pick<SampleDeps, 'loadWatch'>, Pick<InventoryDeps, 'inventory'> {
  /** Offer lists shared between streams. */
  readonly sharedOffers: SharedResults<readonly Offer[]>;
  /** The price sheet, shared between streams. */
  readonly sharedSheet: SharedResults<PriceSheet>;
  /** All open change streams. */
  readonly subscriptions: SubscriptionRegistry;
  /** Null in a process that host agents don't connect to. */
  readonly openLogs: OpenLogs | null;
}
