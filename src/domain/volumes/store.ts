import type { Readable } from 'node:stream';

export { VOLUME_ID } from '../rules/volume.js';

/** The folders of a restic repository. */
export const OBJECT_KINDS = ['data', 'keys', 'locks', 'snapshots', 'index'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** One object of a repository: its config, or one named by the SHA-256 of its bytes. */
export type ObjectName = { kind: ObjectKind; name: string } | { kind: 'config' };

export interface ListedObject {
  /** 64 hexadecimal digits. */
  name: string;
  /** Size in bytes. */
  size: number;
  /** Time on the store's clock, in milliseconds since 1970. */
  modifiedAtMs: number;
}

/** An object whose bytes have all arrived, but which can't be read yet. */
export interface Received {
  /**
   * Makes it the object of its name, durably and completely or not at all, before it resolves. `kept`: an object of the
   * same size existed and stays. `replaced`: it replaced an object of `wasBytes` bytes.
   */
  publish(): Promise<{ outcome: 'created' | 'kept' } | { outcome: 'replaced'; wasBytes: number }>;
  /** Removes it, unless it was published. Must be called in any case. */
  discard(): Promise<void>;
}

/** First and last byte, both inclusive. */
export interface ByteRange {
  from: number;
  to: number;
}

/** A failure of the store, not of the gateway; a retry may help. */
export class StoreFault extends Error {
  /** Whether it has no space left. */
  readonly isFull: boolean;

  constructor(message: string, { isFull = false, cause }: { isFull?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreFault';
    this.isFull = isFull;
  }
}

/**
 * Store for the repositories of volumes, in restic's own layout, with an adapter for each kind of store (src/volumes).
 * Every method rejects with StoreFault if the store is down or full.
 */
export interface VolumeStore {
  /** Reads all of the bytes, with at most one part in memory; rejects as they do. */
  receive(volume: string, object: ObjectName, bytes: AsyncIterable<Buffer>): Promise<Received>;
  /** Null if it doesn't exist. The range must be within the object. */
  read(volume: string, object: ObjectName, range: ByteRange | null): Promise<Readable | null>;
  /** Size in bytes; null if it doesn't exist. */
  size(volume: string, object: ObjectName): Promise<number | null>;
  /** Lists objects in no order. */
  list(volume: string, kind: ObjectKind): AsyncIterable<ListedObject>;
  /** Returns the deleted bytes; null if it didn't exist. */
  delete(volume: string, object: ObjectName): Promise<number | null>;
  /** Removes all objects and unfinished uploads of a volume. */
  erase(volume: string): Promise<void>;
  /** Copies the objects of this kind that `to` lacks, or the one of this name, unchanged. Returns the number added. */
  copy(from: string, to: string, kind: ObjectKind | 'config', only?: string): Promise<number>;
  /**
   * Removes uploads that began before this time on the store's clock and were not published, because their gateway
   * crashed.
   */
  removeAbandonedUploads(volume: string, beforeMs: number): Promise<void>;
  /** Returns the location at which restic finds the repository without the gateway. */
  repository(volume: string): string;
  /** Yields the ids of the volumes with data in the store. */
  volumes(): AsyncIterable<string>;
  close(): void;
}

/** Store of a process without one. It must not be used. */
export const NO_STORE: VolumeStore = new Proxy({} as VolumeStore, {
  get: () => {
    throw new Error('this process has no volume store');
  },
});
