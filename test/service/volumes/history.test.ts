import { randomBytes } from 'node:crypto';
import { utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { markIndexes } from '../../../src/domain/volumes/indexes.js';
import type { Renter } from '../../support/gateway.js';
import {
  endLease,
  nameOf,
  newVolume,
  requestVolume,
  startVolumeGateway,
  takeLease,
  type VolumeGateway,
} from '../../support/volumes.js';

let gateway: VolumeGateway;
let renter: Renter;
let id: string;
beforeAll(async () => {
  gateway = await startVolumeGateway();
  renter = await gateway.renter();
});
afterAll(() => gateway.close());
beforeEach(async () => {
  ({ id } = await newVolume(gateway, renter.accountId));
});

describe("deletion by a volume's owner", () => {
  test('is logged once per snapshot, but only once for all packs', async () => {
    const names = { snapshots: await put(renter.key, 'snapshots'), index: await put(renter.key, 'index') };
    const packs = [await put(renter.key, 'data'), await put(renter.key, 'data')];
    // restic holds a lock and reads the indexes before it deletes packs.
    await put(renter.key, 'locks');
    await requestVolume(gateway, renter.key, 'GET', `${id}/index/`);
    for (const path of [`snapshots/${names.snapshots}`, `index/${names.index}`, ...packs.map((name) => `data/${name}`)])
      expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/${path}`)).status).toBe(200);
    const { rows } = await gateway.deps.db.pool.query(
      'select operation, targets from activity where account_id = $1 and $2 = any(targets) order by id',
      [renter.accountId, id],
    );
    expect(rows).toEqual([
      { operation: 'deleteVolumeSnapshot', targets: [id, names.snapshots] },
      { operation: 'pruneVolume', targets: [id] },
    ]);
  });

  test('leaves one row per lease, regardless of the number of snapshots', async () => {
    const token = await takeLease(gateway, id);
    const snapshots = [await put(token, 'snapshots'), await put(token, 'snapshots')];
    await endLease(gateway, id);
    for (let count = 0; count < 20; count += 1) snapshots.push(await put(renter.key, 'snapshots'));
    const rows = async () => {
      const query = 'select lease from volume_snapshot where volume_id = $1 order by at';
      return (await gateway.deps.db.pool.query(query, [id])).rows.map(({ lease }) => lease);
    };
    expect(await rows()).toHaveLength(22);
    for (const name of snapshots) await requestVolume(gateway, renter.key, 'DELETE', `${id}/snapshots/${name}`);
    expect(await rows()).toEqual([1n, null]);
  });
});

test('an index deleted by its owner during verification gets no result', async () => {
  const [deleted, kept] = [await put(renter.key, 'index'), await put(renter.key, 'index')];
  await requestVolume(gateway, renter.key, 'DELETE', `${id}/index/${deleted}`);
  await markIndexes(gateway.deps, id, [deleted, kept], 'FAILED');
  const { rows } = await gateway.deps.db.pool.query('select name from volume_index where volume_id = $1', [id]);
  expect(rows).toEqual([{ name: kept }]);
});

describe('a stale lock', () => {
  const locks = async (secret: string) => (await requestVolume(gateway, secret, 'GET', `${id}/locks/`)).json();

  test('is removed when an instance takes the volume if the owner left it behind', async () => {
    const lock = await put(renter.key, 'locks');
    expect(await locks(renter.key)).toEqual([lock]);
    const token = await takeLease(gateway, id);
    const own = await put(token, 'locks');
    expect(await locks(token)).toEqual([own]);
  });

  test('is removed after half an hour, regardless of its creator', async () => {
    const lock = await put(renter.key, 'locks');
    const path = join(gateway.dataDir, 'volumes', id, 'locks', lock);
    const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    await utimes(path, minutesAgo(29), minutesAgo(29));
    expect(await locks(renter.key)).toEqual([lock]);
    await utimes(path, minutesAgo(31), minutesAgo(31));
    expect(await locks(renter.key)).toEqual([]);
  });

  test('takes no space, so a full volume can still be restored', async () => {
    const token = await takeLease(gateway, id);
    await gateway.deps.db.pool.query('update volume set stored_bytes = 1000000000000 where id = $1', [id]);
    await put(token, 'locks');
  });
});

async function put(secret: string, kind: string): Promise<string> {
  const body = randomBytes(100);
  expect((await requestVolume(gateway, secret, 'POST', `${id}/${kind}/${nameOf(body)}`, { body })).status).toBe(200);
  return nameOf(body);
}
