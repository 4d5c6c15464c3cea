import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deps } from '../../../src/compose/deps.js';
import { maintainVolumes } from '../../../src/domain/volumes/upkeep.js';
import type { Renter } from '../../support/gateway.js';
import { keyFile, lyingObjects, masterOf, object, packOf, seal } from '../../support/restic-repository.js';
import { needs } from '../../support/tools.js';
import {
  endLease,
  makeRepository,
  nameOf,
  newVolume,
  requestVolume,
  startVolumeGateway,
  takeLease,
  upkeepOptions,
  type VolumeGateway,
} from '../../support/volumes.js';

let gateway: VolumeGateway;
let renter: Renter;
beforeAll(async () => {
  gateway = await startVolumeGateway();
  renter = await gateway.renter();
});
afterAll(() => gateway.close());

describe('indexes that are hard to verify', needs('restic'), () => {
  test('are marked as failed and can be deleted by their owner if they crash restic', async () => {
    const { id, master } = await repository();
    const { pack, entry } = packOf(master, [{ type: 'data', content: randomBytes(10) }]);
    entry.blobs[0]!.length = 2 ** 32 - 1_000;
    const index = object('index', seal(master, { packs: [entry] }));
    await writeUnderLease(id, [pack, index, ...lyingObjects(master, [], 'is true')]);
    await keep(id);
    expect((await statesOf(id)).sort()).toEqual(['FAILED', 'VERIFIED']);
    expect(await statusOf('DELETE', `${id}/index/${index.name}`)).toBe(200);
  });

  test('are verified one at a time if they jointly exceed the time limit', async () => {
    const { id, master } = await repository();
    await writeUnderLease(id, [...lyingObjects(master, [], 'is true'), ...lyingObjects(master, [], 'is true')]);
    const restic: Deps['restic'] = async () => {
      const { rows } = await gateway.deps.db.pool.query('select upkeep_indexes as seen from volume where id = $1', [
        id,
      ]);
      if (rows[0].seen.length > 1) throw new DOMException('the time is over', 'AbortError');
      return { code: 0, output: '' };
    };
    await keep(id, { restic });
    expect(await statesOf(id)).toEqual(['VERIFIED', 'VERIFIED']);
  });
});

test('a volume is maintained hourly without restic, even with an unverified index', async () => {
  const { id, master } = await repository();
  await writeUnderLease(id, lyingObjects(master, [], 'is true'));
  await keep(id, { restic: null });
  const keptAt = await keptAtOf(id);
  gateway.clock.advance(60);
  await maintainVolumes({ ...gateway.deps, restic: null }, upkeepOptions(gateway));
  expect(await keptAtOf(id)).toBe(keptAt);
});

test('a key is rejected if scrypt rejects its parameters', async () => {
  const { id } = await repository();
  for (const cost of [
    { N: 65_536, r: 1, p: 1 },
    { N: 2, r: 1, p: 2 ** 21 },
    { N: 2, r: 1, p: 2_000_000 },
  ]) {
    const body = Buffer.from(JSON.stringify({ kdf: 'scrypt', ...cost, salt: 'AAAA', data: 'AAAA' }));
    expect(await statusOf('POST', `${id}/keys/${nameOf(body)}`, body)).toBe(409);
  }
});

test('one of the last two keys is kept if both are deleted concurrently', async () => {
  const { id, password, key, master } = await repository();
  const second = keyFile(password, master);
  expect(await statusOf('POST', `${id}/keys/${nameOf(second)}`, second)).toBe(200);
  const deleted = [key, nameOf(second)].map((name) => statusOf('DELETE', `${id}/keys/${name}`));
  expect((await Promise.all(deleted)).sort()).toEqual([200, 409]);
});

test('one account’s key deletions don’t delay another account’s requests', async () => {
  const { id, password, key, master } = await repository();
  const slow = keyFile(password, master, { N: 2 ** 14, r: 8, p: 4 });
  expect(await statusOf('POST', `${id}/keys/${nameOf(slow)}`, slow)).toBe(200);
  const deleted = Array.from({ length: 40 }, () => statusOf('DELETE', `${id}/keys/${key}`));
  const other = await gateway.renter();
  await makeRepository(gateway, other.key, await newVolume(gateway, other.accountId));
  expect(await Promise.all(deleted)).toContain(503);
});

async function repository() {
  const volume = await newVolume(gateway, renter.accountId);
  await makeRepository(gateway, renter.key, volume);
  const keys = join(gateway.dataDir, 'volumes', volume.id, 'keys');
  const [key] = await readdir(keys);
  return { ...volume, key: key!, master: masterOf(await readFile(join(keys, key!)), volume.password) };
}

async function writeUnderLease(id: string, objects: readonly { kind: string; name: string; bytes: Buffer }[]) {
  const token = await takeLease(gateway, id);
  for (const { kind, name, bytes } of objects)
    expect((await requestVolume(gateway, token, 'POST', `${id}/${kind}/${name}`, { body: bytes })).status).toBe(200);
  await endLease(gateway, id);
}

async function statusOf(method: string, path: string, body?: Buffer): Promise<number> {
  return (await requestVolume(gateway, renter.key, method, path, body && { body })).status;
}

/**
 * Waits until the gateway has maintained the volume. A call during the gateway's own upkeep has no effect, so it is
 * repeated.
 */
async function keep(id: string, changes: Partial<Deps> = {}): Promise<void> {
  gateway.clock.advance(3_601);
  const kept = async () => {
    await maintainVolumes({ ...gateway.deps, ...changes }, upkeepOptions(gateway));
    return (await keptAtOf(id)) ?? 0n;
  };
  await expect.poll(kept, { timeout: 30_000 }).toBeGreaterThanOrEqual(gateway.clock.now() - 3_000n);
}

async function keptAtOf(id: string): Promise<bigint | null> {
  const { rows } = await gateway.deps.db.pool.query('select kept_at as at from volume where id = $1', [id]);
  return rows[0].at;
}

async function statesOf(id: string): Promise<string[]> {
  const { rows } = await gateway.deps.db.pool.query('select state from volume_index where volume_id = $1', [id]);
  return rows.map(({ state }) => state);
}
