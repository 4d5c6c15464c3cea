import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { maintainVolumes } from '../../../src/domain/volumes/upkeep.js';
import type { Renter } from '../../support/gateway.js';
import { lyingObjects, type MadeObject, masterOf } from '../../support/restic-repository.js';
import { needs } from '../../support/tools.js';
import {
  endLease,
  makeRepository,
  newVolume,
  type Repository,
  repositoryUrl,
  requestVolume,
  resticDone,
  startVolumeGateway,
  takeLease,
  upkeepOptions,
  type VolumeGateway,
} from '../../support/volumes.js';

const TIMEOUT = { timeout: 120_000 };

let gateway: VolumeGateway;
let renter: Renter;
let files: string;
let id: string;
let repository: Repository;
beforeAll(async () => {
  gateway = await startVolumeGateway();
  renter = await gateway.renter();
  files = await mkdtemp(join(tmpdir(), 'files-'));
});
afterAll(async () => {
  await gateway.close();
  await rm(files, { recursive: true, force: true });
});

describe('a host that uploads a false index under its lease', needs('restic'), () => {
  test.each(['lies', 'is true'] as const)(
    'destroys nothing through an index whose pack’s header %s',
    TIMEOUT,
    async (header) => {
      const bytes = await savedVolume();
      const packs = await packsOf();
      const token = await takeLease(gateway, id);
      const lie = await upload(token, lyingObjects(await masterKey(), await dataBlobs(), header));
      await endLease(gateway, id);
      // The owner's own prune would trust the false index as well.
      const real = `${id}/data/${packs[0]}`;
      const early = await requestVolume(gateway, renter.key, 'DELETE', real);
      expect([early.status, (await early.json()).error.message]).toEqual([
        409,
        expect.stringMatching(/are being verified|match its packs/),
      ]);
      await keep(3_601);
      expect(await packsOf()).toEqual(expect.arrayContaining(packs));
      expect(await faultOf()).toContain(`index ${lie} doesn't match its packs`);
      expect((await requestVolume(gateway, renter.key, 'DELETE', real)).status).toBe(409);
      // Without the index, everything continues, but the host's own snapshot is lost.
      expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/index/${lie}`)).status).toBe(200);
      const [forged] = await snapshotsOf(1n);
      expect((await requestVolume(gateway, renter.key, 'DELETE', `${id}/snapshots/${forged}`)).status).toBe(200);
      await keep(3_601);
      expect(await faultOf()).toBeNull();
      expect(await snapshotsOf(null)).toHaveLength(1);
      expect(await restored()).toEqual(bytes);
      expect(await resticDone(repository, '--no-lock', 'check', '--read-data')).toContain('no errors were found');
    },
  );
});

/** Saves two snapshots as the owner. Retention drops the older one. Returns the newer one's content. */
async function savedVolume(): Promise<Buffer> {
  const volume = await newVolume(gateway, renter.accountId);
  id = volume.id;
  repository = { url: repositoryUrl(gateway, renter.key, id), password: volume.password };
  await makeRepository(gateway, renter.key, volume);
  const bytes = randomBytes(500_000);
  for (const content of [randomBytes(500_000), bytes]) {
    await writeFile(join(files, 'file'), content);
    await resticDone(repository, 'backup', '--force', files);
  }
  return bytes;
}

async function packsOf(): Promise<string[]> {
  const names = await readdir(folder('data'), { recursive: true });
  return names.filter((name) => name.length > 64).map((name) => name.slice(3));
}

async function masterKey() {
  const [name] = await readdir(folder('keys'));
  return masterOf(await readFile(join(folder('keys'), name!)), repository.password);
}

async function dataBlobs(): Promise<string[]> {
  const lines = await resticDone(repository, '--no-lock', 'list', 'blobs');
  return [...lines.matchAll(/^data ([0-9a-f]{64})$/gm)].map(([, blob]) => blob!);
}

/** Uploads these objects. Returns the name of the index. */
async function upload(token: string, objects: readonly MadeObject[]): Promise<string> {
  for (const { kind, name, bytes } of objects)
    expect((await requestVolume(gateway, token, 'POST', `${id}/${kind}/${name}`, { body: bytes })).status).toBe(200);
  return objects.find(({ kind }) => kind === 'index')!.name;
}

/** Restores the owner's newest snapshot. */
async function restored(): Promise<Buffer> {
  const target = await mkdtemp(join(tmpdir(), 'restored-'));
  const newest = (await snapshotsOf(null)).at(-1)!;
  await resticDone(repository, '--no-lock', 'restore', newest, '--target', target);
  const bytes = await readFile(join(target, files, 'file'));
  await rm(target, { recursive: true });
  return bytes;
}

async function snapshotsOf(lease: bigint | null): Promise<string[]> {
  const { rows } = await gateway.deps.db.pool.query<{ id: string }>(
    'select id from volume_snapshot where volume_id = $1 and dropped_at is null and lease is not distinct from $2 order by at',
    [id, lease],
  );
  return rows.map((row) => row.id);
}

async function faultOf(): Promise<string | null> {
  const { rows } = await gateway.deps.db.pool.query('select keep_fault as fault from volume where id = $1', [id]);
  return rows[0].fault;
}

/**
 * Waits until the gateway has maintained the volume. A call during the gateway's own upkeep has no effect, so it is
 * repeated.
 */
async function keep(seconds: number): Promise<void> {
  gateway.clock.advance(seconds);
  const keptAt = async () => {
    await maintainVolumes(gateway.deps, upkeepOptions(gateway));
    const { rows } = await gateway.deps.db.pool.query('select kept_at as at from volume where id = $1', [id]);
    return rows[0].at ?? 0n;
  };
  const due = gateway.clock.now() - 3_000n;
  await expect.poll(keptAt, { timeout: 60_000 }).toBeGreaterThanOrEqual(due);
}

function folder(kind: string): string {
  return join(gateway.dataDir, 'volumes', id, kind);
}
