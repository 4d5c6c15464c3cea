import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { seedDatabase } from '../../prisma/seed/load.js';
import { openDatabase } from '../../src/database/database.js';
import { openEmbeddedPostgres } from '../../src/database/embedded/embedded-postgres.js';
import { applyMigrations } from '../../src/database/migrate.js';
import { createDeps } from '../../src/domain/deps.js';
import { PACKAGE_ROOT } from '../../src/package-root.js';
import { TestClock, testSettings } from './clock.js';
import { TEMPLATE_DATABASE } from './database.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the tests' PostgreSQL, of a database that may be used to make others. */
    serverUrl: string;
  }
}

interface Server {
  url: string;
  close(): Promise<void>;
}

/** Each group of test files loads this module anew; what they share is here. */
const shared = globalThis as { testServer?: Promise<Server>; testServerUsers?: number };

/** One real PostgreSQL for the whole run, with a seeded template that every test file gets its own copy of. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.testServer ??= open();
  shared.testServerUsers = (shared.testServerUsers ?? 0) + 1;
  const server = await shared.testServer;
  project.provide('serverUrl', server.url);
  return async () => {
    shared.testServerUsers! -= 1;
    if (shared.testServerUsers === 0) await server.close();
  };
}

async function open(): Promise<Server> {
  const dataDir = await mkdtemp(join(tmpdir(), 'gateway-test-'));
  const server = await openEmbeddedPostgres({ dataDir, database: TEMPLATE_DATABASE });
  await applyMigrations(server.url, join(PACKAGE_ROOT, 'prisma/migrations'));
  const db = openDatabase(server.url);
  await seedDatabase(createDeps(db, new TestClock(), testSettings()), 'demo');
  await db.close();
  const url = new URL(server.url);
  url.pathname = '/postgres';
  return {
    url: url.href,
    close: async () => {
      await server.release();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
