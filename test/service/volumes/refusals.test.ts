import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKeyOnce, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { keyOf } from '../../../src/domain/volumes/rules/restic-key.js';
import { deleteVolume } from '../../../src/domain/volumes/volumes.js';
import type { Renter } from '../../support/gateway.js';
import { keyFile, masterOf } from '../../support/restic-repository.js';
import {
  endLease,
  makeRepository,
  nameOf,
  newVolume,
  requestVolume,
  startVolumeGateway,
  takeLease,
  type VolumeGateway,
} from '../../support/volumes.js';

let gateway: VolumeGateway;
let renter: Renter;
let stranger: Renter;
beforeAll(async () => {
  gateway = await startVolumeGateway();
  [renter, stranger] = await Promise.all([gateway.renter(), gateway.renter()]);
});
afterAll(() => gateway.close());

let id: string;
let password: string;
let token: string;
const bytes = randomBytes(3_000);
const name = nameOf(bytes);
beforeEach(async () => {
  ({ id, password } = await newVolume(gateway, renter.accountId));
  token = await takeLease(gateway, id);
});

describe('access to a volume', () => {
  test('allows a lease to write, read and list objects', async () => {
    expect((await requestVolume(gateway, token, 'POST', `${id}/?create=true`)).status).toBe(200);
    expect((await requestVolume(gateway, token, 'HEAD', `${id}/config`)).status).toBe(404);
    expect((await put(token, 'data', bytes)).status).toBe(200);
    const head = await requestVolume(gateway, token, 'HEAD', `${id}/data/${name}`);
    expect([head.status, head.headers.get('content-length')]).toEqual([200, '3000']);
    const part = await requestVolume(gateway, token, 'GET', `${id}/data/${name}`, {
      headers: { range: 'bytes=100-199' },
    });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 100-199/3000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(100, 200))).toBe(true);
    const beyond = await requestVolume(gateway, token, 'GET', `${id}/data/${name}`, {
      headers: { range: 'bytes=3000-' },
    });
    expect(beyond.status).toBe(416);
    expect(await (await requestVolume(gateway, token, 'GET', `${id}/data/`)).json()).toEqual([name]);
    const accept = 'application/vnd.x.restic.rest.v2';
    const sized = await requestVolume(gateway, renter.key, 'GET', `${id}/data/`, { headers: { accept } });
    expect([sized.headers.get('content-type'), await sized.json()]).toEqual([accept, [{ name, size: 3_000 }]]);
    expect(await (await requestVolume(gateway, token, 'GET', `${id}/keys/`)).json()).toEqual([]);
  });

  test("is refused without a key, or with an unknown key or another account's key", async () => {
    expect((await requestVolume(gateway, null, 'GET', `${id}/data/`)).status).toBe(401);
    expect((await requestVolume(gateway, `gpu_live_${'0'.repeat(40)}`, 'GET', `${id}/data/`)).status).toBe(401);
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE'])
      expect((await requestVolume(gateway, stranger.key, method, `${id}/data/${name}`)).status).toBe(404);
    expect((await requestVolume(gateway, renter.key, 'GET', 'v-ffffffff/data/')).status).toBe(404);
  });

  test('is refused with a token for an older lease, for another volume or for no lease', async () => {
    const other = (await newVolume(gateway, renter.accountId)).id;
    const otherToken = await takeLease(gateway, other);
    const newer = await takeLease(gateway, id, 'i-0000000b');
    for (const wrong of [token, otherToken, 'x', '0'.repeat(64)]) {
      expect((await put(wrong, 'data', bytes)).status).toBe(403);
      expect((await requestVolume(gateway, wrong, 'GET', `${id}/data/`)).status).toBe(403);
      expect((await requestVolume(gateway, wrong, 'GET', 'v-ffffffff/data/')).status).toBe(403);
    }
    expect((await put(newer, 'data', bytes)).status).toBe(200);
    await endLease(gateway, id);
    expect((await requestVolume(gateway, newer, 'GET', `${id}/data/`)).status).toBe(403);
  });

  test("is refused with a suspended account's key, but not with its instance's token", async () => {
    const suspended = await gateway.renter();
    const volume = await newVolume(gateway, suspended.accountId);
    const held = await takeLease(gateway, volume.id);
    await suspendAccount(gateway.deps, suspended.accountId);
    expect((await requestVolume(gateway, suspended.key, 'GET', `${volume.id}/data/`)).status).toBe(401);
    expect((await requestVolume(gateway, held, 'GET', `${volume.id}/data/`)).status).toBe(200);
  });

  test('is refused to all clients once the volume is deleted', async () => {
    await endLease(gateway, id);
    await deleteVolume(gateway.deps, { accountId: renter.accountId, keyId: null }, { id });
    expect((await requestVolume(gateway, renter.key, 'GET', `${id}/data/`)).status).toBe(404);
    expect((await requestVolume(gateway, token, 'GET', `${id}/data/`)).status).toBe(403);
  });

  test('is read-only with a read-only key or while an instance holds the volume', async () => {
    const creator = { accountId: renter.accountId, ...UNRESTRICTED };
    const { secret } = await createApiKeyOnce(gateway.deps, creator, { scopes: ['read'] });
    const moneyKey = await createApiKeyOnce(gateway.deps, creator, { scopes: ['money'] });
    expect((await requestVolume(gateway, moneyKey.secret, 'GET', `${id}/data/`)).status).toBe(403);
    expect((await requestVolume(gateway, secret, 'GET', `${id}/data/`)).status).toBe(200);
    expect((await put(renter.key, 'data', bytes)).status).toBe(409);
    await endLease(gateway, id);
    expect((await put(secret!, 'data', bytes)).status).toBe(403);
    expect((await requestVolume(gateway, secret, 'DELETE', `${id}/data/${name}`)).status).toBe(403);
    expect((await put(renter.key, 'data', bytes)).status).toBe(200);
    expect((await put(renter.key, 'locks', bytes)).status).toBe(200);
    await requestVolume(gateway, renter.key, 'GET', `${id}/index/`);
    expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/data/${name}`)).status).toBe(200);
    expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/data/${name}`)).status).toBe(404);
  });

  test("doesn't include deleting packs based on indexes read before a lease", async () => {
    const remove = () => requestVolume(gateway, renter.key, 'DELETE', `${id}/data/${name}`);
    await endLease(gateway, id);
    expect((await put(renter.key, 'data', bytes)).status).toBe(200);
    expect((await put(renter.key, 'locks', bytes)).status).toBe(200);
    await requestVolume(gateway, renter.key, 'GET', `${id}/index/`);
    const next = await takeLease(gateway, id);
    expect(await (await requestVolume(gateway, next, 'GET', `${id}/locks/`)).json()).toEqual([]);
    // An index that the lease writes later is missing from this list.
    await requestVolume(gateway, renter.key, 'GET', `${id}/index/`);
    await endLease(gateway, id);
    expect((await remove()).status).toBe(409);
    expect((await put(renter.key, 'locks', bytes)).status).toBe(200);
    expect((await remove()).status).toBe(409);
    // A key that can't delete can't belong to a prune, so it doesn't matter that it has read the index.
    const creator = { accountId: renter.accountId, ...UNRESTRICTED };
    const { secret } = await createApiKeyOnce(gateway.deps, creator, { scopes: ['read'] });
    expect((await requestVolume(gateway, secret!, 'GET', `${id}/index/`)).status).toBe(200);
    expect((await remove()).status).toBe(409);
    await requestVolume(gateway, renter.key, 'GET', `${id}/index/`);
    expect((await remove()).status).toBe(200);
  });

  test("doesn't allow a lease to remove or replace objects", async () => {
    const config = `${id}/config`;
    expect((await requestVolume(gateway, token, 'POST', config, { body: randomBytes(155) })).status).toBe(200);
    expect((await requestVolume(gateway, token, 'POST', config, { body: randomBytes(155) })).status).toBe(403);
    expect((await requestVolume(gateway, token, 'DELETE', config)).status).toBe(403);
    const master = keyOf(randomBytes(64));
    const key = keyFile(password, master);
    const made = await newVolume(gateway, renter.accountId);
    const held = await takeLease(gateway, made.id);
    const putKey = (file: Buffer) =>
      requestVolume(gateway, held, 'POST', `${made.id}/keys/${nameOf(file)}`, { body: file });
    const own = keyFile(made.password, master);
    expect((await putKey(own)).status).toBe(200);
    // The object is sent again after a lost response.
    expect((await putKey(own)).status).toBe(200);
    expect((await putKey(keyFile(made.password, master))).status).toBe(403);
    // The key does not open this volume's config.
    expect((await put(token, 'keys', key)).status).toBe(409);
    for (const kind of ['data', 'snapshots', 'index', 'locks'] as const)
      expect((await put(token, kind, bytes)).status).toBe(200);
    for (const kind of ['data', 'keys', 'snapshots', 'index'] as const)
      expect((await requestVolume(gateway, token, 'DELETE', `${id}/${kind}/${name}`)).status).toBe(403);
    expect((await requestVolume(gateway, token, 'DELETE', `${id}/locks/${name}`)).status).toBe(200);
  });

  test("doesn't include adding keys that can't open it or removing the last that can", async () => {
    await endLease(gateway, id);
    await makeRepository(gateway, renter.key, { id, password });
    const [first] = await (await requestVolume(gateway, renter.key, 'GET', `${id}/keys/`)).json();
    const master = masterOf(
      Buffer.from(await (await requestVolume(gateway, renter.key, 'GET', `${id}/keys/${first}`)).arrayBuffer()),
      password,
    );
    // Keys with another password, from another repository, malformed, or too costly to open.
    const costly = { N: 2 ** 20, r: 8, p: 2 };
    const foreign = [keyFile('another', master), keyFile(password, keyOf(randomBytes(64))), bytes];
    for (const file of [...foreign, withCost(keyFile(password, master), costly)]) {
      const refused = await put(renter.key, 'keys', file);
      expect([refused.status, (await refused.json()).error.message]).toEqual([
        409,
        expect.stringContaining('password'),
      ]);
    }
    expect((await put(renter.key, 'keys', randomBytes(20_000))).status).toBe(413);
    const last = await requestVolume(gateway, renter.key, 'DELETE', `${id}/keys/${first}`);
    expect([last.status, (await last.json()).error.message]).toEqual([409, expect.stringContaining('no other key')]);
    const second = keyFile(password, master);
    expect((await put(renter.key, 'keys', second)).status).toBe(200);
    expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/keys/${first}`)).status).toBe(200);
    expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/keys/${nameOf(second)}`)).status).toBe(409);
  });

  test.each([
    '..',
    '../v-00000000/data/',
    '%2e%2e/config',
    'ID%2fconfig',
    'ID/data/../config',
    'ID/data/%2e%2e/config',
    `ID/data/${'a'.repeat(63)}`,
    `ID/data/${'A'.repeat(64)}`,
    `ID/data/${'a'.repeat(64)}/x`,
    'ID/arriving/',
    'ID//config',
    'ID/config/',
    'ID/config%00',
  ])('is refused at a path outside the volume: %s', async (path) => {
    const status = await rawStatus(token, `/volumes/${path.replace('ID', id)}`);
    expect(status).toBe(404);
  });

  test('leaves nothing behind from misnamed, oversized or aborted uploads', async () => {
    const wrong = await requestVolume(gateway, token, 'POST', `${id}/data/${nameOf(Buffer.from('x'))}`, {
      body: bytes,
    });
    expect([wrong.status, (await wrong.json()).error.code]).toEqual([422, 'invalid_request']);
    expect(await statusOfLength(536_870_913)).toBe(413);
    const [socket] = begin(token, `/volumes/${id}/data/${name}`, 3_000);
    socket.write(bytes.subarray(0, 1_000));
    await vi.waitFor(async () => expect(await arriving()).toHaveLength(1), 20_000);
    socket.destroy();
    await vi.waitFor(async () => expect(await arriving()).toHaveLength(0), 20_000);
    expect(await (await requestVolume(gateway, token, 'GET', `${id}/data/`)).json()).toEqual([]);
  });

  test("doesn't include storing more bytes than the volume may hold until it grows", async () => {
    await gateway.deps.db.pool.query('update volume set stored_bytes = $2 where id = $1', [
      id,
      4n * 1_073_741_824n - 4_000n,
    ]);
    const full = await put(token, 'data', bytes);
    expect([full.status, (await full.json()).error.message]).toEqual([507, expect.stringContaining('4 GB')]);
    await gateway.deps.db.pool.query('update volume set size_gb = 2 where id = $1', [id]);
    expect((await put(token, 'data', bytes)).status).toBe(200);
  });
});

describe('a lease that ends during an upload', () => {
  test('leaves nothing behind', async () => {
    const [socket, answer] = begin(token, `/volumes/${id}/data/${name}`, 3_000);
    socket.write(bytes.subarray(0, 1_000));
    await vi.waitFor(async () => expect(await arriving()).toHaveLength(1), 20_000);
    const next = await takeLease(gateway, id, 'i-0000000b');
    socket.end(bytes.subarray(1_000));
    expect(await answer).toBe(403);
    expect(await arriving()).toEqual([]);
    expect(await (await requestVolume(gateway, next, 'GET', `${id}/data/`)).json()).toEqual([]);
    const { rows } = await gateway.deps.db.pool.query('select stored_bytes as bytes from volume where id = $1', [id]);
    expect(rows[0].bytes).toBe(0n);
  });

  test('leaves no snapshot if the upload waits for the volume’s lock', async () => {
    const { pool } = gateway.deps.db;
    const client = await pool.connect();
    await client.query('begin');
    await client.query('select 1 from volume where id = $1 for update', [id]);
    const answer = put(token, 'snapshots', bytes);
    await vi.waitFor(async () => expect(await blocked()).toBe(1), 20_000);
    // The lease ends first, so the upload that began before is refused.
    await client.query(`update volume set lease = lease + 1, lease_nonce = 'another' where id = $1`, [id]);
    await client.query('commit');
    client.release();
    expect((await answer).status).toBe(403);
    const { rows } = await pool.query('select from volume_snapshot where volume_id = $1', [id]);
    expect(rows).toHaveLength(0);
  });
});

function put(secret: string, kind: string, body: Buffer): Promise<Response> {
  return requestVolume(gateway, secret, 'POST', `${id}/${kind}/${nameOf(body)}`, { body });
}

/** Begins an upload whose body the test sends. */
function begin(secret: string, path: string, length: number): [ClientRequest, Promise<number>] {
  const authorization = `Basic ${btoa(`user:${secret}`)}`;
  const sent = request(`${gateway.address}${path}`, {
    method: 'POST',
    headers: { authorization, 'content-length': String(length) },
  });
  sent.flushHeaders();
  const status = new Promise<number>((resolve, reject) => {
    sent.once('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sent.once('error', reject);
  });
  status.catch(() => {});
  return [sent, status];
}

async function statusOfLength(length: number): Promise<number> {
  const [sent, status] = begin(token, `/volumes/${id}/data/${name}`, length);
  const statusCode = await status;
  sent.destroy();
  return statusCode;
}

/** Requests a path as given, without the normalization of `fetch`. */
function rawStatus(secret: string, path: string): Promise<number> {
  const { hostname, port } = new URL(gateway.address);
  const authorization = `Basic ${btoa(`user:${secret}`)}`;
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers: { authorization } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .once('error', reject)
      .end();
  });
}

function arriving(): Promise<string[]> {
  return readdir(join(gateway.dataDir, 'volumes', id, 'arriving')).catch(() => []);
}

async function blocked(): Promise<number> {
  const { rows } = await gateway.deps.db.pool.query(
    `select count(*)::int as count from pg_stat_activity
     where wait_event_type = 'Lock' and datname = current_database() and query like '%volume%'`,
  );
  return rows[0].count;
}

function withCost(file: Buffer, cost: object): Buffer {
  return Buffer.from(JSON.stringify({ ...JSON.parse(file.toString()), ...cost }));
}

describe('a client whose key is revoked', () => {
  const large = randomBytes(32_000_000);

  /** Begins a download that reads only its head until `rest` is called. */
  const startDownload = (key: string): Promise<{ rest(): Promise<number> }> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Basic ${btoa(`x:${key}`)}` };
      request(`${gateway.address}/volumes/${id}/data/${nameOf(large)}`, { headers }, (answer) => {
        answer.on('error', () => {});
        const rest = async () => {
          let read = 0;
          answer.on('data', (chunk: Buffer) => {
            read += chunk.length;
          });
          await new Promise((closed) => answer.once('close', closed));
          return read;
        };
        resolve({ rest });
      })
        .on('error', reject)
        .end();
    });

  test('receives no more data from its download', async () => {
    expect((await put(token, 'data', large)).status).toBe(200);
    const creator = { accountId: renter.accountId, ...UNRESTRICTED };
    const { apiKey, secret } = await createApiKeyOnce(gateway.deps, creator, {});
    const [ended, continued] = await Promise.all([startDownload(secret!), startDownload(renter.key)]);
    await revokeApiKey(gateway.deps, renter.accountId, apiKey.id);
    // In the meantime, the gateway sends what the connection buffers.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await ended.rest()).toBeLessThan(large.length / 2);
    expect(await continued.rest()).toBe(large.length);
  });
});
