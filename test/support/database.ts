import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

/** The migrated database with the demo seed that `createTestDatabase` copies. */
export const TEMPLATE_DATABASE = 'gateway_template';
/** Pattern for the names of databases that test files create. None may remain at the end of a run. */
export const TEST_DATABASES = '^(test|empty)_';
const FROM_TEMPLATE = `template ${TEMPLATE_DATABASE} strategy file_copy`;

/** Databases of the test file that is running in this process. */
const made: string[] = [];

/** Creates a seeded database and returns its address. The database is dropped when the test file ends. */
export function createTestDatabase(): Promise<string> {
  return create(namedForFile('test'), FROM_TEMPLATE);
}

/** Creates an empty database and returns its address. The database is dropped when the test file ends. */
export function createEmptyDatabase(): Promise<string> {
  return create(namedForFile('empty'), 'template template0 strategy file_copy');
}

/**
 * Creates a seeded database for all test files of this worker and returns its address. The database is removed together
 * with the test server.
 */
export function createSharedDatabase(): Promise<string> {
  return create(nameFor('shared'), FROM_TEMPLATE);
}

/** Drops the test file's databases and ends sessions that its programs left open. */
export async function dropTestDatabases(): Promise<void> {
  if (made.length === 0) return;
  await onServer(async (client) => {
    for (const name of made.splice(0)) await client.query(`drop database if exists ${name} with (force)`);
  });
}

function nameFor(prefix: string): string {
  return `${prefix}_${randomBytes(6).toString('hex')}`;
}

/** Returns a name that `dropTestDatabases` will drop. */
function namedForFile(prefix: string): string {
  const name = nameFor(prefix);
  made.push(name);
  return name;
}

async function create(name: string, source: string): Promise<string> {
  await onServer(async (client) => {
    // PostgreSQL refuses concurrent copies of a template, so they take turns.
    await client.query('select pg_advisory_lock(1)');
    await client.query(`create database ${name} ${source}`);
  });
  const url = new URL(inject('serverUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: inject('serverUrl') });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
