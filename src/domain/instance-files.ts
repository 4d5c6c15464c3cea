import type { Readable } from 'node:stream';
import type { Instant } from './rules/time.js';

/** Entries of one answer; a folder that has more is cut. */
export const MAX_ENTRIES = 5_000;

/** A path inside the container of an instance, and who asks for it. */
export interface FilePlace {
  opener: { accountId: string; keyId: string; session?: Buffer };
  instanceId: string;
  /** As the rules of file-path.ts take it. */
  path: Buffer;
}

/** `link` where it leads to nothing or to no folder and no plain file. */
export type FileKind = 'file' | 'folder' | 'link' | 'other';

export interface FileEntry {
  /** Its bytes: a name need not be text, and may hold everything but a slash and a zero byte. */
  name: Buffer;
  /** Of a link: what it leads to. */
  kind: FileKind;
  isLink: boolean;
  /** In bytes; of a link that of the link itself. */
  size: bigint;
  modifiedAt: Instant;
}

export interface Folder {
  /** In no order. */
  entries: FileEntry[];
  /** False where there are more than were read. */
  isWhole: boolean;
}

export interface FileContent {
  /** Bytes that come; they end with an error if the file turns out to be shorter. */
  size: bigint;
  bytes: Readable;
}

export interface Upload {
  size: number;
  /** Whether a file that is there is replaced. */
  replaces: boolean;
  /** Of `size` bytes. */
  bytes: AsyncIterable<Buffer>;
}

/**
 * The files of running containers, with the rights of the container's own user. Everything refuses with not_found,
 * action_failed, rate_limited or unavailable, and ends when the signal is aborted.
 */
export interface InstanceFiles {
  list(folder: FilePlace, signal: AbortSignal): Promise<Folder>;
  read(file: FilePlace, signal: AbortSignal): Promise<FileContent>;
  /** The file is there as a whole or not at all: its bytes are gathered under another name. */
  write(file: FilePlace, upload: Upload, signal: AbortSignal): Promise<void>;
  makeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
  removeFile(file: FilePlace, signal: AbortSignal): Promise<void>;
  /** Only an empty one. */
  removeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
}
