import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { applyMigrations } from '../../../src/database/migrate.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { createEmptyDatabase } from '../../support/database.js';
import { connect, query } from '../../support/process.js';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MIGRATIONS = join(PACKAGE_ROOT, 'prisma/migrations');
const RECORDS = '_prisma_migrations';

/** A release's expected responses, as written by `scripts/upgrade-fixture.mjs`. */
export interface Expected {
  /** The instant at which these responses were recorded. */
  at: string;
  running: { account: string; instance: string };
  keptAnswers: {
    account: string;
    method: string;
    path: string;
    body: unknown;
    idempotencyKey: string;
    answer: object;
  }[];
  /** Balances by account. */
  units: Record<string, string>;
  accounts: { id: string; name: string; key: string; status: number; balance?: object; instances?: Told[] }[];
}

interface Told {
  id: string;
  price_hr: number;
  created_at: string;
}

/** The releases whose data is kept. */
export const releases = readdirSync(FOLDER, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();

export function expectedOf(release: string): Expected {
  return JSON.parse(readFileSync(join(FOLDER, release, 'expected.json'), 'utf8'));
}

/**
 * Creates a database as the release left it, from its migrations, which never change after a release, and its rows.
 * Resolves to the address and the names of the migrations.
 */
export async function databaseOf(release: string): Promise<{ url: string; migrations: string[] }> {
  const text = gunzipSync(readFileSync(join(FOLDER, release, 'rows.gz'))).toString('utf8');
  const tables = text
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t') as [string, string]);
  const recorded: { migration_name: string; checksum: string }[] = JSON.parse(new Map(tables).get(RECORDS)!);
  const checksums = new Map(recorded.map(({ migration_name: name, checksum }) => [name, checksum]));
  const url = await createEmptyDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'));
  for (const name of checksums.keys()) cpSync(join(MIGRATIONS, name), join(folder, name), { recursive: true });
  const migrations = await applyMigrations(url, folder);
  rmSync(folder, { recursive: true });
  for (const { name, checksum } of await query(url, `select migration_name as name, checksum from ${RECORDS}`)) {
    if (checksums.get(name as string) !== checksum) throw new Error(`${release} had another migration ${name}`);
  }
  const client = await connect(url);
  // Foreign keys and notices are disabled, because the rows come from a database that has enforced them.
  await client.query('set session_replication_role = replica');
  for (const [table, rows] of tables.filter(([name]) => name !== RECORDS)) {
    // Some migrations insert rows.
    await client.query(`delete from "${table}"`);
    await client.query(`insert into "${table}" select * from jsonb_populate_recordset(null::"${table}", $1)`, [rows]);
  }
  // Sequences continue after the numbers in the rows.
  const { rows: numbered } = await client.query<{ table: string; column: string }>(
    `select table_name as "table", column_name as "column" from information_schema.columns
     where table_schema = 'public' and is_identity = 'YES'`,
  );
  for (const { table, column } of numbered)
    await client.query(
      `select setval(pg_get_serial_sequence('"${table}"', '${column}'), max("${column}")) from "${table}"`,
    );
  await client.end();
  return { url, migrations };
}
