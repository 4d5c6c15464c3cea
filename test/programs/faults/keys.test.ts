import { afterAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../support/database.js';
import { client } from '../../support/gateway.js';
import { admin, adminJson } from '../../support/operator.js';
import { cleanUp, connect, startProcess } from '../../support/process.js';

afterAll(cleanUp);

/** Returns all rows of all tables as text. */
async function dump(url: string): Promise<string> {
  const database = await connect(url);
  const tables = await database.query(`select tablename from pg_tables where schemaname = 'public'`);
  const texts: string[] = [];
  for (const { tablename } of tables.rows) {
    const { rows } = await database.query(
      `select coalesce(string_agg(t::text, E'\\n'), '') as text from "${tablename}" t`,
    );
    texts.push(rows[0].text);
  }
  await database.end();
  return texts.join('\n');
}

test('an API key is never written to a log, an error or a table', async () => {
  const databaseUrl = await createTestDatabase();
  const env = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'trace', RATE_LIMIT_PER_MINUTE: '5' };
  const gateway = await startProcess(env);
  const account = await adminJson(['account', 'create', '--name', 'Keys', '--credit', '10'], env);
  const { api_key: key, id } = await adminJson(['key', 'create', '--account', account.id], env);
  const renter = client(gateway.address, key);
  const stray = 'gpu_live_0123456789012345678901234567890123456789';
  const answers = [
    await renter.rest('GET', '/balance'),
    await renter.rest('POST', '/instances', `{"machine_id": "${key}"}`, { 'idempotency-key': 'k' }),
    await renter.rest('POST', '/instances', '{"broken": '),
    await renter.graphql('{ apiKeys { id prefix lastFour } nonsense }'),
    await renter.graphql('mutation { createApiKey { apiKey { id } secret } }'),
    await client(gateway.address, stray).rest('GET', '/balance'),
    ...(await Promise.all(Array.from({ length: 8 }, () => renter.rest('GET', '/instances')))),
  ];
  const made = answers[4]!.body.data.createApiKey.secret;
  expect(answers.map(({ status }) => status)).toContain(429);
  const told = JSON.stringify(answers.filter((_, index) => index !== 1 && index !== 4).map(({ body }) => body));
  const listed = await admin(['key', 'list', '--account', account.id], env);
  const revoked = await admin(['key', 'revoke', id], env);
  const tables = await dump(databaseUrl);
  await gateway.end();
  const places = { told, tables, log: gateway.stderr(), listed: listed.stdout, revoked: revoked.stdout };
  for (const [place, text] of Object.entries(places)) {
    for (const secret of [key, made, stray]) {
      // Neither the whole secret nor half of it may appear, since the rest could then be guessed.
      expect(text.includes(secret.slice(9)), `${place} holds a key`).toBe(false);
      expect(text.includes(secret.slice(9, 29)), `${place} holds half a key`).toBe(false);
    }
  }
  // The last four characters are in a table, which proves that the search works.
  expect(places.tables).toContain(key.slice(-4));
  expect(places.log).toContain('"route":"/v1/balance"');
});
