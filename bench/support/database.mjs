// A run's PostgreSQL, which is the project's embedded one with its own data. It is durable (fsync is on).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { openEmbeddedPostgres } from '../../dist/src/database/embedded/embedded-postgres.js';

/**
 * Opens the server. Databases in the folder `keptDir` are kept for the next run. Without it, the data is new and
 * removed after the run. `settings` override the server's.
 */
export async function openServer(keptDir, settings = {}) {
  const dataDir = keptDir ?? mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const server = await openEmbeddedPostgres({ dataDir, database: 'postgres', settings });
  const urlOf = (database) => server.url.replace('/postgres?', `/${database}?`);
  const run = (text) => withClient(server.url, (client) => client.query(text));
  return {
    urlOf,
    exists: async (database) =>
      (await rowsOf(server.url, 'select from pg_database where datname = $1', [database])).length > 0,
    create: (database) => run(`create database ${database}`),
    /** Fails while any client is connected to the original. */
    copy: (original, database) => run(`create database ${database} template ${original} strategy file_copy`),
    alter: (database, setting) => run(`alter database ${database} ${setting}`),
    log: () => readFileSync(join(dataDir, 'postgres.log'), 'utf8'),
    close: async () => {
      await server.release();
      if (keptDir === undefined) rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export async function withClient(url, work) {
  const client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC' });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function rowsOf(url, text, values = []) {
  return (await withClient(url, (client) => client.query(text, values))).rows;
}

/** Returns the server's process id. */
export async function postmasterOf(url) {
  const [{ folder }] = await rowsOf(url, `select current_setting('data_directory') as folder`);
  return Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
}
