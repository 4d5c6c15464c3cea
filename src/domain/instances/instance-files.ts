import type { Readable } from 'node:stream';
import type { Instant } from '../kernel/time.js';

/** Maximum number of entries in a response. Listings of larger folders are truncated. */
export const MAX_ENTRIES = 5_000;

/** A path inside an instance's container, and the requester who opens it. */
export interface FilePlace {
  opener: { accountId: string; keyId: string; session?: Buffer };
  instanceId: string;
  /** The path, already validated by the rules in file-path.ts. */
  path: Buffer;
}

/**
 * The kind of an entry. It is `link` only if the link's target is missing or is neither a folder nor a regular file.
 */
export type FileKind = 'file' | 'folder' | 'link' | 'other';

export interface FileEntry {
  /** The name in bytes, which may not be valid text. It can contain anything except slashes and zero bytes. */
  name: Buffer;
  /** For a link, the kind of its target. */
  kind: FileKind;
  isLink: boolean;
  /** Size in bytes. For a link, the size of the link itself. */
  size: bigint;
  modifiedAt: Instant;
}

export interface Folder {
  /** The entries, in no particular order. */
  entries: FileEntry[];
  /** Whether the folder was read completely. */
  isWhole: boolean;
}

export interface FileContent {
  /** Number of bytes that follow. Reading fails if the file turns out to be shorter. */
  size: bigint;
  bytes: Readable;
}

export interface Upload {
  size: number;
  /** Whether an existing file is replaced. */
  replaces: boolean;
  /** The content, which must have exactly `size` bytes. */
  bytes: AsyncIterable<Buffer>;
}

/**
 * The files of running containers, accessed with the permissions of the container's own user. Every method ends when
 * its signal is aborted, and may throw not_found, action_failed, rate_limited or unavailable.
 */
export interface InstanceFiles {
  list(folder: FilePlace, signal: AbortSignal): Promise<Folder>;
  read(file: FilePlace, signal: AbortSignal): Promise<FileContent>;
  /** Writes a file atomically, by first writing the content under another name. */
  write(file: FilePlace, upload: Upload, signal: AbortSignal): Promise<void>;
  makeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
  removeFile(file: FilePlace, signal: AbortSignal): Promise<void>;
  /** Removes an empty folder. */
  removeFolder(folder: FilePlace, signal: AbortSignal): Promise<void>;
}
