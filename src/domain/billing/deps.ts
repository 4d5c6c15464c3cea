import type { ActivityNote } from '../kernel/activity-note.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { DomainEvents } from '../kernel/domain-events.js';
import type { Account } from '../kernel/lifecycle.js';
import type { AccountLoader } from './account-loader.js';

/** Dependencies needed by every write to the ledger. */
export interface LedgerDeps extends Pick<KernelDeps, 'db' | 'clock' | 'settings'> {
  /** Receives events from use cases. */
  readonly events: DomainEvents;
  /** The activity entry of the requested change. Null if the change wasn't requested by an account. */
  readonly activity: ActivityNote | null;
  /** Caches API keys with their owners, including the owners' spend. */
  readonly apiKeyCache: { updateAccount(account: Account): void; forgetAccount(id: string): void };
}

/** Dependencies needed by reads that first settle an account. */
export interface SettlingDeps extends LedgerDeps {
  /** Reads accounts and their live instances. Concurrent loads share one statement. */
  readonly accountLoader: AccountLoader;
}
