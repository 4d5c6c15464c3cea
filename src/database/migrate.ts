import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';

/** The advisory lock of Prisma's own engine. */
const PRISMA_LOCK = 72707369;
/** The longest wait for another process that migrates, or for a table in use. */
const LOCK_LIMIT = '60s';

/** As Prisma's engine creates it. */
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
  /** SHA-256 of the SQL, in hex. */
  checksum: string;
}

interface AppliedMigration {
  name: string;
  checksum: string;
  finished: boolean;
}

/**
 * Applies the new migrations in `directory` (folders with a `migration.sql`, in the order of their names) and records
 * them as `prisma migrate deploy` does, which can continue from there. Concurrent runs are safe. Returns the names applied.
 * Each migration runs in one transaction with its record, so it must not contain statements that PostgreSQL refuses in a
 * transaction (CREATE INDEX CONCURRENTLY) or that end one (COMMIT).
 * Throws an Error with a one-line message when records and folder disagree or a migration fails.
 */
export async function applyMigrations(connectionString: string, directory: string): Promise<string[]> {
  const migrations = await readMigrations(directory);
  const client = new Client({ connectionString, application_name: 'migrations' });
  // A lost connection also fails the query in progress; without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(`SET TIME ZONE 'UTC'; SET statement_timeout = 0; SET lock_timeout = '${LOCK_LIMIT}'`);
    await lock(client);
    const applied = await readApplied(client);
    refuseDisagreement(migrations, applied);
    const done = new Set(applied.map(({ name }) => name));
    const fresh = migrations.filter(({ name }) => !done.has(name));
    for (const migration of fresh) await apply(client, migration);
    return fresh.map(({ name }) => name);
  } finally {
    // Ending the session also releases the lock.
    await client.end().catch(() => {});
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const read = async (name: string): Promise<Migration> => {
    const bytes = await readFile(join(directory, name, 'migration.sql'));
    return { name, sql: bytes.toString('utf8'), checksum: createHash('sha256').update(bytes).digest('hex') };
  };
  return Promise.all(names.sort().map(read));
}

async function lock(client: Client): Promise<void> {
  try {
    await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
  } catch (error) {
    if ((error as { code?: string }).code !== '55P03') throw error;
    throw new Error(`Another process has been migrating this database for ${LOCK_LIMIT}; try again when it is done.`);
  }
}

/** The recorded migrations that are not rolled back; creates the table if it is missing. */
async function readApplied(client: Client): Promise<AppliedMigration[]> {
  const found = await client.query<{ present: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS present`,
  );
  if (!found.rows[0]!.present) await client.query(CREATE_TABLE);
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
      throw new Error(`Migration ${name} started here and failed; resolve it with: prisma migrate resolve.`);
    if (expected === undefined) {
      throw new Error(
        `The database is newer than this version of the program: it has migration ${name}, which this version does not have.`,
      );
    }
    if (expected !== checksum) throw new Error(`Migration ${name} was changed after it had been applied here.`);
  }
}

async function apply(client: Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    const id = randomUUID();
    // clock_timestamp, because now() is the start of the transaction.
    const begin = `INSERT INTO _prisma_migrations (id, checksum, migration_name, started_at)
                   VALUES ($1, $2, $3, clock_timestamp())`;
    await client.query(begin, [id, checksum, name]);
    await client.query(sql);
    const end = `UPDATE _prisma_migrations SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = $1`;
    await client.query(end, [id]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw new Error(`Migration ${name} failed: ${(error as Error).message}`, { cause: error });
  }
}
