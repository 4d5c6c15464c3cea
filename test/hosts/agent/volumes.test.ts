import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredInstance, ObservedVolume } from '../../../src/agent-protocol/protocol.js';
import { desiredInstance, type TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import { mountsBelow } from '../../support/hosts/leftovers.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ResticStore } from '../../support/hosts/restic-store.js';
import { RunningHost } from '../../support/hosts/running-host.js';
import type { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { isLong } from '../../support/long.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const WITHIN_MS = 60_000;

describe.each<EngineName>(['podman', 'docker'])('a volume on %s', (name) => {
  const wanted = needsEngine(name, 'restic', 'rclone', 'setpriv');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  const opened = new RunningHost();
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let store: ResticStore;
  let host: TestHost;
  let tests = 0;
  let id = '';
  let volume = '';

  beforeAll(async () => {
    ({ registry, engine, gateway, host } = await opened.open(name, { busybox: {} }));
    store = await ResticStore.open();
    gateway.store = store;
  });
  afterAll(async () => {
    await opened.close();
    await store?.close();
  });
  beforeEach(() => {
    tests += 1;
    id = `i-${String(tests).padStart(8, '0')}`;
    volume = `v-${String(tests).padStart(8, '0')}`;
    store.leases.set(volume, 1);
    // The first test covers a volume without a repository.
    if (tests > 1) store.make(volume);
    store.snapshotSeconds = 3_600;
    store.isDown = false;
    store.clearRequests();
  });
  afterEach(async () => {
    store.isDown = false;
    store.leases.delete(volume);
    gateway.setDesired([
      desiredInstance(id, 'absent', { volumes: [{ id: volume, path: '/data', sizeGb: 1, lease: null }] }),
    ]);
    await gateway.phase(id, 'ERASED', WITHIN_MS);
    expect([host.disks, filesLeft()]).toEqual([[], []]);
  });

  /** Defines a test that doesn't depend on the engine, so it runs with only one engine except in the long run. */
  const itsOwn = it.runIf(isLong || name === 'podman');

  const filesLeft = () => {
    const dir = join(host.dataDir, 'volumes');
    const left = existsSync(dir) ? readdirSync(dir).filter((file) => file.startsWith('v-')) : [];
    return [...left, ...mountsBelow(host.dataDir)];
  };
  const desired = (phase: DesiredInstance['phase'], lease: number | null, rest: Partial<DesiredInstance> = {}) =>
    desiredInstance(id, phase, {
      image: `${registry.at}/busybox`,
      memoryMb: 64,
      volumes: [{ id: volume, path: '/data', sizeGb: 1, lease }],
      ...rest,
    });
  const run = async (lease: number, start = lease, rest: Partial<DesiredInstance> = {}) => {
    gateway.setDesired([desired('running', lease, { start, ...rest })]);
    return gateway.waitUntil(id, (seen) => seen.phase === 'RUNNING' && seen.start === start, WITHIN_MS);
  };
  const stop = async (lease: number, start = lease) => {
    gateway.setDesired([desired('stopped', lease, { start })]);
    const seen = await gateway.waitUntil(
      id,
      ({ volumes, phase }) => phase === 'STOPPED' && volumes?.[0]?.saved === true,
      WITHIN_MS,
    );
    return seen.volumes![0]!;
  };
  const sh = async (script: string) => {
    const { code, text } = await engine.exec(id, 'sh', '-c', script);
    expect([code, text]).toEqual([0, text]);
    return text;
  };

  it('starts empty, is saved on stop, and needs no restore on the same host', async () => {
    await run(1);
    expect(gateway.reports.at(-1)?.volumes).toBe(true);
    expect(await sh('ls -A /data')).toBe('');
    await sh('echo one > /data/file; ln /data/file /data/link; ln -s file /data/soft');
    const saved = await stop(1);
    expect(saved).toMatchObject({ id: volume, lease: 1, snapshot: store.snapshots(volume).at(-1), message: null });
    expect(mountsBelow(host.dataDir).filter((path) => path.includes('/volumes/'))).toEqual([]);

    store.leases.set(volume, 2);
    gateway.setDesired([desired('stopped', null, { start: 1 })]);
    await gateway.waitUntil(id, ({ volumes }) => volumes === undefined);
    store.clearRequests();
    await run(2);
    expect(await sh('cat /data/file /data/soft')).toBe('one\none\n');
    expect(store.requests).toEqual([]);
    expect(host.log).not.toContain('hush-repository');
    expect(host.log).not.toContain('lease-1');
  });

  itsOwn('is restored from the newest snapshot if its files are not on the host', async () => {
    await run(1);
    await sh('echo one > /data/file; mkdir /data/empty; chmod 700 /data/empty; touch -t 200001010000 /data/file');
    await stop(1);
    await store.restic(volume, 'tag', '--add', 'x', 'latest');
    store.leases.set(volume, 2);
    await run(2);
    expect(await sh('cat /data/file; stat -c "%a %Y" /data/empty /data/file')).toMatch(
      /^one\n700 \d+\n644 946684800\n$/,
    );
    expect(store.requests.some((asked) => asked === 'GET data')).toBe(true);
  });

  itsOwn('is mounted at its path, even in place of the instance’s own disk', async () => {
    await run(1, 1, { volumes: [{ id: volume, path: '/workspace', sizeGb: 1, lease: 1 }] });
    await sh('echo mine > /workspace/file');
    gateway.setDesired([desired('stopped', 1, { volumes: [{ id: volume, path: '/workspace', sizeGb: 1, lease: 1 }] })]);
    await gateway.waitUntil(id, ({ volumes, phase }) => phase === 'STOPPED' && volumes?.[0]?.saved === true, WITHIN_MS);
    expect(await store.restic(volume, 'ls', 'latest')).toContain('/mnt/file');
  });

  itsOwn('is saved at intervals and reports failures without stopping the instance', async () => {
    store.snapshotSeconds = 1;
    await run(1);
    await sh('echo one > /data/file');
    const told = (seen: (volume: ObservedVolume) => boolean) =>
      gateway.waitUntil(
        id,
        ({ volumes, phase }) => phase === 'RUNNING' && volumes !== undefined && seen(volumes[0]!),
        WITHIN_MS,
      );
    await told(({ snapshot, saved, message }) => snapshot !== null && !saved && message === null);
    store.isDown = true;
    await told(({ message }) => message !== null);
    const before = store.snapshots(volume).length;
    store.isDown = false;
    await told(({ message, snapshot }) => message === null && snapshot !== store.snapshots(volume)[before - 1]);
    expect(store.snapshots(volume).length).toBeGreaterThan(before);
  });

  itsOwn('is erased once saved, after its instance’s GPUs and processors are freed', async () => {
    await run(1);
    await sh('echo last > /data/file');
    store.isDown = true;
    const gone = desired('absent', 1);
    gateway.setDesired([gone]);
    await gateway.waitUntil(
      id,
      ({ phase, message }) => phase === 'SAVING' && /not saved yet: the store/.test(message ?? ''),
      WITHIN_MS,
    );
    const next = 'i-0000ffff';
    gateway.setDesired([gone, desiredInstance(next, 'running', { image: `${registry.at}/busybox`, memoryMb: 64 })]);
    await gateway.phase(next, 'RUNNING', WITHIN_MS);
    expect(gateway.observed(id)!.phase).toBe('SAVING');
    expect(filesLeft()).toContain(`${volume}.ext4`);
    gateway.setDesired([gone, desiredInstance(next, 'absent')]);
    await gateway.phase(next, 'ERASED', WITHIN_MS);
    store.isDown = false;
    await gateway.waitUntil(id, ({ volumes }) => volumes?.[0]?.saved === true, WITHIN_MS);
    expect(await store.restic(volume, 'dump', 'latest', '/mnt/file')).toBe('last\n');
    // The gateway hasn't confirmed the snapshot yet.
    expect(gateway.observed(id)!.phase).toBe('SAVING');
    store.leases.delete(volume);
    gateway.setDesired([desired('absent', null)]);
    await gateway.phase(id, 'ERASED', WITHIN_MS);
  });

  itsOwn('loses writes refused after its lease moved, once it returns to the host', async () => {
    store.snapshotSeconds = 1;
    await run(1);
    await sh('echo saved > /data/file');
    await gateway.waitUntil(id, ({ volumes }) => volumes?.[0]?.snapshot != null, WITHIN_MS);
    store.leases.set(volume, 2);
    await sh('echo late > /data/file');
    await gateway.waitUntil(
      id,
      ({ volumes }) => /lease|no longer|no volume/.test(volumes?.[0]?.message ?? ''),
      WITHIN_MS,
    );
    const count = store.snapshots(volume).length;
    gateway.setDesired([desired('stopped', null)]);
    await gateway.phase(id, 'STOPPED', WITHIN_MS);
    // This simulates writes by another host in the meantime.
    await store.restic(volume, 'tag', '--add', 'elsewhere', 'latest');
    expect(store.snapshots(volume)).toHaveLength(count);
    store.leases.set(volume, 3);
    await run(3, 2);
    expect(await sh('cat /data/file')).toBe('saved\n');
  });

  itsOwn('keeps unsaved changes through a crash of the agent and host and is saved later', async () => {
    await run(1);
    await sh('echo unsaved > /data/file; sync');
    await host.end('SIGKILL');
    await engine.docker.getContainer(`gpu-${id}`).kill();
    const mounted = mountsBelow(join(host.dataDir, 'volumes'));
    expect(mounted).toHaveLength(1);
    execFileSync('umount', mounted);
    expect(store.requests).not.toContain('POST snapshots');
    host.start();
    await gateway.next();
    await until('it runs again', async () => (await engine.containers()).get(id)?.running, WITHIN_MS, POLL_EVERY_MS);
    expect(await sh('cat /data/file')).toBe('unsaved\n');
    expect(store.requests).not.toContain('GET data');
    expect(await stop(1)).toMatchObject({ saved: true, message: null });
    expect(await store.restic(volume, 'dump', 'latest', '/mnt/file')).toBe('unsaved\n');
  });

  itsOwn('is saved after a crash of the agent and host even if its instance stays stopped', async () => {
    await run(1);
    await sh('echo unsaved > /data/file; sync');
    await host.end('SIGKILL');
    await engine.docker.getContainer(`gpu-${id}`).kill();
    execFileSync('umount', mountsBelow(join(host.dataDir, 'volumes')));
    gateway.setDesired([desired('stopped', 1)]);
    host.start();
    await stop(1);
    // The mount point is empty now. A snapshot of it would have been the newest.
    expect(await store.restic(volume, 'dump', 'latest', '/mnt/file')).toBe('unsaved\n');
  });

  itsOwn('is restored again if the agent was killed during a restore', async () => {
    await run(1);
    await sh('head -c 20000000 /dev/urandom > /data/file; sha256sum < /data/file > /data/sum');
    await stop(1);
    await store.restic(volume, 'tag', '--add', 'elsewhere', 'latest');
    store.leases.set(volume, 2);
    gateway.setDesired([desired('running', 2, { start: 2 })]);
    await gateway.phase(id, 'RESTORING', WITHIN_MS);
    await host.end('SIGKILL');
    host.start();
    await gateway.waitUntil(id, (seen) => seen.phase === 'RUNNING' && seen.start === 2, WITHIN_MS);
    expect(await sh('sha256sum < /data/file | cmp - /data/sum && echo same')).toBe('same\n');
  });

  itsOwn('is still saved by a restarted agent while its instance runs', async () => {
    await run(1);
    await sh('echo one > /data/file');
    await host.end('SIGKILL');
    store.snapshotSeconds = 1;
    host.start();
    await gateway.waitUntil(id, ({ volumes }) => volumes?.[0]?.snapshot != null, WITHIN_MS);
  });

  itsOwn('can fill only its own space', async () => {
    const other = { id: 'v-0000ffff', path: '/other', sizeGb: 1, lease: 1 };
    store.leases.set(other.id, 1);
    const volumes = [{ id: volume, path: '/data', sizeGb: 1, lease: 1 }, other];
    await run(1, 1, { volumes });
    const { code, text } = await engine.exec(id, 'dd', 'if=/dev/zero', 'of=/data/big', 'bs=1M', 'count=1100');
    expect([code, text]).toEqual([1, expect.stringContaining('No space left on device')]);
    await sh('dd if=/dev/zero of=/other/big bs=1M count=8 2>&1');
    await sh('rm /data/big');
    store.leases.delete(other.id);
  });

  itsOwn('grows at the next start and keeps its files', async () => {
    await run(1);
    await sh('echo one > /data/file');
    const sizeOf = async () => Number(await sh("df -m /data | awk 'END { print $2 }'"));
    const before = await sizeOf();
    await stop(1);
    store.leases.set(volume, 2);
    await run(2, 2, { volumes: [{ id: volume, path: '/data', sizeGb: 3, lease: 2 }] });
    expect((await sizeOf()) / before).toBeGreaterThan(2.5);
    expect(await sh('cat /data/file')).toBe('one\n');
  });

  itsOwn('makes a start fail if the repository’s key has another password', async () => {
    await run(1);
    await stop(1);
    await store.restic(volume, 'tag', '--add', 'elsewhere', 'latest');
    store.leases.set(volume, 2);
    store.changePassword(volume);
    const began = Date.now();
    gateway.setDesired([desired('running', 2, { start: 2 })]);
    const { message, fault } = await gateway.phase(id, 'FAILED', WITHIN_MS);
    expect([fault, message]).toEqual(['image', expect.stringContaining('wrong password')]);
    expect(Date.now() - began).toBeLessThan(WITHIN_MS);
  });

  itsOwn(
    'makes a start wait for its store, but fail with a charge if it is unreadable',
    async () => {
      await run(1);
      await sh('head -c 3000000 /dev/urandom > /data/file');
      await stop(1);
      await store.restic(volume, 'tag', '--add', 'elsewhere', 'latest');
      store.leases.set(volume, 2);
      store.isDown = true;
      gateway.setDesired([desired('running', 2, { start: 2 })]);
      await gateway.waitUntil(
        id,
        ({ phase, message }) => phase === 'RESTORING' && /store/.test(message ?? ''),
        WITHIN_MS,
      );
      const data = join(store.dir, volume, 'data');
      for (const file of readdirSync(data, { recursive: true, encoding: 'utf8' }).map((each) => join(data, each)))
        if (statSync(file).isFile()) writeFileSync(file, randomBytes(statSync(file).size));
      store.isDown = false;
      const { message, fault } = await gateway.phase(id, 'FAILED', 120_000);
      expect([fault, message]).toEqual(['image', expect.stringContaining(volume)]);
      gateway.setDesired([desired('stopped', 2, { start: 2 })]);
      // A partially restored volume must not become the newest snapshot.
      await gateway.waitUntil(
        id,
        ({ volumes, phase }) => phase === 'STOPPED' && volumes?.[0]?.saved === true,
        WITHIN_MS,
      );
      expect(gateway.observed(id)!.volumes![0]!.snapshot).toBeNull();
    },
    240_000,
  );
});
