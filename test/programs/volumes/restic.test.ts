import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { maintainVolumes } from '../../../src/domain/volumes/upkeep.js';
import { S3_CREDENTIALS, startS3, type TestS3 } from '../../support/s3.js';
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

let files: string;
let s3: TestS3;
beforeAll(async () => {
  files = await mkdtemp(join(tmpdir(), 'files-'));
  await mkdir(join(files, 'small'));
  for (let index = 0; index < 200; index += 1) await writeFile(join(files, 'small', `${index}`), randomBytes(500));
  // More than fits into one of restic's 16 MB packs.
  await writeFile(join(files, 'large'), randomBytes(20_000_000));
  s3 = await startS3();
  for (const [name, value] of Object.entries(S3_CREDENTIALS)) vi.stubEnv(name, value);
  vi.stubEnv('AWS_ENDPOINT_URL', s3.endpoint);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await s3.close();
  await rm(files, { recursive: true, force: true });
});

const STORES = [
  ['a folder', () => null],
  ['S3', () => ({ bucket: s3.bucket, prefix: 'gateway/' })],
] as const;

describe.each(STORES)("restic's own client, with the store in %s", needs('restic'), (_name, volumeStore) => {
  let gateway: VolumeGateway;
  beforeAll(async () => {
    gateway = await startVolumeGateway({ volumeStore: volumeStore() });
  });
  afterAll(() => gateway.close());

  test('saves and restores as an instance, and reads and forgets as an owner', { timeout: 120_000 }, async () => {
    const renter = await gateway.renter();
    const volume = await newVolume(gateway, renter.accountId);
    const token = await takeLease(gateway, volume.id);
    const held: Repository = { url: repositoryUrl(gateway, token, volume.id), password: volume.password };
    const owner: Repository = { url: repositoryUrl(gateway, renter.key, volume.id), password: volume.password };
    await makeRepository(gateway, token, volume);
    for (const tag of ['one', 'two']) await resticDone(held, 'backup', '--tag', tag, files);
    const listed = JSON.parse(await resticDone(owner, '--no-lock', 'snapshots', '--json')) as { id: string }[];
    expect(listed).toHaveLength(2);
    const { rows } = await gateway.deps.db.pool.query(
      'select id from volume_snapshot where volume_id = $1 and lease = 1 and dropped_at is null order by at',
      [volume.id],
    );
    expect(rows.map(({ id }) => id)).toEqual(listed.map(({ id }) => id));
    const target = await mkdtemp(join(tmpdir(), 'restored-'));
    await resticDone(owner, '--no-lock', 'restore', 'latest', '--target', target);
    expect((await readFile(join(target, files, 'large'))).equals(await readFile(join(files, 'large')))).toBe(true);
    expect(await readdir(join(target, files, 'small'))).toHaveLength(200);
    await rm(target, { recursive: true });

    // The owner doesn't write with restic while the instance holds the lease, since restic would retry for 15 minutes.
    const first = `${volume.id}/snapshots/${listed[0]!.id}`;
    expect((await requestVolume(gateway, renter.key, 'DELETE', first)).status).toBe(409);
    await endLease(gateway, volume.id);
    // Until the gateway has verified what the instance wrote, it rejects pack deletions. A call during the gateway's
    // own upkeep has no effect, so it is repeated.
    const unverified = async () => {
      await maintainVolumes(gateway.deps, upkeepOptions(gateway));
      const text = `select from volume_index where volume_id = $1 and state <> 'VERIFIED'`;
      return (await gateway.deps.db.pool.query(text, [volume.id])).rowCount;
    };
    await expect.poll(unverified, { timeout: 60_000 }).toBe(0);
    await resticDone(owner, 'forget', '--keep-last', '1', '--group-by', '', '--prune');
    expect(JSON.parse(await resticDone(owner, 'snapshots', '--json'))).toMatchObject([{ id: listed[1]!.id }]);
    expect(await resticDone(owner, 'check', '--read-data')).toContain('no errors were found');
    const { rows: left } = await gateway.deps.db.pool.query(
      'select id from volume_snapshot where volume_id = $1 and dropped_at is null',
      [volume.id],
    );
    expect(left).toEqual([{ id: listed[1]!.id }]);
  });
});

describe("restic's own client", needs('restic'), () => {
  test('lets the owner upload data before any rental and copy it to a disk', {
    timeout: 120_000,
  }, async () => {
    const gateway = await startVolumeGateway();
    const renter = await gateway.renter();
    const volume = await newVolume(gateway, renter.accountId);
    const owner: Repository = { url: repositoryUrl(gateway, renter.key, volume.id), password: volume.password };
    await resticDone(owner, 'init');
    await resticDone(owner, 'backup', join(files, 'small'));
    const folder = await mkdtemp(join(tmpdir(), 'copy-'));
    await writeFile(join(folder, 'password'), volume.password);
    const local: Repository = { url: join(folder, 'copy'), password: volume.password };
    await resticDone(local, 'init');
    await resticDone(local, 'copy', '--from-repo', owner.url, '--from-password-file', join(folder, 'password'));
    expect(await readdir(join(local.url, 'snapshots'))).toHaveLength(1);
    await rm(folder, { recursive: true });
    await gateway.close();
  });
});
