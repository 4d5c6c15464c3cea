import type { Readable } from 'node:stream';

export { VOLUME_ID } from '../kernel/volume.js';

/** Folders of a restic repository. */
export const OBJECT_KINDS = ['data', 'keys', 'locks', 'snapshots', 'index'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** An object in a repository: either its config, or an object named after the SHA-256 hash of its bytes. */
export type ObjectName = { kind: ObjectKind; name: string } | { kind: 'config' };

export interface ListedObject {
  /** 64 hexadecimal digits. */
  name: string;
  /** Size in bytes. */
  size: number;
  /** Time on the store's clock, in milliseconds since 1970. */
  modifiedAtMs: number;
}

/** An object whose bytes have all arrived, but which isn't readable yet. */
export interface Received {
  /**
   * Makes the object available under its name, completely or not at all. The change is durable once this resolves.
   * `kept` means that an object of the same size already existed and was kept. `replaced` means that the object
   * replaced one of `wasBytes` bytes.
   */
  publish(): Promise<{ outcome: 'created' | 'kept' } | { outcome: 'replaced'; wasBytes: number }>;
  /** Removes the object unless it was published. Must always be called. */
  discard(): Promise<void>;
}

/** First and last bytes of the range, both inclusive. */
export interface ByteRange {
  from: number;
  to: number;
}

/** A failure of the store rather than the gateway. Retrying may help. */
export class StoreFault extends Error {
  /** Whether the store has no space left. */
  readonly isFull: boolean;

  constructor(message: string, { isFull = false, cause }: { isFull?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreFault';
    this.isFull = isFull;
  }
}

/**
 * Stores volume repositories in restic's own layout. Each kind of store has an adapter in src/volumes. Every method
 * rejects with StoreFault if the store is down or full.
 */
export interface VolumeStore {
  /** Reads all of the bytes, holding at most one part in memory. Rejects if reading them fails. */
  receive(volume: string, object: ObjectName, bytes: AsyncIterable<Buffer>): Promise<Received>;
  /** Returns a stream of the object, or null if it doesn't exist. The range must be within the object. */
  read(volume: string, object: ObjectName, range: ByteRange | null): Promise<Readable | null>;
  /** Returns the object's size in bytes, or null if it doesn't exist. */
  size(volume: string, object: ObjectName): Promise<number | null>;
  /** Lists objects in no particular order. */
  list(volume: string, kind: ObjectKind): AsyncIterable<ListedObject>;
  /** Deletes the object and returns its size in bytes, or null if it didn't exist. */
  delete(volume: string, object: ObjectName): Promise<number | null>;
  /** Removes a volume's objects and unfinished uploads. */
  erase(volume: string): Promise<void>;
  /**
   * Copies objects of this kind that `to` lacks, unchanged. With `only`, copies just the object with that name. Returns
   * how many were added.
   */
  copy(from: string, to: string, kind: ObjectKind | 'config', only?: string): Promise<number>;
  /**
   * Removes unpublished uploads that began before this time on the store's clock. A gateway that crashes leaves them
   * behind.
   */
  removeAbandonedUploads(volume: string, beforeMs: number): Promise<void>;
  /** Returns the location where restic can access the repository without the gateway. */
  repository(volume: string): string;
  /** Yields the ids of the volumes that have data in the store. */
  volumes(): AsyncIterable<string>;
  close(): void;
}

/** Placeholder for a process without a store. Throws if used. */
export const NO_STORE: VolumeStore = new Proxy({} as VolumeStore, {
  get: () => {
    throw new Error('this process has no volume store');
  },
});
