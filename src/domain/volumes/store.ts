import type { Readable } from 'node:stream';

export { VOLUME_ID } from '../rules/volume.js';

/** The folders of a restic repository. */
export const OBJECT_KINDS = ['data', 'keys', 'locks', 'snapshots', 'index'] as const;
export type ObjectKind = (typeof OBJECT_KINDS)[number];

/** One object of a repository: its config, or one that is named by the SHA-256 of its bytes. */
export type ObjectName = { kind: ObjectKind; name: string } | { kind: 'config' };

export interface ListedObject {
  /** 64 hexadecimal digits. */
  name: string;
  /** Bytes. */
  size: number;
  /** By the clock of the store, in milliseconds since 1970. */
  modifiedAtMs: number;
}

/** An object whose bytes have all arrived, and which nobody can read yet. */
export interface Received {
  /**
   * Makes it the object of its name, durably, before it resolves: whole or not at all. `kept`: there is one of the same
   * size already, and that stays; `replaced`: there was one of another size, `wasBytes` long.
   */
  publish(): Promise<{ outcome: 'created' | 'kept' } | { outcome: 'replaced'; wasBytes: number }>;
  /** Leaves nothing of it, unless it was published. To be called in any case. */
  discard(): Promise<void>;
}

/** The first and the last byte, both included. */
export interface ByteRange {
  from: number;
  to: number;
}

/** Why the store could not do its part: no fault of the gateway, and trying again may help. */
export class StoreFault extends Error {
  /** It has no room left. */
  readonly isFull: boolean;

  constructor(message: string, { isFull = false, cause }: { isFull?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'StoreFault';
    this.isFull = isFull;
  }
}

/**
 * Where the repositories of volumes lie, in the layout of restic's own: an adapter for each kind of store (src/volumes).
 * Every method rejects with StoreFault where the store is away or full.
 */
export interface VolumeStore {
  /** Reads the bytes to their end, without more of them in memory than a part; rejects as they do. */
  receive(volume: string, object: ObjectName, bytes: AsyncIterable<Buffer>): Promise<Received>;
  /** Null without one. A range lies within the object. */
  read(volume: string, object: ObjectName, range: ByteRange | null): Promise<Readable | null>;
  /** Bytes; null without one. */
  size(volume: string, object: ObjectName): Promise<number | null>;
  /** In no order. */
  list(volume: string, kind: ObjectKind): AsyncIterable<ListedObject>;
  /** Null without one; else its bytes. */
  delete(volume: string, object: ObjectName): Promise<number | null>;
  /** Leaves nothing of a volume: no object, and nothing that was on its way. */
  erase(volume: string): Promise<void>;
  /** Adds the objects of this kind that `to` lacks, or the one of this name, as they are. Returns how many were added. */
  copy(from: string, to: string, kind: ObjectKind | 'config', only?: string): Promise<number>;
  /** Forgets what began to arrive before this time of the store and was never published: its gateway died. */
  forgetArriving(volume: string, beforeMs: number): Promise<void>;
  /** Where restic itself finds the repository, without the gateway. */
  repository(volume: string): string;
  /** Ids of the volumes that it has something of. */
  volumes(): AsyncIterable<string>;
  close(): void;
}

/** Of a process that has none: whoever asks it made a mistake. */
export const NO_STORE: VolumeStore = new Proxy({} as VolumeStore, {
  get: () => {
    throw new Error('nothing of volumes is stored in this process');
  },
});
