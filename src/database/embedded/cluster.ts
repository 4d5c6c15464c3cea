import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { chown, lchown, link, mkdtemp, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Binaries, EmbeddedPostgresUnavailable, type Launcher, run } from './launcher.js';

/** The cluster's only role, a superuser. */
export const CLUSTER_USER = 'gateway';

/** Prefix of the folders, next to the cluster, where new clusters are created. */
export const ATTEMPT_PREFIX = 'postgres.new-';
/** Prefix of the folder where a backup is being restored. It is followed by the restoring process's id. */
export const RESTORE_PREFIX = `${ATTEMPT_PREFIX}restore-`;
/** initdb takes up to 2 s of CPU time, so this is enough even on a slow machine. */
const INITDB_LIMIT_MS = 300_000;
const ABANDONED_AFTER_MS = 10 * 60_000;
/**
 * A server writes its pid file within microseconds of creating it, so a file that is still empty after this time stays
 * empty.
 */
const UNFINISHED_PID_FILE_MS = 3_000;

export function isCluster(directory: string): boolean {
  return existsSync(join(directory, 'PG_VERSION'));
}

/**
 * Creates `<dataDir>/postgres` atomically: initdb works in a folder next to it, and a rename then puts the result,
 * including the password, in place. If two first starts run concurrently, the slower one finds the folder and uses it.
 */
export async function createCluster(dataDir: string, binaries: Binaries, launcher: Launcher): Promise<void> {
  const attempt = await mkdtemp(join(dataDir, ATTEMPT_PREFIX));
  const cluster = join(attempt, 'cluster');
  const passwordFile = join(attempt, 'password');
  try {
    await writeDurably(passwordFile, randomBytes(24).toString('hex'));
    await giveTo(attempt, launcher.ownerUid);
    const identity = ['-U', CLUSTER_USER, '--auth=scram-sha-256', `--pwfile=${passwordFile}`];
    const args = ['-D', cluster, ...identity, '--locale=C', '--encoding=UTF8', '--no-instructions'];
    const { failure } = await run(launcher, binaries.initdb, args, INITDB_LIMIT_MS);
    if (failure !== undefined) throw new EmbeddedPostgresUnavailable(`initdb failed: ${failure}`);
    await rename(passwordFile, join(cluster, 'password'));
    await syncDirectory(cluster);
    await rename(cluster, join(dataDir, 'postgres')).catch((error: NodeJS.ErrnoException) => {
      if (!isCluster(join(dataDir, 'postgres'))) throw error;
    });
    await syncDirectory(dataDir);
  } finally {
    await rm(attempt, { recursive: true, force: true });
  }
}

export async function readPassword(directory: string): Promise<string> {
  return (await readFile(join(directory, 'password'), 'utf8')).trim();
}

/**
 * Removes what killed restores and first starts have left behind. Only its age shows that a first start was abandoned,
 * because initdb keeps running when the process that started it is killed.
 */
export async function removeAbandonedAttempts(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(ATTEMPT_PREFIX)) continue;
    const path = join(dataDir, name);
    if (name.startsWith(RESTORE_PREFIX)) {
      if (!isAlive(Number.parseInt(name.slice(RESTORE_PREFIX.length), 10)))
        await rm(path, { recursive: true, force: true });
      continue;
    }
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now());
    if (age > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  await directory.sync().finally(() => directory.close());
}

/**
 * Throws EmbeddedPostgresUnavailable if the cluster belongs to another user, because PostgreSQL runs only as its
 * cluster's owner.
 */
export async function refuseForeignCluster(directory: string): Promise<void> {
  const owner = (await stat(directory)).uid;
  const user = process.geteuid?.() ?? owner;
  // A cluster created by root belongs to root, or to user 65534 if the server had to run as an unprivileged user.
  if (owner === user || (user === 0 && owner === 65534)) return;
  const reason = `${directory} belongs to user id ${owner}, but this is user id ${user}; start as its owner`;
  throw new EmbeddedPostgresUnavailable(reason);
}

/**
 * Makes `uid` the owner of the tree. Has no effect if it already is. The root of the tree comes last, so that an
 * interrupted run starts over.
 */
export async function giveTo(directory: string, uid: number): Promise<void> {
  if ((await stat(directory)).uid === uid) return;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    await lchown(join(entry.parentPath, entry.name), uid, uid);
  }
  await chown(directory, uid, uid);
}

/** A running server, as described by its cluster's postmaster.pid. */
export interface Postmaster {
  pid: number;
  port: number;
  /** 'ready' once the server accepts connections. Otherwise 'starting', 'stopping' or 'standby'. */
  status: string;
}

/**
 * Returns a cluster's running server, or undefined if there is none. Removes a killed server's pid file if it would
 * prevent PostgreSQL from starting, because PostgreSQL's own test, kill(pid, 0), also succeeds for a zombie or an
 * unrelated process that has since been assigned the same pid.
 */
export async function findPostmaster(directory: string): Promise<Postmaster | undefined> {
  const file = join(directory, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(ignoreMissing);
  if (text === undefined) return undefined;
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0) {
    const age = Date.now() - ((await stat(file).catch(ignoreMissing))?.mtimeMs ?? Date.now());
    if (age > UNFINISHED_PID_FILE_MS) await removeStalePidFile(file, text);
    return undefined;
  }
  const holder = holderOf(pid, directory);
  if (holder === 'other') await removeStalePidFile(file, text);
  if (holder !== 'server') return undefined;
  return { pid, port: Number(lines[3] ?? 0), status: lines[7]?.trim() || 'starting' };
}

/**
 * Returns what the pid belongs to: this cluster's server, no process ('none'), or a zombie or unrelated process
 * ('other').
 */
function holderOf(pid: number, directory: string): 'server' | 'none' | 'other' {
  if (process.platform !== 'linux') return isAlive(pid) ? 'server' : 'none';
  try {
    const state = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '')[0];
    if (state === 'Z' || state === 'X') return 'other';
    const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    return basename(argv[0] ?? '') === 'postgres' && worksIn(pid, argv, directory) ? 'server' : 'other';
  } catch {
    // The process is gone or, without /proc, unknown. PostgreSQL itself decides when it starts.
    return 'none';
  }
}

function worksIn(pid: number, argv: string[], directory: string): boolean {
  try {
    return isSameFile(`/proc/${pid}/cwd`, directory);
  } catch {
    // The process belongs to another user, so its working directory is not visible.
    return argv.includes(directory);
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [statSync(one), statSync(other)];
  return a.dev === b.dev && a.ino === b.ino;
}

/**
 * Removes the pid file, unless a server has replaced it since it was read. The file is first moved aside, then moved
 * back if it isn't the one that was read. In between, PostgreSQL's lock on shared memory still protects the cluster.
 */
async function removeStalePidFile(file: string, expected: string): Promise<void> {
  const aside = `${file}.stale-${randomBytes(6).toString('hex')}`;
  const moved = await rename(file, aside).then(() => true, ignoreMissing);
  if (!moved) return;
  if ((await readFile(aside, 'utf8')) !== expected) await link(aside, file).catch(() => {});
  await unlink(aside);
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
