import { randomBytes } from 'node:crypto';
import type { Dirent } from 'node:fs';
import { type FileHandle, link, mkdir, open, opendir, readdir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  type ByteRange,
  type ListedObject,
  type ObjectKind,
  type ObjectName,
  type Received,
  StoreFault,
  VOLUME_ID,
  type VolumeStore,
} from '../domain/volumes/store.js';

const OWNER_ONLY = 0o600;
const FOLDER_OWNER_ONLY = 0o700;
/** Maximum number of bytes read from an object at a time. */
const READ_BYTES = 256 * 1_024;
const STATS_AT_ONCE = 32;
/** Folder for unfinished uploads, which restic ignores. */
const ARRIVING = 'arriving';
const FULL = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/**
 * Stores each volume in a folder with the layout of restic's own local repositories, so that `restic -r FOLDER/v-…` can
 * read it too.
 */
export class FolderStore implements VolumeStore {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async receive(volume: string, object: ObjectName, bytes: AsyncIterable<Buffer>): Promise<Received> {
    const arriving = join(this.#root, volume, ARRIVING, randomBytes(12).toString('hex'));
    const discard = () => rm(arriving, { force: true });
    try {
      await this.#make(join(this.#root, volume, ARRIVING));
      const file = await open(arriving, 'wx', OWNER_ONLY);
      try {
        await writeAll(file, bytes);
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (error) {
      await discard().catch(() => {});
      throw asFault(error);
    }
    return { publish: () => this.#publish(arriving, volume, object).catch(rethrow), discard };
  }

  async read(volume: string, object: ObjectName, range: ByteRange | null): Promise<Readable | null> {
    const file = await open(this.#path(volume, object)).catch(nullIfMissing);
    if (file === null) return null;
    const span = range === null ? {} : { start: range.from, end: range.to };
    return file.createReadStream({ highWaterMark: READ_BYTES, ...span });
  }

  async size(volume: string, object: ObjectName): Promise<number | null> {
    return (await stat(this.#path(volume, object)).catch(nullIfMissing))?.size ?? null;
  }

  async *list(volume: string, kind: ObjectKind): AsyncIterable<ListedObject> {
    const folder = join(this.#root, volume, kind);
    for await (const files of kind === 'data' ? foldersOf(folder) : [folder]) {
      const names = await readdir(files).catch(emptyIfMissing<string>);
      for (let from = 0; from < names.length; from += STATS_AT_ONCE) {
        const some = names.slice(from, from + STATS_AT_ONCE);
        const stats = await Promise.all(
          some.map(async (name) => ({ name, found: await stat(join(files, name)).catch(nullIfMissing) })),
        );
        for (const { name, found } of stats)
          if (found !== null) yield { name, size: found.size, modifiedAtMs: found.mtimeMs };
      }
    }
  }

  async delete(volume: string, object: ObjectName): Promise<number | null> {
    const path = this.#path(volume, object);
    const found = await stat(path).catch(nullIfMissing);
    if (found === null) return null;
    try {
      await unlink(path);
    } catch (error) {
      return nullIfMissing(error as NodeJS.ErrnoException);
    }
    await syncFolder(join(path, '..')).catch(rethrow);
    return found.size;
  }

  async erase(volume: string): Promise<void> {
    await rm(join(this.#root, volume), { recursive: true, force: true }).catch(rethrow);
  }

  async copy(from: string, to: string, kind: ObjectKind | 'config', only?: string): Promise<number> {
    if (kind === 'config') return this.#copyOne(from, to, { kind });
    if (only !== undefined) return this.#copyOne(from, to, { kind, name: only });
    let added = 0;
    for await (const { name } of this.list(from, kind)) added += await this.#copyOne(from, to, { kind, name });
    return added;
  }

  async removeAbandonedUploads(volume: string, beforeMs: number): Promise<void> {
    const folder = join(this.#root, volume, ARRIVING);
    for (const name of await readdir(folder).catch(emptyIfMissing<string>)) {
      const found = await stat(join(folder, name)).catch(nullIfMissing);
      if (found !== null && found.mtimeMs < beforeMs) await rm(join(folder, name), { force: true }).catch(rethrow);
    }
  }

  repository(volume: string): string {
    return join(this.#root, volume);
  }

  async *volumes(): AsyncIterable<string> {
    const folder = await opendir(this.#root).catch(nullIfMissing);
    if (folder === null) return;
    for await (const entry of folder) if (entry.isDirectory() && VOLUME_ID.test(entry.name)) yield entry.name;
  }

  close(): void {}

  #path(volume: string, object: ObjectName): string {
    if (object.kind === 'config') return join(this.#root, volume, 'config');
    const { kind, name } = object;
    return kind === 'data'
      ? join(this.#root, volume, kind, name.slice(0, 2), name)
      : join(this.#root, volume, kind, name);
  }

  async #publish(arriving: string, volume: string, object: ObjectName) {
    const path = this.#path(volume, object);
    const folder = join(path, '..');
    await this.#make(folder);
    try {
      await link(arriving, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const [there, here] = await Promise.all([stat(path), stat(arriving)]);
      if (there.size === here.size) return { outcome: 'kept' as const };
      await rename(arriving, path);
      await syncFolder(folder);
      return { outcome: 'replaced' as const, wasBytes: there.size };
    }
    await syncFolder(folder);
    return { outcome: 'created' as const };
  }

  /** Copies by creating a hard link. The bytes are stored only once, and freed along with the last link. */
  async #copyOne(from: string, to: string, object: ObjectName): Promise<number> {
    const path = this.#path(to, object);
    await this.#make(join(path, '..'));
    try {
      await link(this.#path(from, object), path);
    } catch (error) {
      // The object already exists, or was deleted after being listed.
      if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0;
      throw asFault(error);
    }
    await syncFolder(join(path, '..')).catch(rethrow);
    return 1;
  }

  /** Makes each new folder durable by syncing its parent. */
  async #make(folder: string): Promise<void> {
    const first = await mkdir(folder, { recursive: true, mode: FOLDER_OWNER_ONLY });
    if (first === undefined) return;
    for (let made = folder; made.length >= first.length; made = join(made, '..')) await syncFolder(join(made, '..'));
  }
}

async function writeAll(file: FileHandle, bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const piece of bytes) {
    for (let done = 0; done < piece.length; ) done += (await file.write(piece, done)).bytesWritten;
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function* foldersOf(folder: string): AsyncIterable<string> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(emptyIfMissing<Dirent>);
  for (const entry of entries) if (entry.isDirectory()) yield join(folder, entry.name);
}

function emptyIfMissing<T>(error: NodeJS.ErrnoException): T[] {
  nullIfMissing(error);
  return [];
}

function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw asFault(error);
}

function rethrow(error: unknown): never {
  throw asFault(error);
}

/** Converts operating system errors to store faults. Returns other errors unchanged. */
function asFault(error: unknown): unknown {
  const { code, syscall, message } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined || code === 'ECONNRESET') return error;
  return new StoreFault(message, { isFull: FULL.includes(code), cause: error });
}
