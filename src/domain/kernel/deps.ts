import type { Database } from '../../database/database.js';
import type { SealingKeys } from './sealing.js';
import type { Settings } from './settings.js';
import type { Clock } from './time.js';

/** Dependencies needed by use cases in every area. */
export interface KernelDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Readonly<Settings>;
  /** Returns the keys that seal secrets. Rejects if there are no keys. */
  readonly sealingKeys: () => Promise<SealingKeys>;
}
