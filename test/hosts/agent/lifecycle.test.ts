import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LABELS } from '../../../src/agent/engine/engine.js';
import type { DesiredInstance } from '../../../src/agent-protocol/protocol.js';
import { desiredInstance, MACHINE, type TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { RunningHost } from '../../support/hosts/running-host.js';
import { type ScriptedGateway, TOKEN } from '../../support/hosts/scripted-gateway.js';
import { isLong } from '../../support/long.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const FAILING = ['/bin/sh', '-c', 'sleep 0.3; exit 7'];

describe.each<EngineName>(['podman', 'docker'])('the host agent on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  const opened = new RunningHost();
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  let image: string;
  /** Instance id. Each test has its own, because an agent doesn't repeat a failed start. */
  let [id, other] = ['', ''];
  let tests = 0;

  beforeAll(async () => {
    ({ registry, engine, gateway, host } = await opened.open(name, { busybox: {} }));
    image = `${registry.at}/busybox`;
  });
  afterAll(() => opened.close());
  beforeEach(() => {
    tests += 1;
    [id, other] = [`i-${String(tests).padStart(8, '0')}`, `i-1${String(tests).padStart(7, '0')}`];
  });
  /** Removes everything before the next test. */
  afterEach(async () => {
    const there = new Set([id, other, ...(await engine.containers()).keys()]);
    gateway.setDesired([...there].map((each) => desiredInstance(each, 'absent')));
    for (const each of there) await gateway.phase(each, 'ERASED', 60_000);
    expect(host.disks).toEqual([]);
  });

  const running = (of: string, rest = {}) => desiredInstance(of, 'running', { image, gpus: 1, ...rest });
  /** Defines a test that doesn't depend on the engine, so it runs with only one engine except in the long run. */
  const itsOwn = it.runIf(isLong || name === 'podman');

  it('starts a container with its GPUs, limits and environment', async () => {
    gateway.setDesired([running(id, { gpus: 2, env: { NAME: 'a value', SECRET: 'hush-hush' } })]);
    await gateway.phase(id, 'RUNNING');
    const devices = await engine.exec(id, 'ls', '/dev');
    expect(devices.text.split('\n').filter((file) => file.startsWith('gpu-pretended'))).toHaveLength(2);
    const environment = await engine.exec(id, 'env');
    expect(environment.text).toMatch(/^NAME=a value$/m);
    const status = await engine.exec(id, 'cat', '/proc/1/status');
    expect(status.text).toMatch(/^NoNewPrivs:\s+1$/m);
    const capabilities = BigInt(`0x${/^CapBnd:\s+([0-9a-f]+)$/m.exec(status.text)![1]}`);
    const [NET_RAW, SYS_ADMIN, MKNOD, CHOWN] = [13n, 21n, 27n, 0n];
    for (const bit of [NET_RAW, SYS_ADMIN, MKNOD]) expect((capabilities >> bit) & 1n).toBe(0n);
    expect((capabilities >> CHOWN) & 1n).toBe(1n);
    const { HostConfig, Mounts } = await engine.docker.getContainer(`gpu-${id}`).inspect();
    expect(HostConfig).toMatchObject({ Memory: 256 * 2 ** 20, PidsLimit: 16_384, NanoCpus: 1e9, Privileged: false });
    expect(Mounts.map(({ Destination }) => Destination)).toEqual(['/workspace']);
    expect(host.log).not.toContain('hush-hush');
    expect(host.log).not.toContain(TOKEN);
  });

  it.runIf(name === 'podman')('starts a container even if a killed Podman left storage under its name', async () => {
    // A Podman with another database creates the storage. This one doesn't know the container but refuses its name.
    const dir = dirname(engine.socket);
    const driver = existsSync(join(dir, 'root/overlay')) ? 'overlay' : 'vfs';
    const [engineConf, storageConf] = [join(dir, 'elsewhere.conf'), join(dir, 'storage.conf')];
    writeFileSync(engineConf, `[engine]\nstatic_dir = "${dir}/elsewhere"\ntmp_dir = "${dir}/elsewhere-tmp"\n`);
    writeFileSync(storageConf, `[storage]\ndriver = "${driver}"\ngraphroot = "${dir}/root"\nrunroot = "${dir}/run"\n`);
    const env = { ...process.env, CONTAINERS_CONF: engineConf, CONTAINERS_STORAGE_CONF: storageConf };
    const create = ['--cgroup-manager', 'cgroupfs', 'create', '--name', `gpu-${id}`, `${image}:latest`, 'true'];
    execFileSync('podman', create, { env, stdio: 'pipe' });
    await expect(engine.docker.getContainer(`gpu-${id}`).inspect()).rejects.toMatchObject({ statusCode: 404 });
    expect((await engine.containers()).size).toBe(0);
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING', 60_000);
    expect(host.log).toContain('is already in use');
    gateway.setDesired([desiredInstance(id, 'absent', { image })]);
    await gateway.phase(id, 'ERASED', 60_000);
  });

  it('keeps files when an instance stops and starts, and erases them on destroy', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    await engine.exec(id, 'sh', '-c', 'echo kept > /workspace/file; echo also > /etc/file; sync');
    gateway.setDesired([desiredInstance(id, 'stopped', { image, gpus: 1 })]);
    const stopped = await gateway.phase(id, 'STOPPED');
    expect(stopped).toMatchObject({ start: 1, exitCode: 0 });
    expect((await engine.containers()).get(id)?.running).toBe(false);
    gateway.setDesired([running(id, { start: 2 })]);
    await gateway.waitUntil(id, ({ phase, start }) => phase === 'RUNNING' && start === 2);
    expect((await engine.exec(id, 'cat', '/workspace/file', '/etc/file')).text).toBe('kept\nalso\n');
    gateway.setDesired([desiredInstance(id, 'absent', { image, start: 2 })]);
    await gateway.phase(id, 'ERASED');
    expect((await engine.containers()).size).toBe(0);
    expect((await engine.docker.listVolumes()).Volumes ?? []).toEqual([]);
    expect(host.disks).toEqual([]);
  });

  itsOwn('lets an instance fill only its own disk', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    // Most of the disk is allocated in one step, because writing all of it would take ten seconds.
    expect((await engine.exec(id, '/bin/busybox', 'fallocate', '-l', '800M', '/workspace/most')).code).toBe(0);
    const filled = await engine.exec(id, 'dd', 'if=/dev/zero', 'of=/workspace/rest', 'bs=1M', 'count=300');
    expect(filled.code).not.toBe(0);
    expect(filled.text).toContain('No space left on device');
    expect((await engine.exec(id, 'sh', '-c', 'echo fine > /tmp/elsewhere')).code).toBe(0);
    await gateway.next();
    expect(gateway.observed(id)?.phase).toBe('RUNNING');
  });

  itsOwn('restarts an exited container with increasing delays and reports each restart', async () => {
    gateway.setDesired([running(id, { command: FAILING })]);
    const first = await gateway.waitUntil(id, ({ restarts }) => restarts === 1);
    expect(first).toMatchObject({ phase: 'WAITING', exitCode: 7 });
    const began = performance.now();
    await gateway.waitUntil(id, ({ restarts }) => restarts === 2);
    const second = performance.now();
    await gateway.waitUntil(id, ({ restarts }) => restarts === 3);
    const third = performance.now();
    expect(second - began).toBeGreaterThan(1_000);
    expect(third - second).toBeGreaterThan(2_000);
  });

  const NONE = 'an image that does not exist';
  const failures: [string, Partial<DesiredInstance>, RegExp, string][] = [
    [NONE, {}, /^the registry has no such image$/, 'image'],
    ['a command that the image lacks', { command: ['/no/such'] }, /^\/no\/such was not found in the image$/, 'image'],
  ];
  const ownFailures: typeof failures = [
    ['an invalid image name', { image: '../containers' }, /^the image name is invalid$/, 'image'],
    ['more GPUs than the host has', { gpus: 3 }, /does not have 3 GPUs/, 'host'],
  ];
  it.each([...failures, ...(isLong || name === 'podman' ? ownFailures : [])])(
    'reports a permanent failure and its reason: %s',
    async (what, rest, words, fault) => {
      gateway.setDesired([running(id, what === NONE ? { image: `${registry.at}/none` } : rest)]);
      const failed = await gateway.phase(id, 'FAILED', 120_000);
      expect(failed.message).toMatch(words);
      expect(failed.fault).toBe(fault);
      expect([...(await engine.containers()).values()].filter((container) => container.running)).toEqual([]);
    },
  );

  itsOwn('starts another instance after a permanent failure', async () => {
    gateway.setDesired([running(id, { command: ['/no/such'] })]);
    await gateway.phase(id, 'FAILED');
    gateway.setDesired([desiredInstance(id, 'absent')]);
    await gateway.phase(id, 'ERASED');
    gateway.setDesired([running(other)]);
    await gateway.phase(other, 'RUNNING');
  });

  itsOwn('stops and reports an unknown container, but erases it only on request', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    gateway.setDesired([]);
    await until('unknown', () => gateway.reports.at(-1)?.unknown.includes(id), 10_000);
    await until('stopped', async () => (await engine.containers()).get(id)?.running === false, 10_000, POLL_EVERY_MS);
    await gateway.next();
    expect((await engine.containers()).has(id)).toBe(true);
    expect(gateway.reports.at(-1)).toMatchObject({ unknown: [id], instances: [] });
    gateway.setDesired([desiredInstance(id, 'absent')]);
    await gateway.phase(id, 'ERASED');
    expect((await engine.containers()).size).toBe(0);
    gateway.setDesired([]);
    // A report may still list containers as they were before the last erasure.
    const isForgotten = () => {
      const { instances, unknown } = gateway.reports.at(-1)!;
      return instances.length + unknown.length === 0;
    };
    await until('forgotten', isForgotten, 30_000);
  });

  itsOwn('ignores a repeated document and accepts an older one after a restore', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    const { State } = await engine.docker.getContainer(`gpu-${id}`).inspect();
    gateway.setDesired([running(id)]);
    const before = gateway.generation;
    gateway.setDesired([running(id), desiredInstance(other, 'stopped')], before + 40);
    await gateway.phase(other, 'STOPPED');
    gateway.setDesired([running(id)], before - 1);
    await until('the older document', () => gateway.reports.at(-1)?.generation === before - 1, 15_000);
    await gateway.phase(id, 'RUNNING');
    expect((await engine.docker.getContainer(`gpu-${id}`).inspect()).State.StartedAt).toBe(State.StartedAt);
  });

  it.each([
    ['stopped', (old: string) => [desiredInstance(old, 'stopped', { image, gpus: 1 })]],
    ['erased', (old: string) => [desiredInstance(old, 'absent', { image, gpus: 1 })]],
    // The engine treats this like the first case.
    ...(isLong || name === 'podman' ? [['no longer named', () => []] as const] : []),
  ] as const)('starts no container before an old one that is %s has exited', async (_, otherwise) => {
    const [old, newer] = [randomId(), randomId()];
    const since = Math.floor(Date.now() / 1_000) - 1;
    // The old container ignores SIGTERM, so a wrong order would have time to occur.
    gateway.setDesired([running(old, { command: ['/bin/sh', '-c', 'trap "" TERM; exec sleep 1000000'] })]);
    await gateway.phase(old, 'RUNNING');
    gateway.setDesired([...otherwise(old), running(newer)]);
    await gateway.phase(newer, 'RUNNING');
    const order = (await engine.events(since)).filter((event) => /^(start|die) /.test(event));
    expect(order.filter((event) => event.endsWith(old) || event.endsWith(newer))).toEqual([
      `start ${old}`,
      `die ${old}`,
      `start ${newer}`,
    ]);
  });

  itsOwn('never gives a GPU to two instances, even if the document says so', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    gateway.setDesired([running(id), running(other)]);
    await gateway.waitUntil(
      other,
      ({ phase, message }) =>
        phase === 'WAITING' && message !== null && message.includes('another instance has the GPUs'),
    );
    gateway.setDesired([desiredInstance(id, 'absent'), running(other)]);
    await gateway.phase(other, 'RUNNING');
  });

  it('ignores other machines’ containers and keeps its own running across a restart', async () => {
    gateway.setDesired([running(id)]);
    await gateway.phase(id, 'RUNNING');
    const { State } = await engine.docker.getContainer(`gpu-${id}`).inspect();
    expect((await host.end('SIGTERM'))?.code).toBe(0);
    expect((await engine.containers()).get(id)?.running).toBe(true);
    const foreign = await engine.docker.createContainer({
      name: 'foreign',
      Image: `${image}:latest`,
      Labels: { [LABELS.instance]: other, [LABELS.machine]: `${MACHINE}-2`, [LABELS.start]: '1' },
      HostConfig: {
        Ulimits: [
          { Name: 'nofile', Soft: 1_024, Hard: 1_024 },
          { Name: 'nproc', Soft: 1_024, Hard: 1_024 },
        ],
      },
    });
    await foreign.start();
    gateway.reports = [];
    host.start();
    await gateway.phase(id, 'RUNNING');
    expect((await engine.docker.getContainer(`gpu-${id}`).inspect()).State.StartedAt).toBe(State.StartedAt);
    expect((await foreign.inspect()).State.Running).toBe(true);
    expect(gateway.reports.at(-1)?.unknown).toEqual([]);
    await foreign.remove({ force: true });
  });
});

/** Returns an id that no other test's events contain. */
function randomId(): string {
  return `i-${randomBytes(4).toString('hex')}`;
}
