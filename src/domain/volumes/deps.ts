import type { AccountsDeps } from '../accounts/deps.js';
import type { KernelDeps } from '../kernel/deps.js';
import type { Slots } from '../kernel/slots.js';
import type { Instant } from '../kernel/time.js';
import type { AttachmentLoader } from './attachment-loader.js';
import type { RunRestic } from './restic.js';
import type { VolumeStore } from './store.js';

export interface VolumeDeps extends AccountsDeps, KernelDeps {
  /** The host agents; `since` is when this process began to receive their heartbeats. */
  readonly fleet: { readonly since: Instant };
  /** Storage for the volumes' repositories. */
  readonly volumeStore: VolumeStore;
  /** Limits concurrent writes to the volume store that hold a transaction open. */
  readonly volumeWrites: Slots;
  /** Limits concurrent derivations of repository keys, which are slow. */
  readonly volumeKeys: Slots;
  /** Null if restic isn't installed. Volumes are then neither pruned nor checked. */
  readonly restic: RunRestic | null;
  /** Reads the volumes of instances, in batches. */
  readonly attachmentLoader: AttachmentLoader;
}
