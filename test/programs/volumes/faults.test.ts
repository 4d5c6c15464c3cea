import { execFile, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { needsRoot } from '../../support/tools.js';
import {
  makeRepository,
  nameOf,
  newVolume,
  repositoryUrl,
  requestVolume,
  resticDone,
  startVolumeGateway,
  takeLease,
} from '../../support/volumes.js';

const LONG = { timeout: 120_000 };

describe('a full store', needsRoot('mount', 'umount'), () => {
  test('returns 507, keeps no partial uploads and works again once there is space', LONG, async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'full-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', dataDir]);
    const gateway = await startVolumeGateway({ dataDir });
    try {
      const { id } = await newVolume(gateway, (await gateway.renter()).accountId);
      const token = await takeLease(gateway, id);
      const put = (body: Buffer) => requestVolume(gateway, token, 'POST', `${id}/data/${nameOf(body)}`, { body });
      const [one, two] = [randomBytes(2_000_000), randomBytes(2_000_000)];
      expect((await put(one)).status).toBe(200);
      const full = await put(two);
      expect([full.status, (await full.json()).error.message]).toEqual([507, 'the volume store is full']);
      expect(await readdir(join(dataDir, 'volumes', id, 'arriving'))).toEqual([]);
      const there = await requestVolume(gateway, token, 'GET', `${id}/data/${nameOf(one)}`);
      expect(Buffer.from(await there.arrayBuffer()).equals(one)).toBe(true);
      execFileSync('mount', ['-o', 'remount,size=8m', dataDir]);
      expect((await put(two)).status).toBe(200);
    } finally {
      await gateway.close();
      execFileSync('umount', [dataDir]);
      await rm(dataDir, { recursive: true });
    }
  });
});

test('an unreachable store leads to 503 with Retry-After until it is reachable again', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'away-'));
  const gateway = await startVolumeGateway({ dataDir });
  const { id } = await newVolume(gateway, (await gateway.renter()).accountId);
  const token = await takeLease(gateway, id);
  await writeFile(join(dataDir, 'volumes'), 'a file where the folder was');
  const body = randomBytes(100);
  const path = `${id}/data/${nameOf(body)}`;
  const away = await requestVolume(gateway, token, 'POST', path, { body });
  expect([away.status, away.headers.get('retry-after')]).toEqual([503, '5']);
  await rm(join(dataDir, 'volumes'));
  expect((await requestVolume(gateway, token, 'POST', path, { body })).status).toBe(200);
  await gateway.close();
  await rm(dataDir, { recursive: true });
});

describe('FUSE', needsRoot('restic', 'fusermount3', 'umount'), () => {
  test('lets the owner mount the volume and read a file', LONG, async () => {
    const gateway = await startVolumeGateway();
    const renter = await gateway.renter();
    const { id, password } = await newVolume(gateway, renter.accountId);
    const repository = { url: repositoryUrl(gateway, renter.key, id), password };
    const dir = await mkdtemp(join(tmpdir(), 'mount-'));
    const bytes = randomBytes(3_000_000);
    await mkdir(join(dir, 'files'));
    await writeFile(join(dir, 'files', 'file'), bytes);
    await makeRepository(gateway, renter.key, { id, password });
    await resticDone(repository, 'backup', join(dir, 'files'));
    const at = join(dir, 'at');
    await mkdir(at);
    const mounted = spawn('restic', ['--no-cache', '--no-lock', 'mount', at], {
      env: { PATH: process.env.PATH, HOME: dir, RESTIC_REPOSITORY: repository.url, RESTIC_PASSWORD: password },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => mounted.once('close', resolve));
    try {
      const file = join(at, 'snapshots/latest', dir, 'files', 'file');
      await vi.waitFor(async () => expect((await readFile(file)).equals(bytes)).toBe(true), {
        timeout: 60_000,
        interval: 500,
      });
    } finally {
      mounted.kill('SIGINT');
      await ended;
      await promisify(execFile)('umount', ['-l', at]).catch(() => {});
      await gateway.close();
      await rm(dir, { recursive: true, force: true });
    }
  });
});
