import type { Database } from '../database/database.js';
import { AccountLoader } from './accounts/account-loader.js';
import { ApiKeyCache } from './accounts/api-key-cache.js';
import { Inventory } from './inventory/inventory.js';
import type { Clock } from './rules/time.js';
import { SubscriptionRegistry } from './updates/subscriptions.js';

/**
 * What the operator decides, in the units of the rules. The table in src/config.ts adds to it each of its rows that is
 * marked as the domain's.
 */
export interface Settings {
  /** Where the service is reached, without a slash at the end; known once it listens. */
  publicUrl: string;
}

/** What every use case needs; made once by the composition root. */
export interface Deps {
  db: Database;
  /** The public data, kept in memory. */
  inventory: Inventory;
  /** Owners of keys, remembered. */
  apiKeyCache: ApiKeyCache;
  /** Accounts and their live instances, those asked for at once by one statement. */
  accountLoader: AccountLoader;
  /** Who is told of changes as they happen. */
  subscriptions: SubscriptionRegistry;
  clock: Clock;
  settings: Settings;
}

export function createDeps(db: Database, clock: Clock, settings: Settings): Deps {
  const { notices } = db;
  return {
    db,
    inventory: new Inventory(db),
    apiKeyCache: new ApiKeyCache(notices),
    accountLoader: new AccountLoader(db.pool),
    subscriptions: new SubscriptionRegistry(notices),
    clock,
    settings,
  };
}
