import { execFile } from 'node:child_process';
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { applyMigrations } from '../../../src/database/migrate.js';
import { createEmptyDatabase } from '../../support/database.js';

const script = fileURLToPath(new URL('../../../scripts/migration-diff.mjs', import.meta.url));
const realMigrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

let home: string;
let migrations = 0;
/** An empty database and an empty migrations folder, both new for each test. */
let url: string;
let directory: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'migrate-'));
});

afterAll(() => rmSync(home, { recursive: true, force: true }));

beforeEach(async () => {
  migrations += 1;
  url = await createEmptyDatabase();
  directory = join(home, `migrations-${migrations}`);
  mkdirSync(directory);
});

async function query<Row extends object>(address: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

function write(name: string, sql: string): void {
  mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, name, 'migration.sql'), sql);
}

/** Calls `work` with Prisma's own engine, connected to the database at `address`. */
async function withEngine<T>(
  address: string,
  work: (engine: Engine, migrationsList: unknown) => Promise<T>,
): Promise<T> {
  const { schemaEngine, listMigrations } = await import(script);
  const { engine, end } = await schemaEngine(address, [['schema.prisma', 'datasource db { provider = "postgresql" }']]);
  try {
    return await work(engine, await listMigrations(directory));
  } finally {
    await end();
  }
}

interface Engine {
  applyMigrations(input: object): Promise<{ appliedMigrationNames: string[] }>;
  diagnoseMigrationHistory(input: object): Promise<object>;
}

const filters = { externalTables: [], externalEnums: [] };

describe('applyMigrations', () => {
  it('applies new migrations once each, ordered by name', async () => {
    write('2_second', 'INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)');
    write('1_first', 'CREATE TABLE t (n int); INSERT INTO t VALUES (1);');
    writeFileSync(join(directory, 'migration_lock.toml'), 'provider = "postgresql"\n');
    expect(await applyMigrations(url, directory)).toEqual(['1_first', '2_second']);
    expect(await applyMigrations(url, directory)).toEqual([]);
    write('3_third', 'INSERT INTO t VALUES (4)');
    expect(await applyMigrations(url, directory)).toEqual(['3_third']);
    expect(await query(url, 'SELECT n FROM t ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  });

  it('applies each migration only once, even in concurrent starts', async () => {
    write('1_first', 'CREATE TABLE t (n int)');
    write('2_second', 'INSERT INTO t SELECT 1 FROM pg_sleep(0.1)');
    const runs = await Promise.all([1, 2, 3, 4].map(() => applyMigrations(url, directory)));
    expect(runs.map((run) => run.length).sort()).toEqual([0, 0, 0, 2]);
    expect(await query(url, 'SELECT n FROM t')).toEqual([{ n: 1 }]);
  });

  it('rolls back a failed migration and resumes once it is repaired', async () => {
    write('1_first', 'CREATE TABLE t (n int)');
    write('2_second', 'INSERT INTO t VALUES (1); INSERT INTO nowhere VALUES (1)');
    const message = 'migration 2_second failed: relation "nowhere" does not exist';
    await expect(applyMigrations(url, directory)).rejects.toThrow(message);
    expect(await query(url, 'SELECT n FROM t')).toEqual([]);
    write('2_second', 'INSERT INTO t VALUES (1)');
    expect(await applyMigrations(url, directory)).toEqual(['2_second']);
  });

  it('works in UTC regardless of the database’s time zone', async () => {
    await query(
      url,
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET timezone = %L', current_database(), 'Asia/Tokyo'); END $$`,
    );
    write(
      '1_first',
      `CREATE TABLE t AS SELECT timestamptz '2026-01-01 00:00' = timestamptz '2026-01-01 00:00Z' AS utc`,
    );
    await applyMigrations(url, directory);
    expect(await query(url, 'SELECT utc FROM t')).toEqual([{ utc: true }]);
  });
});

describe('a migration under traffic', () => {
  async function connect(): Promise<Client> {
    const client = new Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  }

  it('repeatedly yields to clients queued behind it and a long reader', async () => {
    write('1_first', 'CREATE TABLE t (n int)');
    await applyMigrations(url, directory);
    write('2_second', 'ALTER TABLE t ADD COLUMN m int');
    const [longReader, other] = [await connect(), await connect()];
    await longReader.query('BEGIN; SELECT FROM t');
    const migrating = applyMigrations(url, directory);
    const waiting = `SELECT FROM pg_stat_activity WHERE application_name = 'migrations' AND wait_event_type = 'Lock'
      AND datname = current_database()`;
    await expect.poll(async () => (await other.query(waiting)).rowCount, { timeout: 20_000 }).toBe(1);
    // These clients are served while the long query is still running.
    await other.query('SELECT FROM t');
    await longReader.query('COMMIT');
    expect(await migrating).toEqual(['2_second']);
  });

  it('builds an index concurrently, even in concurrent starts', async () => {
    write('1_first', 'CREATE TABLE t (n int); INSERT INTO t SELECT generate_series(1, 1000)');
    write('2_second', '-- On a big table.\nCREATE INDEX CONCURRENTLY "t_n" ON "t" ("n");\n');
    write('3_third', 'CREATE TABLE u (n int)');
    const runs = await Promise.all([1, 2, 3, 4].map(() => applyMigrations(url, directory)));
    expect(runs.map((run) => run.length).sort()).toEqual([0, 0, 0, 3]);
    expect(await query(url, VALID)).toEqual([{ valid: true }]);
    await withEngine(url, async (engine, migrationsList) =>
      expect(await engine.applyMigrations({ migrationsList, filters })).toEqual({ appliedMigrationNames: [] }),
    );
  });

  it('rebuilds an index whose creation was interrupted', async () => {
    write('1_first', 'CREATE TABLE t (n int); INSERT INTO t VALUES (1), (1)');
    write('2_second', 'CREATE UNIQUE INDEX CONCURRENTLY "t_n" ON "t" ("n")');
    await expect(applyMigrations(url, directory)).rejects.toThrow(
      /^migration 2_second failed: could not create unique/,
    );
    expect(await query(url, VALID)).toEqual([{ valid: false }]);
    await query(url, 'DELETE FROM t');
    expect(await applyMigrations(url, directory)).toEqual(['2_second']);
    expect(await query(url, VALID)).toEqual([{ valid: true }]);
    expect(await applyMigrations(url, directory)).toEqual([]);
    const records = `SELECT count(*)::int AS n FROM _prisma_migrations WHERE migration_name = '2_second'`;
    expect(await query(url, records)).toEqual([{ n: 1 }]);
  });

  it('waits as briefly for locks after a concurrent index build as before it', async () => {
    const limit = (table: string) => `CREATE TABLE ${table} AS SELECT current_setting('lock_timeout') AS lock`;
    write('1_first', `CREATE TABLE t (n int); ${limit('before')}`);
    write('2_second', 'CREATE INDEX CONCURRENTLY "t_n" ON "t" ("n")');
    write('3_third', limit('after'));
    await applyMigrations(url, directory);
    expect(await query(url, 'TABLE after')).toEqual(await query(url, 'TABLE before'));
    expect(await query(url, 'TABLE after')).toEqual([{ lock: '2s' }]);
  });

  const VALID = `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 't_n'::regclass`;
});

describe('applyMigrations refuses', () => {
  beforeEach(async () => {
    write('1_first', 'CREATE TABLE t (n int)');
    await applyMigrations(url, directory);
  });

  it('a database with a failed migration until that is resolved', async () => {
    write('2_second', 'INSERT INTO t VALUES (1)');
    await query(url, `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('x', 'y', '2_second')`);
    await expect(applyMigrations(url, directory)).rejects.toThrow(/^migration 2_second started here and failed; .*$/);
    await query(url, `UPDATE _prisma_migrations SET rolled_back_at = now() WHERE id = 'x'`);
    expect(await applyMigrations(url, directory)).toEqual(['2_second']);
  });

  it('a database newer than the folder, without changing anything', async () => {
    await query(url, `UPDATE _prisma_migrations SET migration_name = '9_later'`);
    const message =
      /^the database is newer than this version of the program: it has migration 9_later, which this version lacks$/;
    await expect(applyMigrations(url, directory)).rejects.toThrow(message);
    expect(await query(url, 'SELECT migration_name AS name FROM _prisma_migrations')).toEqual([{ name: '9_later' }]);
  });

  it('a migration changed after being applied', async () => {
    appendFileSync(join(directory, '1_first/migration.sql'), ' ');
    await expect(applyMigrations(url, directory)).rejects.toThrow(/^migration 1_first was changed after it had been/);
  });
});

describe("applyMigrations alongside Prisma's own engine", () => {
  const columns = `SELECT format('%s %s %s %s', attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = '_prisma_migrations'::regclass AND attnum > 0 ORDER BY attnum`;
  const constraints = `SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = '_prisma_migrations'::regclass ORDER BY conname`;
  const rows = `SELECT length(id) AS id, checksum, finished_at >= started_at AS ended, migration_name, logs, rolled_back_at,
    abs(extract(epoch FROM now() - started_at)) < 60 AS started, applied_steps_count FROM _prisma_migrations ORDER BY 4`;

  it('writes the same records, so the engine finds nothing to do', async () => {
    write('1_first', 'CREATE TABLE t (n int);\n-- ü\n');
    write('2_second', 'CREATE TABLE u (n int)');
    await applyMigrations(url, directory);
    const theirs = await createEmptyDatabase();
    await withEngine(theirs, (engine, migrationsList) => engine.applyMigrations({ migrationsList, filters }));
    for (const text of [columns, constraints, rows]) expect(await query(url, text)).toEqual(await query(theirs, text));

    await withEngine(url, async (engine, migrationsList) => {
      const input = { migrationsList, optInToShadowDatabase: false, filters };
      const inSync = { editedMigrationNames: [], failedMigrationNames: [], hasMigrationsTable: true, history: null };
      expect(await engine.diagnoseMigrationHistory(input)).toEqual(inSync);
      expect(await engine.applyMigrations({ migrationsList, filters })).toEqual({ appliedMigrationNames: [] });
    });
    expect(await applyMigrations(theirs, directory)).toEqual([]);
  });

  it('lets the engine apply further migrations and can apply more afterwards', async () => {
    write('1_first', 'CREATE TABLE t (n int)');
    await applyMigrations(url, directory);
    write('2_second', 'CREATE TABLE u (n int)');
    const applied = await withEngine(url, (engine, migrationsList) =>
      engine.applyMigrations({ migrationsList, filters }),
    );
    expect(applied).toEqual({ appliedMigrationNames: ['2_second'] });
    write('3_third', 'INSERT INTO u VALUES (1)');
    expect(await applyMigrations(url, directory)).toEqual(['3_third']);
  });
});

describe('the comparison of migrations with the schema', () => {
  const check = (folder: string) =>
    new Promise<{ code: number; output: string }>((resolve) => {
      const child = execFile(process.execPath, [script, '--check', folder], (_, stdout, stderr) =>
        resolve({ code: child.exitCode!, output: stdout + stderr }),
      );
    });

  it('reports real differences but ignores what Prisma can’t express', async () => {
    cpSync(realMigrations, directory, { recursive: true });
    write(
      '9_last',
      `ALTER TABLE region ADD CHECK (latitude <= 90);
       CREATE UNIQUE INDEX ON machine (region) WHERE demo;
       CREATE INDEX ON machine (lower(cpu));
       CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER refuse BEFORE DELETE ON region FOR EACH ROW EXECUTE FUNCTION refuse();
       ALTER TABLE region DROP COLUMN country;`,
    );
    const { code, output } = await check(directory);
    expect(code).toBe(1);
    const statements = output
      .split('missing SQL:\n\n')[1]!
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('--'));
    expect(statements).toEqual(['ALTER TABLE "region" ADD COLUMN     "country" TEXT NOT NULL;']);
  });
});
