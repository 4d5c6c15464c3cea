import { mkdir, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileSystems } from '../file-systems.js';
import { type OpenVolume, Repository, VolumeFault } from './repository.js';
import { BACKUP_PATH, RESTORE_ROOT, type Restic, type ResticEnd } from './restic.js';
import type { VolumeRecord, VolumeRecords } from './volume-records.js';

const BYTES_PER_GB = 1_073_741_824;
const PROGRESS_EVERY_MS = 500;
/** restic's exit code for a backup that missed some files. */
const FILES_WERE_MISSED = 3;
const IS_FULL = /no space left on device/i;
/** HTTP statuses of refusals in restic's messages about its REST server. */
const IS_REFUSED = /\b(401|403|410)\b/;
const STORE_IS_FULL = /\b507\b/;
const IS_UNREACHABLE =
  /\b5\d\d\b|\b429\b|connection (refused|reset)|no such host|timeout|deadline exceeded|network is unreachable|broken pipe|EOF/i;
/** Matches messages about another restic process that is working on the repository. */
const IS_LOCKED = /already locked|unable to create lock/i;
/**
 * Matches errors that no later attempt can avoid. They are checked before temporary errors, because these messages may
 * contain any other text.
 */
const IS_UNREADABLE =
  /wrong password|no key found|(config|key)[^:]* (cannot|could not|can't) be (loaded|opened|read)|unable to open (config|repository)|ciphertext verification failed|invalid data returned|no (matching )?ID found|unsupported repository version|wrong data returned|tree .* not found/i;
const SNAPSHOT_PATH = /^(\/[^/\p{Cc}]+)+$/u;

export interface HostVolumesParts {
  files: FileSystems;
  records: VolumeRecords;
  /** Null if the host has no restic, so nothing can be restored or saved. */
  restic: Restic | null;
  /** Folder for restic's caches. */
  cacheDir: string;
  gatewayUrl: string;
}

/** A snapshot in the store. */
export interface Taken {
  snapshot: string;
  sizeBytes: number;
}

/** One volume on this host: its file system, its content, and its repository. Only one call may run at a time. */
export class HostVolume {
  constructor(
    readonly id: string,
    private readonly parts: HostVolumesParts,
  ) {}

  record(): Promise<VolumeRecord | null> {
    return this.parts.records.read(this.id);
  }

  get path(): string {
    return this.parts.files.target(this.id);
  }

  /**
   * Whether the volume needs no access to the store, because its file system exists under this lease with the right
   * content.
   */
  async isAtHand(instance: string, lease: number): Promise<boolean> {
    const record = await this.#usable();
    return record !== null && record.state !== 'unfinished' && record.lease === lease && record.instance === instance;
  }

  async mount(sizeGb: number): Promise<void> {
    try {
      await this.parts.files.mount(this.id, sizeGb * BYTES_PER_GB);
    } catch (error) {
      throw new VolumeFault('host', `its file system can't be created: ${(error as Error).message}`);
    }
  }

  /**
   * Fills the file system with the lease's initial content, and mounts it. Keeps files that are exactly that snapshot,
   * and files that this instance wrote after it, because the store has nothing newer.
   */
  async provide(
    instance: string,
    open: OpenVolume,
    sizeGb: number,
    watch: RestoreWatch,
    signal: AbortSignal,
  ): Promise<void> {
    const record = await this.#usable();
    const wanted = open.restore?.snapshot ?? null;
    const { lease } = open;
    if (record !== null && this.#holds(record, instance, open)) {
      const own = record.own && record.lease === lease;
      await this.mount(sizeGb);
      await this.parts.records.write(this.id, { ...record, instance, lease, own });
      return;
    }
    const isOver = record?.state === 'whole' && wanted !== null && this.parts.restic?.restoresOver === true;
    const sizeBytes = open.restore?.sizeBytes ?? null;
    const next = { instance, lease, snapshot: wanted, sizeBytes, own: false };
    await this.parts.records.write(this.id, { ...next, state: 'unfinished' });
    if (!isOver) await this.parts.files.erase(this.id);
    await this.mount(sizeGb);
    if (wanted !== null)
      await this.#restore(new Repository(this.parts.gatewayUrl, open), wanted, isOver, watch, signal);
    await this.parts.files.sync(this.id);
    await this.parts.records.write(this.id, { ...next, state: 'whole' });
  }

  /** Records that a container of this instance writes to the volume under a different lease than before. */
  async adopt(instance: string, lease: number): Promise<void> {
    const record = await this.record();
    if (record?.instance !== instance || record.state !== 'used' || record.lease === lease) return;
    await this.parts.records.write(this.id, { ...record, lease, own: false });
  }

  /** Records that a container is about to write to the volume. */
  async use(): Promise<void> {
    const record = await this.record();
    if (record !== null && record.state !== 'used')
      await this.parts.records.write(this.id, { ...record, state: 'used' });
  }

  /**
   * Resolves once the store has the current state of all files. `isLive` means that a container is writing, so files
   * may disappear before they are read. Rejects with a VolumeFault.
   */
  async snapshot(open: OpenVolume, isLive: boolean, signal: AbortSignal, onProblem: OnProblem): Promise<Taken> {
    // After a host reboot, the folder of an unmounted volume is empty, and that must not become the newest snapshot.
    if ((await this.#usable()) === null) throw new VolumeFault('failed', 'its files are no longer on this host');
    await this.parts.files.mount(this.id, 0);
    const repository = new Repository(this.parts.gatewayUrl, open);
    if (!(await repository.isMade())) await this.#done(repository, { args: ['init'], onProblem }, signal);
    const args = ['backup', '--host', 'volume', '--json', BACKUP_PATH];
    const goodEnds = isLive ? [0, FILES_WERE_MISSED] : [0];
    const { stdout } = await this.#done(repository, { args, onProblem, goodEnds }, signal);
    const summary = readSummary(stdout);
    const snapshot = await repository.snapshotId(summary.snapshot_id);
    const taken = { snapshot, sizeBytes: summary.total_bytes_processed };
    const record = await this.record();
    if (record !== null) await this.parts.records.write(this.id, { ...record, ...taken, lease: open.lease, own: true });
    return taken;
  }

  /**
   * Unmounts the volume, to which no process is writing any more. Its content is the snapshot that was just taken, if
   * there is one.
   */
  async close(taken: Taken | null): Promise<void> {
    await this.parts.files.unmount(this.id);
    const record = await this.record();
    if (taken === null || record === null) return;
    await this.parts.records.write(this.id, { ...record, ...taken, own: true, state: 'whole' });
  }

  async erase(): Promise<void> {
    await this.parts.files.erase(this.id);
    await rm(this.#cache, { recursive: true, force: true });
    await this.parts.records.erase(this.id);
  }

  get #cache(): string {
    return join(this.parts.cacheDir, this.id);
  }

  /** Returns the volume's record, or null if the volume's file doesn't exist. */
  async #usable(): Promise<VolumeRecord | null> {
    const record = await this.record();
    return record !== null && (await this.parts.files.names()).includes(this.id) ? record : null;
  }

  #holds(record: VolumeRecord, instance: string, { lease, restore }: OpenVolume): boolean {
    if (record.state === 'unfinished') return false;
    const isNewest = record.snapshot === (restore?.snapshot ?? null);
    if (record.state === 'whole') return isNewest;
    return record.instance === instance && (record.lease === lease || isNewest);
  }

  async #restore(
    repository: Repository,
    snapshot: string,
    isOver: boolean,
    { onBytes, onProblem }: RestoreWatch,
    signal: AbortSignal,
  ): Promise<void> {
    const { restic } = this.parts;
    const at = await this.#restoredAt(repository, snapshot, onProblem, signal);
    const options = [...(restic?.restoresSparse ? ['--sparse'] : []), ...(isOver ? ['--delete'] : [])];
    const args = ['restore', snapshot, '--target', RESTORE_ROOT, ...options];
    const watching = new AbortController();
    const watch = this.#watchBytes(onBytes, watching.signal);
    try {
      await this.#done(repository, { args, at, onProblem }, signal).catch(asUnreadable);
    } finally {
      watching.abort();
      await watch;
    }
  }

  /**
   * Returns where to restore to. If a snapshot has only one path, that path becomes the volume. If it has several,
   * their common root does.
   */
  async #restoredAt(
    repository: Repository,
    snapshot: string,
    onProblem: OnProblem,
    signal: AbortSignal,
  ): Promise<string> {
    const args = ['snapshots', '--json', snapshot];
    const { stdout } = await this.#done(repository, { args, onProblem }, signal).catch(asUnreadable);
    const paths = pathsOf(parse(stdout.join('')));
    if (paths === null) throw new VolumeFault('unreadable', `snapshot ${snapshot.slice(0, 8)} can't be read`);
    const [path = '', ...more] = paths;
    const isPlain = SNAPSHOT_PATH.test(path) && !path.split('/').some((part) => part === '.' || part === '..');
    return more.length === 0 && isPlain ? RESTORE_ROOT + path : RESTORE_ROOT;
  }

  /** Reports the bytes added to the file system, because older versions of restic don't report them. */
  async #watchBytes(onBytes: (bytes: number) => void, signal: AbortSignal): Promise<void> {
    const used = async () => {
      const { blocks, bfree, bsize } = await statfs(this.path);
      return (blocks - bfree) * bsize;
    };
    const before = await used();
    while (!signal.aborted) {
      onBytes(Math.max((await used()) - before, 0));
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, PROGRESS_EVERY_MS);
        signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }

  /**
   * Runs restic, and throws a VolumeFault unless it ends successfully. Reports store outages while restic itself
   * retries, and ends restic if the lease is lost.
   */
  async #done(repository: Repository, run: ResticRun, signal: AbortSignal): Promise<ResticEnd> {
    const { restic } = this.parts;
    if (restic === null) throw new VolumeFault('failed', 'this host no longer has restic');
    await mkdir(this.#cache, { recursive: true, mode: 0o700 });
    const { args, at = null, goodEnds = [0], onProblem = () => {} } = run;
    const place = at === null ? { at: BACKUP_PATH, access: 'ro' as const } : { at, access: 'rw' as const };
    const refused = new AbortController();
    const onLine = (line: string) => {
      onProblem(messageOf(line));
      if (!IS_REFUSED.test(line)) return;
      repository.isMade().catch((error) => error instanceof VolumeFault && error.kind === 'refused' && refused.abort());
    };
    const call = { args, credentials: repository.credentials, volume: this.path, cache: this.#cache, ...place };
    const end = await restic.run(call, AbortSignal.any([signal, refused.signal]), onLine);
    // The record must include a snapshot that is in the store, even if the run was cancelled at its end.
    if (goodEnds.includes(end.code ?? -1) && !refused.signal.aborted) return end;
    if (signal.aborted) throw new VolumeFault('failed', 'it was cancelled');
    throw await this.#classify(repository, end);
  }

  async #classify(repository: Repository, { stderr, code }: ResticEnd): Promise<VolumeFault> {
    try {
      await repository.isMade();
    } catch (error) {
      return error as VolumeFault;
    }
    const reason = messageOf(
      stderr.findLast((line) => /Fatal/.test(line)) ?? stderr.at(-1) ?? `restic exited with ${code}`,
    );
    const all = stderr.join('\n');
    if (IS_FULL.test(all)) return new VolumeFault('full', 'its files need more space than the volume has');
    if (STORE_IS_FULL.test(all))
      return new VolumeFault('unreachable', "its snapshots have reached the store's limit (507)");
    if (IS_UNREADABLE.test(all)) return new VolumeFault('failed', reason);
    return new VolumeFault(IS_LOCKED.test(all) || IS_UNREACHABLE.test(all) ? 'unreachable' : 'failed', reason);
  }
}

/** Receives the bytes added to the file system during a restore, and restic's messages while it retries. */
export interface RestoreWatch {
  onBytes(bytes: number): void;
  onProblem: OnProblem;
}

function asUnreadable(error: unknown): never {
  if (error instanceof VolumeFault && error.kind === 'failed') throw new VolumeFault('unreadable', error.message);
  throw error;
}

/** Returns the paths in restic's only snapshot, or null if there is none or a host wrote an invalid one. */
function pathsOf(read: unknown): string[] | null {
  const paths = Array.isArray(read) ? (read[0] as { paths?: unknown } | null | undefined)?.paths : null;
  return Array.isArray(paths) && paths.every((path) => typeof path === 'string') ? paths : null;
}

type OnProblem = (message: string) => void;

interface ResticRun {
  args: readonly string[];
  /** Path where restic sees the volume and may write to it. If omitted, restic only reads the volume. */
  at?: string;
  goodEnds?: readonly number[];
  onProblem?: OnProblem;
}

interface Summary {
  snapshot_id: string;
  total_bytes_processed: number;
}

function readSummary(lines: readonly string[]): Summary {
  for (const line of lines.toReversed()) {
    const read = parse(line) as (Partial<Summary> & { message_type?: string }) | null;
    if (read?.message_type === 'summary' && typeof read.snapshot_id === 'string') return read as Summary;
  }
  throw new VolumeFault('failed', 'restic reported no snapshot');
}

/** Extracts the message from a line, because restic writes some messages as JSON. */
function messageOf(line: string): string {
  const read = parse(line) as { message?: unknown; error?: { message?: unknown }; item?: unknown } | null;
  const message = read?.message ?? read?.error?.message;
  if (typeof message !== 'string') return line.replace(/^Fatal: /, '');
  return typeof read?.item === 'string' ? `${read.item}: ${message}` : message;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}
