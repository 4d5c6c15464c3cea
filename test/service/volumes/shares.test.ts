import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { type ClientRequest, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createApiKeyOnce, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { maintainVolumes } from '../../../src/domain/volumes/upkeep.js';
import { Transfers } from '../../../src/http/transfers.js';
import { runRestic } from '../../../src/volumes/restic.js';
import {
  nameOf,
  newVolume,
  requestVolume,
  startVolumeGateway,
  takeLease,
  upkeepOptions,
  type VolumeGateway,
} from '../../support/volumes.js';

/** Limits on the shared resources that the volumes of one account may use. */

let gateway: VolumeGateway;
beforeAll(async () => {
  gateway = await startVolumeGateway();
});
afterAll(() => gateway.close());
afterEach(() => vi.restoreAllMocks());

test('a store that publishes slowly leaves database connections free for others', { timeout: 60_000 }, async () => {
  const renter = await gateway.renter();
  const { volumeStore } = gateway.deps;
  const receive = volumeStore.receive.bind(volumeStore);
  let resume = () => {};
  const waiting = new Promise<void>((resolve) => {
    resume = resolve;
  });
  let received = 0;
  vi.spyOn(volumeStore, 'receive').mockImplementation(async (...args) => {
    const found = await receive(...args);
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
      return requestVolume(gateway, tokens[index]!, 'POST', `${id}/data/${nameOf(body)}`, { body });
    }),
  );
  try {
    // There are more uploads than the gateway has database connections.
    await vi.waitFor(() => expect(received).toBeGreaterThan(20), 20_000);
    expect((await renter.graphql('{ volumes { id } }')).status).toBe(200);
  } finally {
    resume();
  }
  for (const answer of answers) expect((await answer).status).toBe(200);
});

test('uploads by one account to many volumes leave transfer slots free for others', { timeout: 60_000 }, async () => {
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
    // Uploads without a slot wait for one.
    for (const { id } of volumes)
      expect((await requestVolume(gateway, renter.key, 'GET', `${id}/keys/`)).status).toBe(200);
    const { id } = await newVolume(gateway, other.accountId);
    const body = randomBytes(1_000);
    expect((await requestVolume(gateway, other.key, 'POST', `${id}/data/${nameOf(body)}`, { body })).status).toBe(200);
    // None was aborted in the meantime.
    expect(open.filter(({ destroyed }) => destroyed)).toEqual([]);
  } finally {
    for (const sent of open) sent.destroy();
  }
});

describe('transfer slots', () => {
  const limits = { perTarget: 2, perAccount: 3, all: 5, waitingPerAccount: 2, waiting: 4 };
  const never = () => new Promise<void>(() => {});

  test('are limited per account, as is the number of waiting transfers', async () => {
    const transfers = new Transfers(limits);
    const { signal } = new AbortController();
    const started: string[] = [];
    const start = (volume: string, account: string) => {
      const done = transfers.run({ id: volume, accountId: account }, signal, () => {
        started.push(volume);
        return never();
      });
      done.catch(() => {});
      return done;
    };
    for (const volume of ['a', 'a', 'b', 'b', 'c']) void start(volume, 'one');
    expect(started).toEqual(['a', 'a', 'b']);
    await expect(start('d', 'one')).rejects.toMatchObject({ code: 'unavailable' });
    void start('e', 'two');
    void start('f', 'two');
    expect(started).toEqual(['a', 'a', 'b', 'e', 'f']);
  });

  test('go to the first waiting transfer that is within its limits', async () => {
    const transfers = new Transfers(limits);
    const { signal } = new AbortController();
    const ends: (() => void)[] = [];
    const started: string[] = [];
    const run = (volume: string, account: string) =>
      transfers.run({ id: volume, accountId: account }, signal, () => {
        started.push(volume);
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    const first = ['a', 'a', 'b'].map((volume) => run(volume, 'one'));
    void run('c', 'one');
    void run('d', 'two');
    expect(started).toEqual(['a', 'a', 'b', 'd']);
    ends[0]!();
    await first[0];
    await expect.poll(() => started).toEqual(['a', 'a', 'b', 'd', 'c']);
  });
});

test('an upload to a full volume is refused with a 503 while the volume is pruned', async () => {
  const renter = await gateway.renter();
  const { id } = await newVolume(gateway, renter.accountId);
  const token = await takeLease(gateway, id);
  await gateway.deps.db.pool.query(`update volume set stored_bytes = $2, upkeep_nonce = 'nonce' where id = $1`, [
    id,
    4n * 1_073_741_824n,
  ]);
  const body = randomBytes(1_000);
  expect((await requestVolume(gateway, token, 'POST', `${id}/data/${nameOf(body)}`, { body })).status).toBe(503);
});

test("many failing volume copies don't block others", async () => {
  const renter = await gateway.renter();
  const { deps } = gateway;
  const { pool } = deps.db;
  const { id: source } = await newVolume(gateway, renter.accountId);
  const { id: good } = await newVolume(gateway, renter.accountId);
  const head = randomBytes(1_000);
  const put = await requestVolume(gateway, renter.key, 'POST', `${source}/snapshots/${nameOf(head)}`, { body: head });
  expect(put.status).toBe(200);
  const copy = 'update volume set copy_of = $2, head_snapshot_id = $3 where id = $1';
  await pool.query(copy, [good, source, nameOf(head)]);
  // Their source is missing, and they come first.
  await pool.query(
    `insert into volume (id, account_id, name, size_gb, gb_rate, created_at, sealed_password, sealing_key_id, copy_of, head_snapshot_id)
     select 'v-' || lpad(number::text, 8, '0'), $1, 'copy', 1, 100, now(), '', (select sealing_key_id from volume limit 1), 'v-00000000', $2 from generate_series(1, 130) number`,
    [renter.accountId, nameOf(head)],
  );
  const failed: string[] = [];
  await maintainVolumes(deps, { ...upkeepOptions(gateway), onFailure: (id) => failed.push(id) });
  const { rows } = await pool.query('select copied_at is not null as done from volume where id = $1', [good]);
  expect([rows[0].done, failed.filter((id) => id.startsWith('v-000')).length]).toEqual([true, 130]);
});

test("the gateway limits restic's memory, since renters control its input", async () => {
  const path = await mkdtemp(join(tmpdir(), 'path-'));
  await writeFile(join(path, 'restic'), '#!/bin/sh\nulimit -d\necho "$@"\n', { mode: 0o755 });
  vi.stubEnv('PATH', `${path}:${process.env.PATH}`);
  try {
    const signal = new AbortController().signal;
    const { code, output } = await runRestic({ url: 'none', password: 'none' }, ['prune', '$HOME "; x'], signal);
    expect([code, output]).toEqual([0, '2097152\n--no-cache --quiet prune $HOME "; x\n']);
  } finally {
    vi.unstubAllEnvs();
    await rm(path, { recursive: true });
  }
});

test('an upload whose key is revoked in the meantime leaves nothing behind', async () => {
  const renter = await gateway.renter();
  const { id } = await newVolume(gateway, renter.accountId);
  const { apiKey, secret } = await createApiKeyOnce(gateway.deps, { accountId: renter.accountId, ...UNRESTRICTED }, {});
  const bytes = randomBytes(1_000);
  const sent = begin(secret!, `/volumes/${id}/snapshots/${nameOf(bytes)}`);
  const status = new Promise((resolve) => sent.once('response', (answer) => resolve(answer.resume().statusCode)));
  sent.write(bytes.subarray(0, 500));
  await vi.waitFor(async () => expect(await arriving([id])).toBe(1), 20_000);
  await revokeApiKey(gateway.deps, renter.accountId, apiKey.id);
  sent.end(bytes.subarray(500));
  expect(await status).toBe(401);
  expect(await (await requestVolume(gateway, renter.key, 'GET', `${id}/snapshots/`)).json()).toEqual([]);
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
