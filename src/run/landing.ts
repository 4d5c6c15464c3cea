import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { RunFailed } from './failure.js';
import { isLinkHere } from './paths.js';

/*
 * Moves unpacked results to their places. The instance decides what it sends, so links are not followed on either side,
 * and anything that could do harm here is omitted: device nodes, links that escape the results, and set-user-ID bits.
 */

/**
 * Whether folders can be addressed through their open handles, as on Linux. A link that replaces a folder in the
 * meantime then has no effect.
 */
const HAS_HANDLES = process.platform === 'linux' && existsSync('/proc/self/fd');
const IS_WINDOWS = process.platform === 'win32';
const PERMISSIONS = 0o777;
const OWNER_ENTERS = 0o700;
/** Maximum nesting depth of folders, because each entered folder keeps a handle open. */
const MAX_DEPTH = 256;

/** An open folder that is not a link. */
export class OpenFolder {
  readonly path: Buffer;
  readonly #fd: number | null = null;

  /** Throws for links and anything else that isn't a folder. */
  constructor(path: Buffer) {
    this.path = path;
    if (HAS_HANDLES) {
      this.#fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
      this.path = Buffer.from(`/proc/self/fd/${this.#fd}`);
    } else if (!lstatSync(path).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  }

  close(): void {
    if (this.#fd !== null) closeSync(this.#fd);
  }
}

/** Moves `from` under the draft to `to` under `into`, and returns the omitted entries. */
export function land(draft: OpenFolder, from: string, into: string, to: string): string[] {
  const omitted: string[] = [];
  const [source, target] = [from.split('/').map((part) => Buffer.from(part)), to.split('/')];
  const missing = new RunFailed(`${from} was not received as a file or folder`);
  const exists = (path: Buffer) => {
    if (!isFolder(path)) throw missing;
  };
  const make = (path: Buffer, stepsLeft: number) => {
    if (statsOf(path) === null) mkdirSync(path);
    if (!isFolder(path)) throw new RunFailed(whyNoFolder(path, target.slice(0, -1 - stepsLeft).join('/')));
  };
  descend(draft.path, source.slice(0, -1), exists, (folder) => {
    const name = source.at(-1)!;
    if (!clean(folder, name, 0, from, omitted)) throw missing;
    const names = target.map((part) => Buffer.from(part));
    within(Buffer.from(into), (root) =>
      descend(root, names.slice(0, -1), make, (place) =>
        move({ folder, name }, { folder: place, name: names.at(-1)! }, to),
      ),
    );
  });
  return omitted;
}

/** Gives the owner access to each folder, so that the whole tree can be removed. */
export function unlock(draft: OpenFolder): void {
  for (const name of readdirSync(draft.path, 'buffer')) clean(draft.path, name, 0, '', []);
}

interface Entry {
  folder: Buffer;
  name: Buffer;
}

function within(path: Buffer, use: (folder: Buffer) => void): void {
  const folder = new OpenFolder(path);
  try {
    use(folder.path);
  } finally {
    folder.close();
  }
}

/** Follows a path from the folder. Calls `enter` for each folder along the way, and `use` with the last one. */
function descend(
  folder: Buffer,
  [name, ...rest]: readonly Buffer[],
  enter: (path: Buffer, stepsLeft: number) => void,
  use: (folder: Buffer) => void,
): void {
  if (name === undefined) {
    use(folder);
    return;
  }
  const path = child(folder, name);
  enter(path, rest.length);
  within(path, (inner) => descend(inner, rest, enter, use));
}

function isFolder(path: Buffer): boolean {
  return statsOf(path)?.isDirectory() === true;
}

/** Makes a draft entry harmless, or removes it. Returns false if nothing of it remains. */
function clean(folder: Buffer, name: Buffer, depth: number, shown: string, omitted: string[]): boolean {
  const path = child(folder, name);
  const stats = statsOf(path);
  if (stats === null) return false;
  if (stats.isDirectory()) {
    if (depth >= MAX_DEPTH) throw new RunFailed(`results can have at most ${MAX_DEPTH} nested folders`);
    chmodSync(path, (stats.mode & PERMISSIONS) | OWNER_ENTERS);
    within(path, (inner) => {
      for (const each of readdirSync(inner, 'buffer')) clean(inner, each, depth + 1, `${shown}/${each}`, omitted);
    });
    return true;
  }
  if (stats.isFile()) {
    // Another hard link to the file may be outside, and its mode (and later its content) would change too.
    if (stats.nlink > 1) renameSync(copyOf(path, folder), path);
    if (stats.nlink > 1 || (stats.mode & ~PERMISSIONS & 0o7777) !== 0) chmodSync(path, stats.mode & PERMISSIONS);
    return true;
  }
  if (stats.isSymbolicLink() && staysWithin(readlinkSync(path), depth)) return true;
  rmSync(path);
  omitted.push(shown);
  return false;
}

/**
 * Whether a link's target is within the results, regardless of other links there. The target may go up only at its
 * beginning, and at most to the fetched folder. A `depth` of 0 is that folder itself.
 */
function staysWithin(target: string, depth: number): boolean {
  if (target.startsWith('/') || (IS_WINDOWS && /[:\\]/.test(target))) return false;
  const parts = target.split('/').filter((part) => part !== '.' && part !== '');
  const climbs = parts.findIndex((part) => part !== '..');
  if (climbs === -1) return parts.length < depth;
  return climbs < depth && !parts.slice(climbs).includes('..');
}

/** Moves an entry. Existing files that aren't part of it are kept. */
function move(from: Entry, to: Entry, shown: string): void {
  const [source, target] = [child(from.folder, from.name), child(to.folder, to.name)];
  const isSourceFolder = isFolder(source);
  const existing = statsOf(target);
  if (existing !== null && isSourceFolder !== existing.isDirectory()) {
    const why = isSourceFolder ? whyNoFolder(target, shown) : `${shown} is a folder here, and a file on the instance`;
    throw new RunFailed(why);
  }
  if ((existing === null || !isSourceFolder) && moveWhole(from, to)) return;
  within(source, (inner) =>
    within(target, (place) => {
      for (const name of readdirSync(inner, 'buffer')) {
        move({ folder: inner, name }, { folder: place, name }, `${shown}/${name}`);
      }
    }),
  );
}

/**
 * Moves an entry as a whole. Returns false for a folder that must move to another file system. In that case, only the
 * folder itself was created.
 */
function moveWhole(from: Entry, to: Entry): boolean {
  const [source, target] = [child(from.folder, from.name), child(to.folder, to.name)];
  try {
    renameSync(source, target);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
  }
  if (isFolder(source)) {
    mkdirSync(target);
    return false;
  }
  renameSync(copyOf(source, to.folder), target);
  return true;
}

/** Copies a file or a link under a new name in the same folder, and returns the copy's path. */
function copyOf(path: Buffer, folder: Buffer): Buffer {
  const copy = child(folder, Buffer.from(`.gpu-run-${randomUUID()}`));
  if (lstatSync(path).isSymbolicLink()) symlinkSync(readlinkSync(path, 'buffer'), copy);
  else copyFileSync(path, copy, constants.COPYFILE_EXCL);
  return copy;
}

function whyNoFolder(path: Buffer, shown: string): string {
  const isLink = statsOf(path)?.isSymbolicLink() === true;
  return isLink ? isLinkHere(shown) : `${shown} is a file here, and a folder on the instance`;
}

function child(folder: Buffer, name: Buffer): Buffer {
  return Buffer.concat([folder, Buffer.from('/'), name]);
}

function statsOf(path: Buffer) {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
