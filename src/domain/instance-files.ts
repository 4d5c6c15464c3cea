import type { Readable } from 'node:stream';
import type { Instant } from './rules/time.js';

/** Maximum entries of one response; a larger folder is cut. */
export const MAX_ENTRIES = 5_000;

/** A path inside the container of an instance, and the opener. */
export interface FilePlace {
  opener: { accountId: string; keyId: string; session?: Buffer };
  instanceId: string;
  /** Path as checked by the rules of file-path.ts. */
  path: Buffer;
}

/** Kind of an entry; `link` if its target is missing or is neither a folder nor a plain file. */
export type FileKind = 'file' | 'folder' | 'link' | 'other';

export interface FileEntry {
  /** Bytes of the name, which don't have to be text: anything except a slash and a zero byte. */
  name: Buffer;
  /** For a link: the kind of its target. */
  kind: FileKind;
  isLink: boolean;
  /** Size in bytes; for a link that of the link itself. */
  size: bigint;
  modifiedAt: Instant;
}

export interface Folder {
  /** Unordered. */
  entries: FileEntry[];
  /** Whether all entries were read. */
  isWhole: boolean;
}

export interface FileContent {
  /** Bytes that follow; they end with an error if the file turns out to be shorter. */
  size: bigint;
  bytes: Readable;
}

export interface Upload {
  size: number;
  /** Whether to replace an existing file. */
  replaces: boolean;
  /** Exactly `size` bytes. */
  bytes: AsyncIterable<Buffer>;
}

/**
 * The files of running containers, with the rights of the container's own user. All methods refuse with not_found,
 * action_failed, rate_limited or unavailable, and end when the signal is aborted.
 */
export interface InstanceFiles {
  list(folder: FilePlace, signal: AbortSignal): Promise<Folder>;
  read(file: FilePlace, signal: AbortSignal): Promise<FileContent>;
  /** Writes a file atomically: its bytes are collected under another name. */
  write(file: FilePlace, upload: Upload, signal: AbortSignal): Promise<void>;
  makeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
  removeFile(file: FilePlace, signal: AbortSignal): Promise<void>;
  /** Removes a folder if it is empty. */
  removeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
}
