import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export const TEMPLATE_DATABASE = 'gateway_template';

/** A seeded database of the caller's own; returns its address. It goes with the test run's server. */
export async function createTestDatabase(): Promise<string> {
  const serverUrl = inject('serverUrl');
  const name = `test_${randomBytes(6).toString('hex')}`;
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  // Two copies of one template at once are refused, so they take turns.
  await client.query('select pg_advisory_lock(1)');
  await client.query(`create database ${name} template ${TEMPLATE_DATABASE}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}
