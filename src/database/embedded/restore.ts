import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract } from 'tar-stream';
import { z } from 'zod';
import { MANIFEST } from './backup.js';
import {
  ATTEMPT_PREFIX,
  giveTo,
  isCluster,
  RESTORE_PREFIX,
  removeAbandonedAttempts,
  syncDirectory,
} from './cluster.js';
import { chooseLauncher, loadBinaries } from './launcher.js';

/** Thrown when a restore is refused before anything has changed. The message is a single line for the operator. */
export class RestoreRefused extends Error {}

/** Log file that a stopped server leaves next to its cluster. */
const SERVER_LOG = 'postgres.log';
/** Folder omitted from the manifest, because PostgreSQL checks WAL when reading it. */
const LOG_FOLDER = 'pg_wal/';
/** System errors caused by the backup file or by a name in it. */
const FILE_ERRORS: ReadonlySet<string> = new Set(['ENOENT', 'EISDIR', 'EACCES', 'EEXIST']);
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;

interface Found {
  size: number;
  sha256: string;
}

/**
 * Creates the cluster in `dataDir` from a backup. Checks every file against the backup's manifest and syncs it to disk
 * before a single rename puts the cluster in place, so no failure, not even SIGKILL, leaves a cluster behind. Throws
 * RestoreRefused if `dataDir` is not empty or the backup is incomplete.
 */
export async function restore(file: string, dataDirectory: string): Promise<void> {
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(dataDirectory);
  await removeAbandonedAttempts(dataDir);
  const cluster = join(dataDir, 'postgres');
  await refuseNonEmpty(dataDir);
  const attempt = await mkdtemp(join(dataDir, `${RESTORE_PREFIX}${process.pid}-`));
  try {
    const unpacked = join(attempt, 'cluster');
    await mkdir(unpacked, { mode: 0o700 });
    await unpack(file, unpacked);
    const launcher = await chooseLauncher(await loadBinaries(), dataDir);
    await giveTo(attempt, launcher.ownerUid);
    await rename(unpacked, cluster).catch((error: NodeJS.ErrnoException) => {
      throw isCluster(cluster)
        ? new RestoreRefused(`${dataDir} now contains a database created by another process`)
        : error;
    });
    await syncDirectory(dataDir);
  } finally {
    await rm(attempt, { recursive: true, force: true });
  }
}

async function refuseNonEmpty(dataDir: string): Promise<void> {
  const names = (await readdir(dataDir)).filter((name) => name !== SERVER_LOG && !name.startsWith(ATTEMPT_PREFIX));
  if (names.length > 0) throw new RestoreRefused(`DATA_DIR must be empty, but ${dataDir} contains ${names[0]}`);
}

async function unpack(file: string, directory: string): Promise<void> {
  const found = new Map<string, Found>();
  const folders = new Set([directory]);
  let manifest: Buffer | null = null;
  const entries = extract();
  const reading = pipeline(createReadStream(file), createGunzip(), entries);
  // If this fails, the loop below fails for the same reason, and its error is handled.
  reading.catch(() => {});
  try {
    for await (const entry of entries) {
      const { name, type, size = 0 } = entry.header;
      const path = join(directory, safe(name));
      if (type === 'directory') {
        await mkdir(path, { recursive: true, mode: 0o700 });
        folders.add(path);
        entry.resume();
      } else if (type !== 'file') throw new RestoreRefused(`it contains ${name}, which is neither a file nor a folder`);
      else if (name === MANIFEST) manifest = await text(entry as AsyncIterable<Buffer>, size);
      else found.set(name, await write(entry as AsyncIterable<Buffer>, path));
    }
    await reading;
  } catch (error) {
    if (error instanceof RestoreRefused) throw error;
    const { code = '', syscall, message } = error as NodeJS.ErrnoException;
    // Other system errors, such as a full disk, don't mean that the file is incomplete.
    if (syscall !== undefined && !FILE_ERRORS.has(code)) throw error;
    throw new RestoreRefused(`${file} is not a complete backup: ${message}`, { cause: error });
  }
  const fault = manifest === null ? 'it has no manifest' : differenceFrom(manifest, found);
  if (fault !== null) throw new RestoreRefused(`${file} is not a complete backup: ${fault}`);
  for (const folder of folders) await syncDirectory(folder);
}

/** Returns the name. Throws if it is absolute or escapes the folder it is unpacked to. */
function safe(name: string): string {
  if (name.startsWith('/') || name.split('/').includes('..') || name.includes('\0')) {
    throw new RestoreRefused(`it contains a path outside its folder: ${name}`);
  }
  return name;
}

async function write(entry: AsyncIterable<Buffer>, path: string): Promise<Found> {
  const hash = createHash('sha256');
  let size = 0;
  const measured = async function* (bytes: AsyncIterable<Buffer>) {
    for await (const chunk of bytes) {
      hash.update(chunk);
      size += chunk.length;
      yield chunk;
    }
  };
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await pipeline(entry, measured, createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true }));
  return { size, sha256: hash.digest('hex') };
}

async function text(entry: AsyncIterable<Buffer>, size: number): Promise<Buffer> {
  if (size > MAX_MANIFEST_BYTES) throw new RestoreRefused('its manifest is too large');
  const chunks: Buffer[] = [];
  for await (const chunk of entry) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const manifestShape = z.object({
  Files: z.array(z.object({ Path: z.string(), Size: z.number(), Checksum: z.string() })),
  'Manifest-Checksum': z.string(),
});

/**
 * Returns how the files differ from those in the manifest, or null if they match exactly. See PostgreSQL's "Backup
 * Manifest Format".
 */
function differenceFrom(manifest: Buffer, found: ReadonlyMap<string, Found>): string | null {
  const read = manifestShape.safeParse(parse(manifest.toString('utf8')));
  if (!read.success) return 'its manifest has no SHA-256 checksums';
  const { Files: files, 'Manifest-Checksum': own } = read.data;
  const checked = manifest.subarray(0, manifest.lastIndexOf('"Manifest-Checksum"'));
  if (createHash('sha256').update(checked).digest('hex') !== own) return 'its manifest was changed';
  const expected = new Set<string>();
  for (const { Path: path, Size: size, Checksum: checksum } of files) {
    expected.add(path);
    const file = found.get(path);
    if (file === undefined) return `${path} is missing`;
    if (file.size !== size || file.sha256 !== checksum) return `${path} was changed`;
  }
  for (const path of found.keys())
    if (!expected.has(path) && !path.startsWith(LOG_FOLDER)) return `${path} is not in its manifest`;
  return null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
