import type { AccountsDeps } from '../accounts/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { Slots } from '../kernel/slots.js';
import type { Instant } from '../kernel/time.js';
import type { AttachmentLoader } from './attachment-loader.js';
import type { RunRestic } from './restic.js';
import type { VolumeStore } from './store.js';

export interface VolumeDeps extends AccountsDeps, KernelDeps {
  /** State of the host agents. `since` is the time at which this process began receiving their heartbeats. */
  readonly fleet: { readonly since: Instant };
  /** Storage for volume repositories. */
  readonly volumeStore: VolumeStore;
  /** Limits concurrent writes to the volume store that hold a transaction open. */
  readonly volumeWrites: Slots;
  /** Limits concurrent repository key derivations, which are slow. */
  readonly volumeKeys: Slots;
  /** Null if restic isn't installed. Volumes are then neither pruned nor checked. */
  readonly restic: RunRestic | null;
  /** Reads the volumes attached to instances, in batches. */
  readonly attachmentLoader: AttachmentLoader;
}
