import { spawn } from 'node:child_process';
import { closeSync, openSync, truncateSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostmaster, giveTo } from './cluster.js';
import { type Binaries, EmbeddedPostgresUnavailable, type Launcher, programEnvironment } from './launcher.js';

const STOP_LIMIT_MS = 20_000;
const POLL_MS = 20;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '200',
  shared_buffers: '128MB',
  fsync: 'on',
  synchronous_commit: 'on',
  // Statement errors are returned to the client. They must not fill the log, which is truncated only when the server
  // starts.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

/** A cluster and what is needed to run its server. */
export interface Site {
  dataDir: string;
  /** The cluster's directory. */
  directory: string;
  database: string;
  /** Overrides for `SETTINGS`. */
  settings: Readonly<Record<string, string>>;
  password: string;
  /** Whether the database may be used even if it was moved to another server. */
  isMove: boolean;
  /** Loads what is needed to start a server. A server that is already running doesn't need it. */
  tools(): Promise<{ binaries: Binaries; launcher: Launcher }>;
  note(message: string): void;
}

export interface ServerStart {
  hasEnded(): boolean;
  /** Returns why the server ended, if a retry can help. Otherwise throws EmbeddedPostgresUnavailable. */
  temporaryFailure(): Promise<string>;
}

/** Starts a server. Concurrent starts are harmless, because PostgreSQL allows only one server per cluster. */
export async function startServer(site: Site, port: number): Promise<ServerStart> {
  const { binaries, launcher } = await site.tools();
  await giveTo(site.directory, launcher.ownerUid);
  const settings = Object.entries({ ...SETTINGS, ...site.settings, port }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
  const [file, ...args] = [...launcher.prefix, binaries.postgres, '-D', site.directory, ...settings] as [string];
  const logFile = join(site.dataDir, 'postgres.log');
  const log = openSync(logFile, 'a', 0o600);
  truncateSync(logFile);
  // Detached into its own session, so that neither Ctrl-C nor the end of this process affects it.
  const child = spawn(file, args, { cwd: '/', env: programEnvironment(), detached: true, stdio: ['ignore', log, log] });
  closeSync(log);
  let spawnError: Error | undefined;
  child.once('error', (error) => {
    spawnError = error;
  });
  child.unref();
  return {
    hasEnded: () => spawnError !== undefined || child.exitCode !== null || child.signalCode !== null,
    temporaryFailure: async () => {
      // The server exited cleanly or on a signal, which means that it was stopped.
      if (spawnError === undefined && (child.exitCode === 0 || child.exitCode === null))
        return 'its server was stopped';
      const reason = spawnError?.message ?? lastErrors(await readFile(logFile, 'utf8'), child.pid!);
      // An empty reason means that another start has truncated the log. The next attempt will show the reason.
      if (reason === '' || TEMPORARY.test(reason)) return reason;
      throw new EmbeddedPostgresUnavailable(`its server did not start: ${reason}`);
    },
  };
}

/**
 * Returns the last errors logged by process `pid` or by its launcher. Another start may have written to the same log.
 */
function lastErrors(log: string, pid: number): string {
  const lines = log.split('\n').filter((line) => line.includes(`[${pid}] `) || !/ \[\d+\] /.test(line));
  const relevant = lines.filter((line) => /FATAL|DETAIL|LOG: {2}could not|error|^\w+: /.test(line));
  return relevant.map((line) => line.replace(/^.*? (FATAL|DETAIL|LOG): +/, '')).join(' ');
}

/**
 * Matches errors caused by another server on the cluster, by a killed server's remaining children, or by another
 * program that took the port.
 */
const TEMPORARY = /postmaster\.pid|shared memory block|could not bind|Address already in use|could not create any TCP/;

/** Resolves to `port` if it is free, otherwise undefined. Port 0 picks any free port. */
export function freePort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const { port: free } = server.address() as { port: number };
      server.close(() => resolve(free));
    });
  });
}

/** Stops the server. Resolves once it has stopped, or after 20 s with a message to the operator. */
export async function stopServer(site: Site, pid: number): Promise<void> {
  // Requests a fast shutdown, which ends all sessions and writes everything to disk.
  process.kill(pid, 'SIGINT');
  const startedAt = performance.now();
  while ((await findPostmaster(site.directory))?.pid === pid) {
    if (performance.now() - startedAt > STOP_LIMIT_MS) {
      site.note(
        `the built-in PostgreSQL, process ${pid}, has not stopped after ${STOP_LIMIT_MS / 1000} s; no longer waiting`,
      );
      return;
    }
    await sleep(POLL_MS);
  }
}
