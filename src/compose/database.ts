import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { type Database, openDatabase } from '../database/database.js';
import { openEmbeddedPostgres } from '../database/embedded/embedded-postgres.js';
import { applyMigrations } from '../database/migrate.js';
import { type NotifyMode, PATIENT_ACQUIRE_TIMEOUT_MS } from '../database/pool.js';
import { reportIfSlow } from '../database/report-if-slow.js';
import { watchStatements } from '../database/watch-pool.js';
import { createOutageLog } from '../std/outage-log.js';
import { PACKAGE_ROOT } from '../std/package-root.js';
import { required } from '../std/required.js';
import type { Traces } from '../traces/traces.js';
import type { Config } from './config.js';

/** Thrown if the database can't be reached or migrated. The one-line message names the setting. */
export class DatabaseUnusable extends Error {}

/** Time limit for closing, because closing a connection doesn't end its query. */
const CLOSE_MS = 1_000;

export interface OpenDatabase {
  db: Database;
  close(): Promise<void>;
}

/** Opens the configured database, or the embedded one if DATABASE_URL is unset, and applies pending migrations. */
export async function openConfiguredDatabase(
  config: Config,
  log: Logger,
  notifyMode: NotifyMode,
  traces: Traces | null = null,
): Promise<OpenDatabase> {
  const embedded =
    config.databaseUrl === null
      ? await openEmbeddedPostgres({ dataDir: config.dataDir, onNote: (note) => log.info(note) })
      : null;
  const url = config.databaseUrl ?? required(embedded, 'database').url;
  const db = openDatabase(url, notifyMode, PATIENT_ACQUIRE_TIMEOUT_MS, config.databaseReplicaUrl);
  if (traces !== null) watchStatements(db.pool, traces.statements);
  if (db.replica !== null) {
    db.replica.onFallback = createOutageLog(log, "the replica can't serve reads; using the primary");
    if (traces !== null) watchStatements(db.replica.pool, traces.statements);
  }
  const close = async () => {
    await within(CLOSE_MS, db.close());
    await embedded?.release();
  };
  try {
    // The pool's connections time out if the host doesn't respond, but the migration connection doesn't.
    await db.pool.query('select 1');
    const applied = await reportIfSlow(
      (note) => log.info(note),
      'checking the database and applying pending migrations',
      () => applyMigrations(url, join(PACKAGE_ROOT, 'prisma/migrations')),
    );
    if (applied.length > 0) log.info({ migrations: applied }, 'applied database migrations');
    return { db, close };
  } catch (error) {
    await close();
    const setting = config.databaseUrl === null ? 'DATA_DIR' : 'DATABASE_URL';
    throw new DatabaseUnusable(`can't use the database at ${setting}: ${reasonOf(error)}`, { cause: error });
  }
}

/** Waits up to `ms` for work to end, because a query waiting for a lock must not keep the process from exiting. */
export function within(ms: number, work: Promise<void>): Promise<void> {
  return Promise.race([work, sleep(ms, undefined, { ref: false })]);
}

function reasonOf(error: unknown): string {
  // If a host name has several addresses, connecting fails with one error per address, wrapped in an error with no
  // message.
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  return errors.map((each) => (each instanceof Error ? each.message : String(each)).replace(/\s+/g, ' ')).join('; ');
}
