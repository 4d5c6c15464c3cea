import { afterAll, beforeAll, expect, test } from 'vitest';
import { appendToLog } from '../../../src/domain/proof/log.js';
import { rotateSigningKey } from '../../../src/domain/proof/signing-keys.js';
import { withoutTimers } from '../../support/background.js';
import { gpu } from '../../support/cli/command.js';
import { type Answer, type Renter, startGateway, type TestGateway } from '../../support/gateway.js';

withoutTimers();
let gateway: TestGateway;
let renter: Renter;

beforeAll(async () => {
  gateway = await startGateway({ secretsKeys: ['5e'.repeat(32)] });
  renter = await gateway.renter();
  await appendToLog(gateway.deps);
});
afterAll(() => gateway.close());

async function get(path: string, key?: string): Promise<{ status: number; headers: Headers; body: Answer['body'] }> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const response = await fetch(gateway.address + path, { headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

async function query(document: string): Promise<unknown> {
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: document }),
  });
  return ((await response.json()) as { data: { document: unknown } }).data.document;
}

async function command(...args: string[]): Promise<unknown> {
  const { stdout } = await gpu(['proof', ...args], { GPU_BASE_URL: `${gateway.address}/v1`, GPU_API_KEY: renter.key });
  return JSON.parse(stdout);
}

test('keys, roots and consistency proofs are the same documents on all surfaces, without a key', async () => {
  const keys = (await get('/.well-known/gpu-rental/keys.json')).body;
  expect(keys).toMatchObject({ type: 'gpu-rental/keys/v1', keys: [{ algorithm: 'Ed25519' }] });
  expect(await query('{ document: signingKeys }')).toEqual(keys);
  expect(await command('keys')).toEqual(keys);

  const roots = (await get('/v1/log/roots')).body;
  expect(roots).toMatchObject({ type: 'gpu-rental/roots/v1', roots: [{ number: 1 }] });
  expect(await query('{ document: logRoots }')).toEqual(roots);
  expect(await command('roots')).toEqual(roots);
  expect((await get('/v1/log/roots?after=1')).body.roots).toEqual([]);

  const proof = (await get('/v1/log/consistency?first=1&second=1')).body;
  expect(proof).toEqual({ type: 'gpu-rental/consistency/v1', first: 1, second: 1, path: [] });
  expect(await query('{ document: logConsistency(first: 1, second: 1) }')).toEqual(proof);
  expect(await command('consistency', '1', '1')).toEqual(proof);
});

test('the inclusion proof needs the key of its account', async () => {
  const proof = (await get('/v1/log/inclusion', renter.key)).body;
  expect(proof).toMatchObject({ type: 'gpu-rental/inclusion/v1', number: 1, root: { number: 1 } });
  expect((await renter.graphql('{ document: logInclusion }')).body.data.document).toEqual(proof);
  expect(await command('inclusion')).toEqual(proof);
  expect((await get('/v1/log/inclusion')).status).toBe(401);
  const other = await gateway.renter();
  expect((await get('/v1/log/inclusion', other.key)).status).toBe(404);
});

test('a cached response is replaced by the next root and key', async () => {
  const first = await get('/v1/log/roots');
  expect(first.headers.get('cache-control')).toContain('public');
  await get('/.well-known/gpu-rental/keys.json');
  await appendToLog(gateway.deps);
  await rotateSigningKey(gateway.deps);
  await expect.poll(async () => (await get('/v1/log/roots')).body.roots.length).toBe(2);
  await expect.poll(async () => (await get('/.well-known/gpu-rental/keys.json')).body.keys.length).toBe(2);
});

test('a tree size that never existed is refused with its bounds', async () => {
  const { status, body } = await get('/v1/log/consistency?first=1&second=1000000');
  expect(status).toBe(422);
  expect(body.error.message).toMatch(/^second must be a tree size from 0 to \d+, the newest root's; got 1000000$/);
});
