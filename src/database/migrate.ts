import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { isUnfinishedMove } from './move/target.js';
import { only } from './only.js';

/** Advisory lock used by Prisma's own engine. */
const PRISMA_LOCK = 72707369;
/**
 * Maximum wait for another process that is migrating, and the polling interval. A migration can take minutes on a slow
 * machine.
 */
const LOCK_WAIT_MS = 600_000;
const LOCK_POLL_MS = 200;
/**
 * Maximum wait for a table in use. The table's other users queue behind the migration, so this must be shorter than
 * LOCK_TIMEOUT_MS, after which gateways give up. The migration then releases its locks and retries.
 */
const TABLE_LIMIT = '2s';
const TABLE_TRIES = 30;
const PAUSE_MS = 500;
/**
 * Maximum wait while building an index concurrently. The build waits for older transactions but doesn't block other
 * clients.
 */
const CONCURRENT_LIMIT = '10min';
/** SQLSTATE for a lock that could not be acquired in time. */
const NOT_LOCKED = '55P03';
/**
 * Matches a migration that consists of a single concurrent index creation, which PostgreSQL runs only outside a
 * transaction.
 */
const CONCURRENT_INDEX = /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+"(\w+)"[^;]*;?\s*$/i;
const COMMENTS = /--.*$/gm;

/** Creates the table just as Prisma's engine does. */
const CREATE_TABLE = `CREATE TABLE _prisma_migrations (
  id                  VARCHAR(36) PRIMARY KEY NOT NULL,
  checksum            VARCHAR(64) NOT NULL,
  finished_at         TIMESTAMPTZ,
  migration_name      VARCHAR(255) NOT NULL,
  logs                TEXT,
  rolled_back_at      TIMESTAMPTZ,
  started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
  applied_steps_count INTEGER NOT NULL DEFAULT 0
)`;

interface Migration {
  name: string;
  sql: string;
  /** The index that the migration creates concurrently. Null for any other migration. */
  concurrentIndex: string | null;
  /** SHA-256 of the SQL, in hex. */
  checksum: string;
}

interface AppliedMigration {
  name: string;
  checksum: string;
  finished: boolean;
}

/**
 * Applies the new migrations in `directory`, which are folders with a `migration.sql`, in name order. Records them as
 * `prisma migrate deploy` does, so that it can take over later. Concurrent runs are safe. Returns the names of the
 * applied migrations.
 *
 * Each migration runs in one transaction together with its record, so that a killed run leaves nothing behind. A
 * migration must not end that transaction with COMMIT. A CREATE INDEX CONCURRENTLY must be the only statement in its
 * migration, which is restarted if it is killed.
 *
 * Throws an Error with a one-line message if the records and the folder disagree, a migration fails, or another database
 * is being moved to this one. `isMove` means that this process is moving it.
 */
export async function applyMigrations(
  connectionString: string,
  directory: string,
  { isMove = false } = {},
): Promise<string[]> {
  const migrations = await readMigrations(directory);
  const client = new Client({ connectionString, application_name: 'migrations' });
  // A lost connection makes the query in progress fail anyway. Without this listener, it would also end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`SET TIME ZONE 'UTC'; SET statement_timeout = 0; SET lock_timeout = '${TABLE_LIMIT}'`);
    await acquireLock(client);
    if (!isMove && (await isUnfinishedMove(client))) throw new Error(UNFINISHED_MOVE);
    const applied = await readApplied(client);
    const restartable = new Set(migrations.filter((each) => each.concurrentIndex !== null).map(({ name }) => name));
    const kept = applied.filter(({ name, finished }) => finished || !restartable.has(name));
    refuseDisagreement(migrations, kept);
    const done = new Set(kept.map(({ name }) => name));
    const fresh = migrations.filter(({ name }) => !done.has(name));
    for (const migration of fresh) await applyWithRetries(client, migration);
    return fresh.map(({ name }) => name);
  } finally {
    // Ending the session also releases the lock.
    await client.end().catch(() => {});
  }
}

const UNFINISHED_MOVE = `another database is being moved to this one; finish it with: admin database move`;

/** Runs `work` while no process migrates the client's database. */
export async function withMigrationLock(client: Client, work: () => Promise<void>): Promise<void> {
  await acquireLock(client);
  try {
    await work();
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [PRISMA_LOCK]).catch(() => {});
  }
}

/** Returns the names of the migrations in the folder, in the order in which they are applied. */
export async function migrationNamesIn(directory: string): Promise<string[]> {
  return (await readMigrations(directory)).map(({ name }) => name);
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const read = async (name: string): Promise<Migration> => {
    const bytes = await readFile(join(directory, name, 'migration.sql'));
    const sql = bytes.toString('utf8');
    const concurrentIndex = CONCURRENT_INDEX.exec(sql.replace(COMMENTS, ''))?.[1] ?? null;
    return { name, sql, concurrentIndex, checksum: createHash('sha256').update(bytes).digest('hex') };
  };
  return Promise.all(names.sort().map(read));
}

/**
 * Acquires the migration lock by polling. A session waiting for it inside PostgreSQL would be an open transaction, and
 * CREATE INDEX CONCURRENTLY waits for those.
 */
async function acquireLock(client: Client): Promise<void> {
  for (let waitedMs = 0; waitedMs <= LOCK_WAIT_MS; waitedMs += LOCK_POLL_MS) {
    const attempt = await client.query<{ mine: boolean }>('SELECT pg_try_advisory_lock($1) AS mine', [PRISMA_LOCK]);
    if (only(attempt.rows).mine) return;
    await sleep(LOCK_POLL_MS);
  }
  const limit = `${LOCK_WAIT_MS / 1_000} s`;
  throw new Error(`another process has been migrating this database for ${limit}; retry when it is done`);
}

function isNotLocked(error: unknown): boolean {
  return (error as { code?: string }).code === NOT_LOCKED;
}

/** Returns the recorded migrations, excluding those that were rolled back. Creates the table if it is missing. */
async function readApplied(client: Client): Promise<AppliedMigration[]> {
  const found = await client.query<{ present: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS present`,
  );
  if (!only(found.rows).present) await client.query(CREATE_TABLE);
  const recorded = await client.query<AppliedMigration>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return recorded.rows;
}

function refuseDisagreement(migrations: Migration[], applied: AppliedMigration[]): void {
  const checksums = new Map(migrations.map(({ name, checksum }) => [name, checksum]));
  for (const { name, checksum, finished } of applied) {
    const expected = checksums.get(name);
    if (!finished)
      throw new Error(`migration ${name} started here and failed; resolve it with: prisma migrate resolve`);
    if (expected === undefined) {
      throw new Error(
        `the database is newer than this version of the program: it has migration ${name}, which this version lacks`,
      );
    }
    if (expected !== checksum) throw new Error(`migration ${name} was changed after it had been applied here`);
  }
}

async function applyWithRetries(client: Client, migration: Migration): Promise<void> {
  const once = migration.concurrentIndex === null ? apply : applyConcurrently;
  for (let tries = 1; ; tries += 1) {
    try {
      return await once(client, migration);
    } catch (error) {
      if (!isNotLocked(error) || tries === TABLE_TRIES) {
        throw new Error(`migration ${migration.name} failed: ${(error as Error).message}`, { cause: error });
      }
    }
    await sleep(PAUSE_MS);
  }
}

// Uses clock_timestamp, because now() is the transaction's start time.
const BEGIN_RECORD = `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at)
  VALUES ($1, $2, $3, clock_timestamp())`;
const END_RECORD = `UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`;

async function apply(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    const id = randomUUID();
    await client.query(BEGIN_RECORD, [id, checksum, name]);
    await client.query(sql);
    await client.query(END_RECORD, [id]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}

/** Removes the unfinished record of a killed run, which may also have left behind an unusable index. */
const DELETE_UNFINISHED = `DELETE FROM _prisma_migrations
  WHERE migration_name = $1 AND finished_at IS NULL AND rolled_back_at IS NULL`;

async function applyConcurrently(client: Client, migration: Migration): Promise<void> {
  const { name, sql, checksum, concurrentIndex } = migration;
  await client.query(`SET lock_timeout = '${CONCURRENT_LIMIT}'`);
  const { rowCount: unfinished } = await client.query(DELETE_UNFINISHED, [name]);
  if (unfinished !== null && unfinished > 0)
    await client.query(`DROP INDEX CONCURRENTLY IF EXISTS "${concurrentIndex}"`);
  const id = randomUUID();
  await client.query(BEGIN_RECORD, [id, checksum, name]);
  await client.query(sql);
  await client.query(END_RECORD, [id]);
  await client.query(`SET lock_timeout = '${TABLE_LIMIT}'`);
}
