import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredInstance } from '../../src/agent/protocol.js';
import { TestHost, wished } from './support/agent-process.js';
import { type EngineName, mountsBelow, needsEngine, startEngine, type TestEngine } from './support/engines.js';
import { startRegistry, type TestRegistry } from './support/registry.js';
import { ResticStore } from './support/restic-store.js';
import { ScriptedGateway } from './support/scripted-gateway.js';

const WITHIN_MS = 60_000;

describe.each<EngineName>(['podman', 'docker'])('volumes on %s', (name) => {
  const wanted = needsEngine(name, 'restic', 'rclone', 'setpriv');
  if (wanted.skip) {
    it('is left out', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let store: ResticStore;
  let host: TestHost;
  let tests = 0;
  let id = '';
  let volume = '';

  beforeAll(async () => {
    registry = await startRegistry();
    engine = await startEngine(name, [registry.at]);
    await registry.push('busybox');
    await engine.pull(`${registry.at}/busybox:latest`);
    gateway = await ScriptedGateway.open();
    store = await ResticStore.open();
    gateway.store = store;
    host = new TestHost(engine, gateway);
    host.start();
  });
  afterAll(async () => {
    await host?.close();
    await gateway?.close();
    await store?.close();
    await engine?.close();
    await registry?.close();
  });
  beforeEach(() => {
    tests += 1;
    id = `i-${String(tests).padStart(8, '0')}`;
    volume = `v-${String(tests).padStart(8, '0')}`;
    store.leases.set(volume, 1);
    store.snapshotSeconds = 3_600;
    store.isAway = false;
  });
  afterEach(async () => {
    store.isAway = false;
    store.leases.delete(volume);
    gateway.wish([wished(id, 'absent', { volumes: [{ id: volume, path: '/data', sizeGb: 1, lease: null }] })]);
    await gateway.phase(id, 'ERASED', WITHIN_MS);
    expect([host.disks, filesLeft()]).toEqual([[], []]);
  });

  const filesLeft = () => {
    const dir = join(host.dataDir, 'volumes');
    const left = existsSync(dir) ? readdirSync(dir).filter((file) => file.startsWith('v-')) : [];
    return [...left, ...mountsBelow(host.dataDir)];
  };
  const desired = (phase: DesiredInstance['phase'], lease: number | null, rest: Partial<DesiredInstance> = {}) =>
    wished(id, phase, {
      image: `${registry.at}/busybox`,
      memoryMb: 64,
      volumes: [{ id: volume, path: '/data', sizeGb: 1, lease }],
      ...rest,
    });
  const run = async (lease: number, start = lease, rest: Partial<DesiredInstance> = {}) => {
    gateway.wish([desired('running', lease, { start, ...rest })]);
    return gateway.sees(id, (seen) => seen.phase === 'RUNNING' && seen.start === start, WITHIN_MS);
  };
  const stop = async (lease: number, start = lease) => {
    gateway.wish([desired('stopped', lease, { start })]);
    const seen = await gateway.sees(
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

  it('begins empty, is saved at the stop, and the next start on this host restores nothing', async () => {
    await run(1);
    expect(gateway.reports.at(-1)?.volumes).toBe(true);
    expect(await sh('ls -A /data')).toBe('');
    await sh('echo one > /data/file; ln /data/file /data/link; ln -s file /data/soft');
    const saved = await stop(1);
    expect(saved).toMatchObject({ id: volume, lease: 1, snapshot: store.snapshots(volume).at(-1), message: null });
    expect(mountsBelow(host.dataDir).filter((path) => path.includes('/volumes/'))).toEqual([]);

    store.leases.set(volume, 2);
    gateway.wish([desired('stopped', null, { start: 1 })]);
    await gateway.sees(id, ({ volumes }) => volumes === undefined);
    expect(store.asked).not.toEqual([]);
    await run(2);
    expect(await sh('cat /data/file /data/soft')).toBe('one\none\n');
    expect(store.asked).toEqual([]);
    expect(host.log).not.toContain('hush-repository');
    expect(host.log).not.toContain('lease-1');
  });

  it('is restored where its files are not on the host, from the newest snapshot', async () => {
    await run(1);
    await sh('echo one > /data/file; mkdir /data/empty; chmod 700 /data/empty; touch -t 200001010000 /data/file');
    await stop(1);
    await store.restic(volume, 'tag', '--add', 'x', 'latest');
    store.leases.set(volume, 2);
    await run(2);
    expect(await sh('cat /data/file; stat -c "%a %Y" /data/empty /data/file')).toMatch(
      /^one\n700 \d+\n644 946684800\n$/,
    );
    expect(store.asked.some((asked) => asked === 'GET data')).toBe(true);
  });
});
