import type { Database } from '../database/database.js';
import { AccountLoader } from './accounts/account-loader.js';
import { ApiKeyCache } from './accounts/api-key-cache.js';
import { Inventory } from './inventory/inventory.js';
import type { Rate } from './rules/money.js';
import type { Clock } from './rules/time.js';
import { SubscriptionRegistry } from './updates/subscriptions.js';

/** The operator's settings, in the units of the rules. */
export interface Settings {
  /** Micro-USD per GB and hour of a disk deployed from now on. */
  diskRatePerGb: Rate;
  /** Seconds from the exhaustion of credit to the destruction of the account's instances. */
  graceSeconds: bigint;
  /** Seconds of the account's burn that its balance must cover before a deploy or start. */
  coverSeconds: bigint;
  /** An instance's hostname is `<instance id>.<serviceDomain>`. */
  serviceDomain: string;
  /** The public address of the service, without a trailing slash. */
  publicUrl: string;
  /** Requests per 60 s for an account that has spent nothing yet; 0 for no limit. */
  rateLimitPerMinute: number;
  /** File path or http address of the market listings; null when they are not fetched. */
  marketSource: string | null;
  /** Cron pattern, in UTC, of when they are fetched. */
  marketSchedule: string;
  /** The most per cent that a price may move in one snapshot without the operator's consent. */
  marketMaxJumpPercent: number;
}

/** What every use case needs; created once by the composition root. */
export interface Deps {
  db: Database;
  /** The public data, cached in memory. */
  inventory: Inventory;
  /** Owners of API keys, cached. */
  apiKeyCache: ApiKeyCache;
  /** Reads accounts and their live instances; concurrent loads share one statement. */
  accountLoader: AccountLoader;
  /** The open change streams. */
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
