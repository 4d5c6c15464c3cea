import { createWriteStream } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Client, type ClientConfig, type Connection, type Submittable } from 'pg';
import { pack } from 'tar-stream';
import { isAlive, syncDirectory } from './cluster.js';

/** File where PostgreSQL lists a backup's files with their sizes and checksums. */
export const MANIFEST = 'backup_manifest';

/** Size of a tar archive's end marker. */
const TAR_END_BYTES = 1_024;
/** A fast level, with output 1.3 times as large as the best level's. */
const GZIP_LEVEL = 3;
/** Types of PostgreSQL's backup messages: the start of an archive, the start of the manifest, and data for either. */
const [ARCHIVE, MANIFEST_START, BYTES] = ['n', 'm', 'd'].map((letter) => letter.charCodeAt(0));

/** Uses the replication protocol, as pg_basebackup does, because backups require it. */
const REPLICATION = { replication: 'true' } as ClientConfig;
/**
 * Retains the WAL written in the meantime until the backup contains it. The slot is dropped along with the connection.
 */
const KEEP_WAL = 'CREATE_REPLICATION_SLOT backup_%s TEMPORARY PHYSICAL RESERVE_WAL';

export interface BackupOptions {
  /** Connects to the server as a role with the replication privilege. */
  url: string;
  /** Replaced only once the backup is complete. After any failure, including SIGKILL, the old file remains. */
  file: string;
  /** Maximum rate for reading data files, to spare a busy disk. Null means no limit. */
  kilobytesPerSecond?: number | null;
}

/**
 * Writes a backup of the running server to `file`. The backup is a gzipped tar archive of the data directory, as sent
 * by PostgreSQL's base backup, with the WAL needed for consistency and the manifest at its end. It contains everything
 * committed before the backup began. Returns its size in bytes.
 */
export async function backUp({ url, file, kilobytesPerSecond = null }: BackupOptions): Promise<number> {
  await removeLeftovers(file);
  const part = partOf(file, process.pid);
  const client = new Client({ connectionString: url, application_name: 'backup', ...REPLICATION });
  // A lost connection makes the backup fail anyway. Without this listener, it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(KEEP_WAL.replace('%s', String(process.pid)));
    const backup = new BaseBackup(kilobytesPerSecond);
    client.query<Submittable>(backup);
    const out = createWriteStream(part, { flags: 'w', mode: 0o600, flush: true });
    await pipeline(withManifest(backup), createGzip({ level: GZIP_LEVEL }), out);
    await rename(part, file);
    await syncDirectory(dirname(file));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
  return (await stat(file)).size;
}

function partOf(file: string, pid: number): string {
  return `${file}.part-${pid}`;
}

/** Removes partial files left behind by killed backups to the same path. */
async function removeLeftovers(file: string): Promise<void> {
  const prefix = `${basename(file)}.part-`;
  for (const name of await readdir(dirname(file))) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : 0;
    if (Number.isSafeInteger(pid) && pid > 0 && !isAlive(pid)) await rm(join(dirname(file), name));
  }
}

/**
 * Yields the archive with the manifest inserted as its last file. For this, it holds back the archive's end until the
 * manifest has arrived.
 */
async function* withManifest(backup: BaseBackup): AsyncGenerator<Buffer> {
  let held = Buffer.alloc(0);
  for await (const chunk of backup) {
    held = Buffer.concat([held, chunk as Buffer]);
    if (held.length <= TAR_END_BYTES) continue;
    yield held.subarray(0, -TAR_END_BYTES);
    held = Buffer.from(held.subarray(-TAR_END_BYTES));
  }
  if (held.length < TAR_END_BYTES || held.some((byte) => byte !== 0)) {
    throw new Error('the archive sent by PostgreSQL has no end');
  }
  const last = pack();
  last.entry({ name: MANIFEST, mode: 0o600 }, backup.manifest());
  last.finalize();
  for await (const chunk of last) yield chunk as Buffer;
}

/**
 * The bytes of a base backup, received no faster than they are read. See BASE_BACKUP in PostgreSQL's "Streaming
 * Replication Protocol".
 */
class BaseBackup extends Readable implements Submittable {
  readonly #text: string;
  readonly #manifest: Buffer[] = [];
  #archives = 0;
  #isManifest = false;
  #connection: Connection | null = null;

  constructor(kilobytesPerSecond: number | null) {
    super();
    const limit = kilobytesPerSecond === null ? '' : `, MAX_RATE ${kilobytesPerSecond}`;
    this.#text = `BASE_BACKUP (LABEL 'gateway', CHECKPOINT 'fast', WAL true, MANIFEST 'yes', MANIFEST_CHECKSUMS 'SHA256'${limit})`;
  }

  manifest(): Buffer {
    return Buffer.concat(this.#manifest);
  }

  override _read(): void {
    this.#connection?.stream.resume();
  }

  // node-postgres calls these methods on queries.
  submit(connection: Connection): void {
    this.#connection = connection;
    connection.query(this.#text);
  }
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyInResponse(): void {}

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    const [kind] = chunk;
    if (kind === ARCHIVE) {
      this.#archives += 1;
      if (this.#archives > 1) this.destroy(new Error("can't back up a database that has tablespaces"));
    } else if (kind === MANIFEST_START) this.#isManifest = true;
    else if (kind === BYTES) {
      // Copied, because node-postgres reuses the memory.
      const bytes = Buffer.from(chunk.subarray(1));
      if (this.#isManifest) this.#manifest.push(bytes);
      else if (!this.push(bytes)) this.#connection?.stream.pause();
    }
  }

  handleError(error: Error): void {
    this.destroy(error);
  }

  handleReadyForQuery(): void {
    this.push(null);
  }
}
