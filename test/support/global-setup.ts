import { rm } from 'node:fs/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { removeEmptyGroups } from './cpu.js';
import { TEST_DATABASES } from './database.js';
import { removeWithProcesses } from './hosts/leftovers.js';
import { openRunFolder, scratchFolder } from './scratch.js';
import { openTestServer } from './template-cluster.js';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the tests' PostgreSQL, with a database from which others can be created. */
    serverUrl: string;
    /** The folder of the run's container engines and registries. */
    enginesFolder: string;
  }
}

/**
 * Starts one PostgreSQL for the whole run. The teardown ends programs that workers left running, removes their folders,
 * and fails the run if a test file left a database behind.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  removeEmptyGroups();
  const dataDir = scratchFolder('gateway-test-');
  const server = await openTestServer(dataDir);
  const url = new URL(server.url);
  url.pathname = '/postgres';
  project.provide('serverUrl', url.href);
  const engines = scratchFolder('engines-');
  project.provide('enginesFolder', engines);
  const run = openRunFolder();
  return async () => {
    await removeWithProcesses(engines);
    await removeWithProcesses(run);
    const left = await databasesLeft(url.href).finally(async () => {
      await server.release();
      await rm(dataDir, { recursive: true, force: true });
      removeEmptyGroups();
    });
    if (left.length > 0) throw new Error(`test databases were not dropped: ${left.join(', ')}`);
  };
}

async function databasesLeft(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const text = 'select datname from pg_database where datname ~ $1';
  const { rows } = await client.query<{ datname: string }>(text, [TEST_DATABASES]).finally(() => client.end());
  return rows.map(({ datname }) => datname);
}
