import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { checkRepository, compareStore } from '../../../src/domain/volumes/check.js';
import { volumePassword } from '../../../src/domain/volumes/password.js';
import { maintainVolumes } from '../../../src/domain/volumes/upkeep.js';
import { createVolume, deleteVolume } from '../../../src/domain/volumes/volumes.js';
import type { Renter } from '../../support/gateway.js';
import { admin } from '../../support/operator.js';
import { needs } from '../../support/tools.js';
import {
  endLease,
  makeRepository,
  nameOf,
  newVolume,
  type Repository,
  repositoryUrl,
  requestVolume,
  resticDone,
  SECRETS_KEY,
  startVolumeGateway,
  takeLease,
  upkeepOptions,
  type VolumeGateway,
} from '../../support/volumes.js';

const TIMEOUT = { timeout: 300_000 };

let gateway: VolumeGateway;
let renter: Renter;
let files: string;
const failures: string[] = [];
beforeAll(async () => {
  gateway = await startVolumeGateway();
  renter = await gateway.renter();
  files = await mkdtemp(join(tmpdir(), 'files-'));
});
afterAll(async () => {
  await gateway.close();
  await rm(files, { recursive: true, force: true });
});
beforeEach(() => {
  failures.length = 0;
});

describe('repository upkeep by the gateway', needs('restic'), () => {
  test('drops snapshots beyond retention and prunes their data', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    const saved: string[] = [];
    for (const minutes of [0, 10, 50, 10]) {
      gateway.clock.advance(minutes * 60);
      saved.push(await backUp(repository, randomBytes(2_000_000)));
    }
    const before = await stored(id);
    await keep(3_601);
    expect(failures).toEqual([]);
    const left = await snapshotsOf(repository);
    expect(left.length).toBeLessThan(4);
    expect(left).toContain(saved[3]);
    expect(await rowsOf(id)).toEqual(left);
    expect(await stored(id)).toBeLessThan(before - 1_900_000);
    expect(await resticDone(repository, '--no-lock', 'check', '--read-data')).toContain('no errors were found');
    const { rows } = await gateway.deps.db.pool.query('select upkeep_nonce as nonce from volume where id = $1', [id]);
    expect(rows[0].nonce).toBeNull();
    expect(await readdir(folderOf(id, 'locks'))).toEqual([]);
  });

  test('ignores locks from an ended lease', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    await backUp(repository, randomBytes(1_000));
    await backUp(repository, randomBytes(1_000));
    const token = await takeLease(gateway, id);
    const lock = randomBytes(200);
    expect((await requestVolume(gateway, token, 'POST', `${id}/locks/${nameOf(lock)}`, { body: lock })).status).toBe(
      200,
    );
    expect(await (await requestVolume(gateway, token, 'GET', `${id}/locks/`)).json()).toEqual([nameOf(lock)]);
    await endLease(gateway, id);
    expect(await (await requestVolume(gateway, renter.key, 'GET', `${id}/locks/`)).json()).toEqual([]);
    await keep(3_601);
    expect(failures).toEqual([]);
  });

  test('erases every byte of a deleted volume', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    await backUp(repository, randomBytes(100_000));
    const other = await repositoryOf();
    await backUp(other.repository, randomBytes(1_000));
    const [pack] = (await filesBelow(folderOf(id, 'data'))).values();
    const bytes = await readFile(pack!);
    expect(await holdersOf(bytes)).toHaveLength(1);
    await deleteVolume(gateway.deps, { accountId: renter.accountId, keyId: null }, { id });
    await keep(0);
    expect(await holdersOf(bytes)).toEqual([]);
    const { rows } = await gateway.deps.db.pool.query(
      'select erased_at is not null as erased, stored_bytes as bytes from volume where id = $1',
      [id],
    );
    expect(rows[0]).toEqual({ erased: true, bytes: 0n });
    expect(await snapshotsOf(other.repository)).toHaveLength(1);
  });

  test('restores a volume’s earlier state as a new volume', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    const first = randomBytes(300_000);
    const head = await backUp(repository, first);
    await backUp(repository, randomBytes(300_000));
    const owner = { accountId: renter.accountId, keyId: null };
    const made = (snapshotId: string, sizeGb = 1) =>
      createVolume(gateway.deps, owner, { name: 'back', sizeGb, fromSnapshot: { volumeId: id, snapshotId } });
    await expect(made('0'.repeat(64))).rejects.toThrow('no such snapshot');
    const { volume } = await made(head, 2);
    await keep(0);
    expect(failures).toEqual([]);
    const password = await volumePassword(gateway.deps, renter.accountId, volume.id);
    const copy: Repository = { url: repositoryUrl(gateway, renter.key, volume.id), password };
    expect(await snapshotsOf(copy)).toEqual([head]);
    expect(await rowsOf(volume.id)).toEqual([head]);
    await deleteVolume(gateway.deps, owner, { id });
    await keep(3_601);
    expect(failures).toEqual([]);
    const target = await mkdtemp(join(tmpdir(), 'restored-'));
    await resticDone(copy, 'restore', head, '--target', target);
    expect((await readFile(join(target, files, 'file'))).equals(first)).toBe(true);
    expect(await resticDone(copy, 'check', '--read-data')).toContain('no errors were found');
    await rm(target, { recursive: true });
  });

  test('detects damage in a repository and keeps its other snapshots usable', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    const good = randomBytes(200_000);
    const first = await backUp(repository, good);
    const before = new Set(await filesBelow(folderOf(id, 'data')));
    await backUp(repository, randomBytes(200_000));
    const added = (await filesBelow(folderOf(id, 'data'))).filter((path) => !before.has(path));
    expect(added.length).toBeGreaterThan(0);
    expect(await checkRepository(gateway.deps, id, true)).toEqual({ volumeId: id, fault: null });
    for (const path of added) {
      const bytes = await readFile(path);
      bytes[100]! ^= 1;
      await writeFile(path, bytes);
    }
    expect((await checkRepository(gateway.deps, id, true)).fault).toMatch(/Fatal|error/);
    const target = await mkdtemp(join(tmpdir(), 'restored-'));
    await resticDone(repository, 'restore', first, '--target', target);
    expect((await readFile(join(target, files, 'file'))).equals(good)).toBe(true);
    await rm(target, { recursive: true });
    const env = { DATABASE_URL: gateway.databaseUrl, DATA_DIR: gateway.dataDir, SECRETS_KEY, PATH: process.env.PATH! };
    const { code, stdout } = await admin(['volume', 'check', id, '--read-data'], env);
    expect([code, stdout]).toEqual([1, expect.stringContaining('1 repositories checked, 1 with faults')]);
    expect((await admin(['volume', 'list'], env)).stdout).toContain(id);
  });

  test('reports a store older or newer than the database, and updates the database', TIMEOUT, async () => {
    const { id, repository } = await repositoryOf();
    const [lost, found] = [await backUp(repository, randomBytes(10)), await backUp(repository, randomBytes(10))];
    expect((await compareStore(gateway.deps, id)).differences).toEqual([]);
    await rm(join(folderOf(id, 'snapshots'), lost));
    await gateway.deps.db.pool.query('delete from volume_snapshot where volume_id = $1 and id = $2', [id, found]);
    expect((await compareStore(gateway.deps, id)).differences).toMatchObject([
      { volumeId: id, isGone: false, missing: [lost], unknown: [{ id: found }] },
    ]);
    // A call during the gateway's own upkeep has no effect, so it is repeated.
    const kept = async () => {
      await keep(3_601);
      return rowsOf(id);
    };
    await expect.poll(kept, { timeout: 60_000 }).toEqual([found]);
    // A store without any repository is most likely a different store, so it changes nothing.
    await rm(folderOf(id, ''), { recursive: true });
    expect((await compareStore(gateway.deps, id)).differences).toMatchObject([{ isGone: true }]);
    await keep(3_601);
    expect(failures.join()).toContain('older than the database, or a different store');
    expect(await rowsOf(id)).toEqual([found]);
  });
});

async function repositoryOf(): Promise<{ id: string; repository: Repository }> {
  const { id, password } = await newVolume(gateway, renter.accountId);
  const repository = { url: repositoryUrl(gateway, renter.key, id), password };
  await makeRepository(gateway, renter.key, { id, password });
  return { id, repository };
}

/** Backs up this content. Returns the id of the snapshot. */
async function backUp(repository: Repository, bytes: Buffer): Promise<string> {
  await writeFile(join(files, 'file'), bytes);
  const output = await resticDone(repository, 'backup', '--json', '--force', files);
  const short = /"snapshot_id":"(\w+)"/.exec(output)![1]!;
  // Printing the whole id with restic takes a second of CPU time, because it derives the key again.
  const [, volume] = /volumes\/([\w-]+)/.exec(repository.url)!;
  return (await readdir(folderOf(volume!, 'snapshots'))).find((id) => id.startsWith(short))!;
}

async function keep(seconds: number): Promise<void> {
  gateway.clock.advance(seconds);
  await maintainVolumes(gateway.deps, {
    ...upkeepOptions(gateway),
    onFailure: (id, reason) => failures.push(`${id}: ${reason}`),
  });
}

async function snapshotsOf(repository: Repository): Promise<string[]> {
  const found = JSON.parse(await resticDone(repository, '--no-lock', 'snapshots', '--json')) as { id: string }[] | null;
  return (found ?? []).map(({ id }) => id);
}

async function rowsOf(id: string): Promise<string[]> {
  const { rows } = await gateway.deps.db.pool.query<{ id: string }>(
    'select id from volume_snapshot where volume_id = $1 and dropped_at is null order by at',
    [id],
  );
  return rows.map((row) => row.id);
}

async function stored(id: string): Promise<number> {
  const { rows } = await gateway.deps.db.pool.query('select stored_bytes::int as bytes from volume where id = $1', [
    id,
  ]);
  return rows[0].bytes;
}

function folderOf(id: string, kind: string): string {
  return join(gateway.dataDir, 'volumes', id, kind);
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Returns the files of the store that contain these bytes. */
async function holdersOf(bytes: Buffer): Promise<string[]> {
  const holders: string[] = [];
  for (const path of await filesBelow(join(gateway.dataDir, 'volumes')))
    if ((await readFile(path)).includes(bytes.subarray(0, 64))) holders.push(path);
  return holders;
}
