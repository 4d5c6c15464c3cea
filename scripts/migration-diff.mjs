// node scripts/migration-diff.mjs           prints the SQL that creates prisma/schema.prisma in an empty database
// node scripts/migration-diff.mjs --check   exits with 1 and prints the missing SQL if prisma/migrations (or the given
//                                           folder) doesn't produce that schema
// The comparison is made by Prisma's own engine. It ignores anything that its schema can't express (triggers, check
// constraints, the condition of a partial index), so the check neither requires nor rejects those.
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PrismaPg } from '@prisma/adapter-pg';
import { Pool } from 'pg';
import { register } from 'tsx/esm/api';

const require = createRequire(import.meta.url);
// The adapter's own dependency, so it is resolved from the adapter's location.
const adapterRequire = createRequire(require.resolve('@prisma/adapter-pg'));
const { ColumnTypeEnum, bindMigrationAwareSqlAdapterFactory } = adapterRequire('@prisma/driver-adapter-utils');

const schemaPath = fileURLToPath(new URL('../prisma/schema.prisma', import.meta.url));
const migrationsPath = fileURLToPath(new URL('../prisma/migrations', import.meta.url));
const noFilters = { externalTables: [], externalEnums: [] };

/** The engine's bindings, which can hold only one instance per process. */
let bindings;

async function loadEngine() {
  const loaded = await import('@prisma/schema-engine-wasm/schema_engine_bg');
  const path = join(dirname(require.resolve('@prisma/schema-engine-wasm')), 'schema_engine_bg.wasm');
  const { instance } = await WebAssembly.instantiate(await readFile(path), { './schema_engine_bg.js': loaded });
  loaded.__wbg_set_wasm(instance.exports);
  instance.exports.__wbindgen_start();
  globalThis.PRISMA_WASM_PANIC_REGISTRY ??= { set_message: (message) => console.error(message) };
  return loaded;
}

/**
 * Opens Prisma's schema engine on the database at `url`, to which it connects even for a diff from an empty schema. The
 * adapter doesn't support PostgreSQL's "char" type, which the engine reads from the system catalogue and expects as a
 * Character. Such columns therefore pass through the adapter as TIME, a type that never occurs in the catalogue.
 */
export async function schemaEngine(url, datamodels) {
  bindings ??= loadEngine();
  const { SchemaEngine } = await bindings;
  const pool = new Pool({ connectionString: url });
  const query = pool.query.bind(pool);
  pool.query = async (...args) => {
    const result = await query(...args);
    for (const field of result.fields) if (field.dataTypeID === 18) field.dataTypeID = 1083;
    return result;
  };
  const factory = new PrismaPg(pool);
  const connect = factory.connect.bind(factory);
  factory.connect = async () => {
    const adapter = await connect();
    const queryRaw = adapter.queryRaw.bind(adapter);
    adapter.queryRaw = async (params) => {
      const result = await queryRaw(params);
      const { Time, Character } = ColumnTypeEnum;
      return { ...result, columnTypes: result.columnTypes.map((type) => (type === Time ? Character : type)) };
    };
    return adapter;
  };
  const engine = await SchemaEngine.new({ datamodels }, () => {}, bindMigrationAwareSqlAdapterFactory(factory));
  return { engine, end: () => pool.end() };
}

/** Returns the migrations folder in the form that the engine expects. */
export async function listMigrations(directory) {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  const migrationDirectories = names.sort().map(async (name) => {
    const content = await readFile(join(directory, name, 'migration.sql'), 'utf8');
    return { path: name, migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: content } } };
  });
  return {
    baseDir: directory,
    lockfile: { path: './migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(migrationDirectories),
  };
}

/** Returns the SQL that transforms `from` into the schema, or undefined if they don't differ. */
async function difference(url, from, schema) {
  const { engine, end } = await schemaEngine(url, [['schema.prisma', schema]]);
  try {
    const files = [{ path: 'schema.prisma', content: schema }];
    const to = { tag: 'schemaDatamodel', files };
    const params = { from: { ...from, files, configDir: '.' }, to, script: true, exitCode: true, filters: noFilters };
    const result = await engine.diff(params);
    return result.exitCode === 0 ? undefined : result.stdout;
  } finally {
    await end();
  }
}

/** Calls `work` with the URL of an empty database, which is removed afterwards. */
async function withEmptyDatabase(work) {
  const { openEmbeddedPostgres } = await import('../src/database/embedded/embedded-postgres.ts');
  const dataDir = await mkdtemp(join(tmpdir(), 'migration-diff-'));
  try {
    const postgres = await openEmbeddedPostgres({ dataDir });
    try {
      return await work(postgres.url);
    } finally {
      await postgres.release();
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function check(url, schema, directory) {
  const { applyMigrations } = await import('../src/database/migrate.ts');
  await applyMigrations(url, directory);
  const missing = await difference(url, { tag: 'schemaDatasource' }, schema);
  if (missing === undefined) return;
  process.stderr.write(`${directory} does not produce prisma/schema.prisma; missing SQL:\n\n${missing}`);
  process.exitCode = 1;
}

async function main(args) {
  register();
  const schema = await readFile(schemaPath, 'utf8');
  const directory = args[1] ?? migrationsPath;
  if (args[0] === '--check') await withEmptyDatabase((url) => check(url, schema, directory));
  else process.stdout.write(await withEmptyDatabase((url) => difference(url, { tag: 'empty' }, schema)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2));
