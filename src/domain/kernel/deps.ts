import type { Database } from '../../database/database.js';
import type { SealingKey } from './sealing.js';
import type { Settings } from './settings.js';
import type { Clock } from './time.js';

/** Dependencies that use cases of every area need. */
export interface KernelDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly settings: Readonly<Settings>;
  /**
   * Returns the keys that seal secrets. The first one seals new secrets, and the others only unseal existing ones.
   * Rejects if there are no keys.
   */
  readonly sealingKeys: () => Promise<readonly SealingKey[]>;
}
