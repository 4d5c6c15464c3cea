import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createApiKeyOnce, revokeApiKey } from '../../src/domain/accounts/api-keys.js';
import { FULL_POWER } from '../../src/domain/rules/key-power.js';
import { Transfers } from '../../src/http/volumes/transfers.js';
import { ask, nameOf, newVolume, startVolumeGateway, takeLease, type VolumeGateway } from '../support/volumes.js';

/** What one account's volumes take of what all share. */

let gateway: VolumeGateway;
beforeAll(async () => {
  gateway = await startVolumeGateway();
});
afterAll(() => gateway.close());
afterEach(() => vi.restoreAllMocks());

test('a store that is slow to keep what was sent leaves the database to others', { timeout: 60_000 }, async () => {
  const renter = await gateway.renter();
  const { volumeStore } = gateway.deps;
  const receive = volumeStore.receive.bind(volumeStore);
  let goOn = () => {};
  const waiting = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let received = 0;
  vi.spyOn(volumeStore, 'receive').mockImplementation(async (...given) => {
    const found = await receive(...given);
    received += 1;
    const publish = async () => {
      await waiting;
      return found.publish();
    };
    return { ...found, publish };
  });
  const volumes = await Promise.all(Array.from({ length: 5 }, () => newVolume(gateway, renter.accountId)));
  const others = await Promise.all(Array.from({ length: 5 }, () => gateway.renter()));
  const ofOthers = await Promise.all(others.map(({ accountId }) => newVolume(gateway, accountId)));
  const all = [...volumes, ...ofOthers];
  const tokens = await Promise.all(all.map(({ id }) => takeLease(gateway, id)));
  const answers = all.flatMap(({ id }, index) =>
    Array.from({ length: 3 }, () => {
      const body = randomBytes(1_000);
      return ask(gateway, tokens[index]!, 'POST', `${id}/data/${nameOf(body)}`, { body });
    }),
  );
  try {
    // More than the gateway has connections.
    await vi.waitFor(() => expect(received).toBeGreaterThan(20), 20_000);
    expect((await renter.graphql('{ volumes { id } }')).status).toBe(200);
  } finally {
    goOn();
  }
  for (const answer of answers) expect((await answer).status).toBe(200);
});

test('uploads of one account, however many volumes it has, leave places to others', { timeout: 60_000 }, async () => {
  const [renter, other] = [await gateway.renter(), await gateway.renter()];
  const volumes = await Promise.all(Array.from({ length: 9 }, () => newVolume(gateway, renter.accountId)));
  const open: ClientRequest[] = [];
  for (const { id } of volumes)
    for (let place = 0; place < 6; place += 1) {
      const sent = begin(renter.key, `/volumes/${id}/data/${'0'.repeat(64)}`);
      sent.write(randomBytes(1_000));
      open.push(sent);
    }
  try {
    await vi.waitFor(async () => expect(await arriving(volumes.map(({ id }) => id))).toBeGreaterThan(11), 20_000);
    // Those that have no place by now wait for one.
    for (const { id } of volumes) expect((await ask(gateway, renter.key, 'GET', `${id}/keys/`)).status).toBe(200);
    const { id } = await newVolume(gateway, other.accountId);
    const body = randomBytes(1_000);
    expect((await ask(gateway, other.key, 'POST', `${id}/data/${nameOf(body)}`, { body })).status).toBe(200);
    // None was given up meanwhile.
    expect(open.filter(({ destroyed }) => destroyed)).toEqual([]);
  } finally {
    for (const sent of open) sent.destroy();
  }
});

describe('places', () => {
  const limits = { perVolume: 2, perAccount: 3, all: 5, waitingPerAccount: 2, waiting: 4 };
  const never = () => new Promise<void>(() => {});

  test('are lent to each account in its share, and those that wait too', async () => {
    const transfers = new Transfers(limits);
    const { signal } = new AbortController();
    const begun: string[] = [];
    const ask = (volume: string, account: string) => {
      const done = transfers.run({ id: volume, accountId: account }, signal, () => {
        begun.push(volume);
        return never();
      });
      done.catch(() => {});
      return done;
    };
    for (const volume of ['a', 'a', 'b', 'b', 'c']) void ask(volume, 'one');
    expect(begun).toEqual(['a', 'a', 'b']);
    await expect(ask('d', 'one')).rejects.toMatchObject({ code: 'unavailable' });
    void ask('e', 'two');
    void ask('f', 'two');
    expect(begun).toEqual(['a', 'a', 'b', 'e', 'f']);
  });

  test('go to the first that may have them', async () => {
    const transfers = new Transfers(limits);
    const { signal } = new AbortController();
    const ends: (() => void)[] = [];
    const begun: string[] = [];
    const run = (volume: string, account: string) =>
      transfers.run({ id: volume, accountId: account }, signal, () => {
        begun.push(volume);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    const first = ['a', 'a', 'b'].map((volume) => run(volume, 'one'));
    void run('c', 'one');
    void run('d', 'two');
    expect(begun).toEqual(['a', 'a', 'b', 'd']);
    ends[0]!();
    await first[0];
    await expect.poll(() => begun).toEqual(['a', 'a', 'b', 'd', 'c']);
  });
});

test('a repository that the gateway works on takes no more than its bound from others', async () => {
  const renter = await gateway.renter();
  const { id } = await newVolume(gateway, renter.accountId);
  const token = await takeLease(gateway, id);
  await gateway.deps.db.pool.query(`update volume set stored_bytes = $2, upkeep_nonce = 'nonce' where id = $1`, [
    id,
    4n * 1_073_741_824n,
  ]);
  const body = randomBytes(1_000);
  expect((await ask(gateway, token, 'POST', `${id}/data/${nameOf(body)}`, { body })).status).toBe(507);
});

test('a key that is revoked while it uploads leaves nothing', async () => {
  const renter = await gateway.renter();
  const { id } = await newVolume(gateway, renter.accountId);
  const { apiKey, secret } = await createApiKeyOnce(gateway.deps, { accountId: renter.accountId, ...FULL_POWER }, {});
  const bytes = randomBytes(1_000);
  const sent = begin(secret!, `/volumes/${id}/snapshots/${nameOf(bytes)}`);
  const status = new Promise((resolve) => sent.once('response', (answer) => resolve(answer.resume().statusCode)));
  sent.write(bytes.subarray(0, 500));
  await vi.waitFor(async () => expect(await arriving([id])).toBe(1), 20_000);
  await revokeApiKey(gateway.deps, renter.accountId, apiKey.id);
  sent.end(bytes.subarray(500));
  expect(await status).toBe(401);
  expect(await (await ask(gateway, renter.key, 'GET', `${id}/snapshots/`)).json()).toEqual([]);
});

function begin(secret: string, path: string): ClientRequest {
  const authorization = `Basic ${btoa(`user:${secret}`)}`;
  const sent = request(`${gateway.address}${path}`, { method: 'POST', headers: { authorization }, agent: false });
  sent.on('error', () => {});
  return sent;
}

async function arriving(ids: readonly string[]): Promise<number> {
  const found = ids.map((id) => readdir(join(gateway.dataDir, 'volumes', id, 'arriving')).catch(() => []));
  return (await Promise.all(found)).flat().length;
}
