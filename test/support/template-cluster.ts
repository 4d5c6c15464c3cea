import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rename, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { seedDatabase } from '../../prisma/seed/load.js';
import { createDeps } from '../../src/compose/deps.js';
import { openDatabase } from '../../src/database/database.js';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
import { applyMigrations } from '../../src/database/migrate.js';
import { PACKAGE_ROOT } from '../../src/std/package-root.js';
import { TestClock, testSettings } from './clock.js';
import { TEMPLATE_DATABASE } from './database.js';

/** Name that the gateway gives its database. */
const GATEWAY_DATABASE = 'gateway';

/** Test databases don't have to survive a crash of the machine and don't exist long enough to need a vacuum. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
};
const CACHE = join(PACKAGE_ROOT, 'node_modules/.cache/gpu-rental/test-clusters');
const KEPT = 3;
/** Sources that determine the template's content. */
const SOURCES = ['prisma/migrations', 'prisma/seed', 'src/database', 'src/domain', 'test/support/template-cluster.ts'];

/** Starts the tests' PostgreSQL in `dataDir` from a copy of the template cluster. */
export async function openTestServer(dataDir: string): Promise<EmbeddedPostgres> {
  await cp(await templateCluster(), dataDir, { recursive: true });
  const server = await openEmbeddedPostgres({ dataDir, database: GATEWAY_DATABASE, settings: SETTINGS });
  await run(urlOf(server, 'postgres'), `alter database ${GATEWAY_DATABASE} rename to ${TEMPLATE_DATABASE}`);
  return server;
}

/**
 * Returns the data folder of a stopped cluster with a seeded database, as the gateway's first start leaves it. It is
 * created once per version of the migrations, the seed and the domain, and kept in node_modules.
 */
export async function templateCluster(): Promise<string> {
  const folder = join(CACHE, sourceHash());
  if (!existsSync(folder)) {
    await mkdir(CACHE, { recursive: true });
    const attempt = await mkdtemp(join(CACHE, 'new-'));
    try {
      await fill(attempt);
      // Another run may have been faster, but its cluster is the same.
      await rename(attempt, folder).catch((error) => {
        if (!existsSync(folder)) throw error;
      });
    } finally {
      await rm(attempt, { recursive: true, force: true });
    }
    await removeOld();
  }
  await utimes(folder, new Date(), new Date());
  return folder;
}

async function fill(dataDir: string): Promise<void> {
  const server = await openEmbeddedPostgres({ dataDir, database: GATEWAY_DATABASE, settings: SETTINGS });
  try {
    await applyMigrations(server.url, join(PACKAGE_ROOT, 'prisma/migrations'));
    const db = openDatabase(server.url);
    await seedDatabase(createDeps(db, new TestClock(), testSettings()), 'demo');
    await db.close();
    await run(server.url, 'vacuum analyze');
  } finally {
    await server.release();
  }
}

function urlOf(server: EmbeddedPostgres, database: string): string {
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  return url.href;
}

async function run(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

function sourceHash(): string {
  const hash = createHash('sha256').update(process.arch);
  for (const source of SOURCES) for (const path of filesOf(join(PACKAGE_ROOT, source))) hash.update(readFileSync(path));
  return hash.digest('hex').slice(0, 16);
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  return names.map((name) => join(path, name)).filter((file) => statSync(file).isFile());
}

async function removeOld(): Promise<void> {
  const folders = readdirSync(CACHE).filter((name) => !name.startsWith('new-'));
  const newestFirst = folders
    .map((name) => ({ path: join(CACHE, name), usedMs: statSync(join(CACHE, name)).mtimeMs }))
    .sort((one, other) => other.usedMs - one.usedMs);
  for (const { path } of newestFirst.slice(KEPT)) await rm(path, { recursive: true, force: true });
}
