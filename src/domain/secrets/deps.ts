import type { ActivityNote } from '../kernel/activity-note.js';
import type { KernelDeps } from '../kernel/deps.js';

export interface SecretDeps extends KernelDeps {
  /** The activity entry of the requested change. Null if the change wasn't requested by an account. */
  readonly activity: ActivityNote | null;
}
