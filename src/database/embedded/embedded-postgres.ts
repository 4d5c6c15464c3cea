import { existsSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import {
  CLUSTER_USER,
  createCluster,
  findPostmaster,
  isCluster,
  isSameFile,
  type Postmaster,
  readPassword,
  refuseForeignCluster,
  removeAbandonedAttempts,
} from './cluster.js';
import { type Binaries, chooseLauncher, EmbeddedPostgresUnavailable, type Launcher, loadBinaries } from './launcher.js';
import { reasonNotToUse } from './move-marker.js';
import { freePort, type ServerStart, type Site, startServer, stopServer } from './server.js';

export { EmbeddedPostgresUnavailable } from './launcher.js';

/** Whether `dataDir` contains a database, running or not. */
export function holdsDatabase(dataDir: string): boolean {
  return isCluster(join(dataDir, 'postgres'));
}

export interface EmbeddedPostgres {
  /** Ends with the database's name and `?sslmode=disable`. Contains the password. */
  url: string;
  /** Stops the server if no other process is using it. Never rejects. Further calls have no effect. */
  release(): Promise<void>;
}

export interface EmbeddedPostgresOptions {
  /** Created if missing. Contains the cluster in `postgres` and the server log in `postgres.log`. */
  dataDir: string;
  /** Created if missing. Defaults to gateway. */
  database?: string;
  /** Receives one-line messages for the operator. */
  onNote?: (message: string) => void;
  /** Overrides for server settings. Used only if this call starts the server. */
  settings?: Readonly<Record<string, string>>;
  /** Opens the database even if it was moved to another server. */
  isMove?: boolean;
}

/**
 * Time limit for opening the database. Only a server replaying its WAL after a crash may take longer. A server is up
 * within 0.2 s on an idle machine, but takes many times as long with a fraction of a core.
 */
const OPEN_LIMIT_MS = 60_000;
const RECOVERY_LIMIT_MS = 600_000;
const QUERY_LIMIT_MS = 30_000;
/** Maximum time that a restarted server waits for its former port to become free. */
const PORT_WAIT_MS = 5_000;
const POLL_MS = 20;
const RETRY_MS = 100;
/** Pause between attempts to reconnect to a lost server that doesn't start. */
const REENTER_PAUSE_MS = 1_000;
/**
 * Advisory lock that every process using a server holds in shared mode. A process that acquires it exclusively may stop
 * the server.
 */
const LIFETIME_LOCK = '1735421303, 1';

/** A connection that holds the lifetime lock, and the server it is connected to. */
interface Session {
  client: Client;
  postmaster: Postmaster;
}

/**
 * Opens the PostgreSQL server for `dataDir`. Creates it on the first start, starts it if it isn't running, and
 * otherwise shares it with the processes already using it. If such a process is killed, the server keeps running and
 * the next process finds it. The connection keeps this process alive until `release`.
 *
 * All processes must be on one host: neither two machines nor two containers may share a `dataDir`. Throws
 * EmbeddedPostgresUnavailable after about one minute, or after ten minutes while the server replays its WAL.
 */
export async function openEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  try {
    const site = await prepareSite(options);
    return use(site, await enter(site, 0));
  } catch (error) {
    if (error instanceof EmbeddedPostgresUnavailable) throw error;
    throw new EmbeddedPostgresUnavailable((error as Error).message, { cause: error });
  }
}

/** Returns how many other processes use the client's server. */
export async function countOtherUsers(client: Client): Promise<number> {
  const [classId, objectId] = LIFETIME_LOCK.split(', ');
  const { rows } = await client.query<{ holders: number }>(
    `SELECT count(*)::int AS holders FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND (classid, objid, objsubid) = ($1::oid, $2::oid, 2)`,
    [classId, objectId],
  );
  return rows[0]!.holders - 1;
}

async function prepareSite(options: EmbeddedPostgresOptions): Promise<Site> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  const directory = join(dataDir, 'postgres');
  const note = options.onNote ?? (() => {});
  let chosen: Promise<{ binaries: Binaries; launcher: Launcher }> | undefined;
  const tools = () => {
    chosen ??= loadBinaries().then(async (binaries) => ({
      binaries,
      launcher: await chooseLauncher(binaries, dataDir),
    }));
    return chosen;
  };
  if (existsSync(directory)) await refuseForeignCluster(directory);
  // A failed cleanup must not prevent a start.
  await removeAbandonedAttempts(dataDir).catch(() => {});
  if (!isCluster(directory)) {
    const { binaries, launcher } = await tools();
    note(`creating a PostgreSQL cluster in ${directory}`);
    await createCluster(dataDir, binaries, launcher);
  }
  const password = await readPassword(directory);
  const { database = 'gateway', settings = {}, isMove = false } = options;
  return { dataDir, directory, database, settings, password, isMove, tools, note };
}

/** Throws if the database was moved to another server. A running process may notice that only when it reconnects. */
async function refuseMoved({ dataDir, isMove }: Site): Promise<void> {
  const reason = isMove ? null : await reasonNotToUse(dataDir);
  if (reason !== null) throw new EmbeddedPostgresUnavailable(reason);
}

/** Finds or starts the server, waiting for one that is stopping, until this process holds the lifetime lock. */
async function enter(site: Site, preferredPort: number): Promise<Session> {
  const startedAt = performance.now();
  let started: ServerStart | undefined;
  let obstacle = '';
  for (;;) {
    const elapsedMs = performance.now() - startedAt;
    let pauseMs = POLL_MS;
    const postmaster = await findPostmaster(site.directory);
    if (postmaster?.status === 'ready') {
      const answer = await takeLock(site, postmaster);
      if (typeof answer !== 'string') return await unlessMoved(site, answer);
      obstacle = answer;
    } else if (postmaster !== undefined) {
      obstacle = `its server, process ${postmaster.pid}, is still ${postmaster.status}`;
    } else if (started === undefined || started.hasEnded()) {
      if (started !== undefined) {
        obstacle = await started.temporaryFailure();
        pauseMs = RETRY_MS;
      }
      await refuseMoved(site);
      const port = (await freePort(preferredPort)) ?? (elapsedMs < PORT_WAIT_MS ? undefined : await freePort(0));
      if (port !== undefined) started = await startServer(site, port);
      else obstacle = `port ${preferredPort} is in use`;
    }
    const limitMs = postmaster?.status === 'starting' ? RECOVERY_LIMIT_MS : OPEN_LIMIT_MS;
    if (elapsedMs > limitMs) {
      throw new EmbeddedPostgresUnavailable(`timed out after ${limitMs / 1000} s: ${obstacle || 'no server started'}`);
    }
    await sleep(pauseMs);
  }
}

/**
 * Returns the session, or ends it and throws if the database was moved. The lock is held first. A move that finds no
 * other holder thus keeps later processes from using the database.
 */
async function unlessMoved(site: Site, session: Session): Promise<Session> {
  try {
    await refuseMoved(site);
    return session;
  } catch (error) {
    await leave(site, session);
    throw error;
  }
}

/** Resolves to the session, or to a one-line reason why the lock can't be taken. */
async function takeLock(site: Site, postmaster: Postmaster): Promise<Session | string> {
  const client = new Client({
    host: '127.0.0.1',
    port: postmaster.port,
    user: CLUSTER_USER,
    password: site.password,
    database: 'postgres',
    ssl: false,
    application_name: 'lifetime lock',
    connectionTimeoutMillis: QUERY_LIMIT_MS,
    query_timeout: QUERY_LIMIT_MS,
  });
  // Without a listener, a lost connection would end the process.
  client.on('error', () => {});
  let reason: string;
  try {
    await client.connect();
    const text = `SELECT pg_try_advisory_lock_shared(${LIFETIME_LOCK}) AS locked, current_setting('data_directory') AS directory`;
    const row = (await client.query<{ locked: boolean; directory: string }>(text)).rows[0]!;
    // The process that stops the server loses its lock as the server goes down, so check, while holding the lock, that
    // the server is still ready. PostgreSQL records that it is stopping before it ends the first session.
    const now = await findPostmaster(site.directory);
    if (!isSameFile(row.directory, site.directory)) reason = `port ${postmaster.port} belongs to ${row.directory}`;
    else if (!row.locked || now?.pid !== postmaster.pid || now.status !== 'ready') reason = 'it is being stopped';
    else {
      await ensureDatabase(client, site.database);
      return { client, postmaster };
    }
  } catch (error) {
    reason = (error as Error).message;
  }
  await client.end().catch(() => {});
  return reason;
}

async function ensureDatabase(client: Client, name: string): Promise<void> {
  const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
  if (found.rowCount !== 0) return;
  try {
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)} TEMPLATE template0`);
  } catch (error) {
    // Another process created the database in the meantime or, with the second code, at the same instant.
    if (!['42P04', '23505'].includes((error as { code?: string }).code ?? '')) throw error;
  }
}

/** Holds the lock until `release`, even across server restarts, and restarts a server that was killed. */
function use(site: Site, first: Session): EmbeddedPostgres {
  let session: Session | undefined = first;
  let repair = Promise.resolve();
  let released: Promise<void> | undefined;

  const watch = ({ client, postmaster }: Session) => {
    client.once('end', () => {
      if (released === undefined) repair = reenter(postmaster.port);
    });
  };
  const reenter = async (port: number) => {
    session = undefined;
    site.note('lost the connection to the built-in PostgreSQL; reconnecting');
    let lastNote = '';
    // Retries until `release`, because a full disk may have free space again later.
    while (released === undefined) {
      try {
        const again = await enter(site, port);
        session = again;
        watch(again);
        if (again.postmaster.port === port) return;
        site.note(
          `the built-in PostgreSQL moved from port ${port} to ${again.postmaster.port}; restart the gateway to use it`,
        );
        return;
      } catch (error) {
        const { message } = error as Error;
        if (message !== lastNote) site.note(message);
        lastNote = message;
        await sleep(REENTER_PAUSE_MS);
      }
    }
  };
  const release = async () => {
    await repair;
    if (session !== undefined) await leave(site, session);
  };

  watch(first);
  const database = encodeURIComponent(site.database);
  const server = `${CLUSTER_USER}:${site.password}@127.0.0.1:${first.postmaster.port}`;
  return {
    url: `postgresql://${server}/${database}?sslmode=disable`,
    release: () => {
      released ??= release();
      return released;
    },
  };
}

/**
 * Stops the server if this process is its last user. Each process releases its shared lock before requesting the
 * exclusive one, so if several leave concurrently, the last one gets it. While it is held, new processes wait until the
 * server has stopped and then start a new one.
 */
async function leave(site: Site, { client, postmaster }: Session): Promise<void> {
  try {
    await client.query(`SELECT pg_advisory_unlock_shared(${LIFETIME_LOCK})`);
    const answer = await client.query<{ exclusive: boolean }>(
      `SELECT pg_try_advisory_lock(${LIFETIME_LOCK}) AS exclusive`,
    );
    if (answer.rows[0]?.exclusive) await stopServer(site, postmaster.pid);
  } catch (error) {
    site.note(`the built-in PostgreSQL was gone before its release: ${(error as Error).message}`);
  } finally {
    await client.end().catch(() => {});
  }
}
