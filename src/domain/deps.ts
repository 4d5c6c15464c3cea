import type { Database } from '../database/database.js';
import { AccountLoader } from './accounts/account-loader.js';
import { ApiKeyCache } from './accounts/api-key-cache.js';
import { Inventory } from './inventory/inventory.js';
import type { Rate } from './rules/money.js';
import type { Clock } from './rules/time.js';
import { SubscriptionRegistry } from './updates/subscriptions.js';

/** What the operator decides, in the units of the rules. */
export interface Settings {
  /** Micro-USD per GB and hour of a disk deployed from now on. */
  diskRatePerGb: Rate;
  /** Seconds from the exhaustion of credit to the destruction of the account's instances. */
  graceSeconds: bigint;
  /** Seconds of every rate that a balance must cover before a deploy or start. */
  coverSeconds: bigint;
  /** Instances are reached at `<instance id>.<serviceDomain>`. */
  serviceDomain: string;
  /** Where the service is reached, without a slash at the end. */
  publicUrl: string;
  /** Requests in 60 s of an account without history; 0 for no limit. */
  rateLimitPerMinute: number;
  /** File path or http address that market listings are fetched from; null: from nowhere. */
  marketSource: string | null;
  /** Cron pattern in UTC of when they are. */
  marketSchedule: string;
  /** A price may move by so many per cent at once without being accepted by hand. */
  marketMaxJumpPercent: number;
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
