import { createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostClock } from '../../../src/agent/clock.js';
import { openDisks } from '../../../src/agent/disks.js';
import type { Engine } from '../../../src/agent/engine/engine.js';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import type { Sample } from '../../../src/agent/samples/pending-samples.js';
import { Sampler } from '../../../src/agent/samples/sampler.js';
import { desiredInstance, TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { isLong } from '../../support/long.js';
import { until } from '../../support/until.js';

const ID = 'i-00000001';
const MB = 1_000_000;
const MIB = 1_048_576;
const WITHIN_MS = 60_000;

/**
 * Compares what a script in a container does with the samples before and after it. Sums are compared, so the tests
 * assume no durations.
 */
describe.each<EngineName>(['podman', 'docker'])('the measured usage on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  let sample: () => Promise<Measured>;
  /** The engine, opened as the agent does. */
  let opened: Engine;
  /** A server in this process to which the container connects. */
  const server = createServer({ allowHalfOpen: true });

  interface Measured extends Sample {
    at: number;
  }

  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
    registry = await sharedRegistry();
    engine = await sharedEngine(name);
    await registry.push('busybox');
    gateway = await ScriptedGateway.open();
    host = new TestHost(engine, gateway, { gpus: 1 });
    host.start();
    gateway.setDesired([
      desiredInstance(ID, 'running', { image: `${registry.at}/busybox`, gpus: 1, vcpus: 2, memoryMb: 512 }),
    ]);
    await gateway.phase(ID, 'RUNNING', WITHIN_MS);
    const [gpuUuid] = (await gateway.next()).gpus!;
    const samples: Measured[] = [];
    opened = await openEngine(engine.socket, null);
    const sampler = new Sampler({
      engine: opened,
      disks: openDisks(host.dataDir, 'volume'),
      volumes: { usedBytes: async () => null },
      clock: hostClock,
      pretended: true,
      up: () => [
        {
          id: ID,
          start: 1,
          vcpus: 2,
          gpuUuids: [gpuUuid!],
          workspaceVolume: null,
          hasExited: false,
          isWatched: false,
        },
      ],
      keep: (each, at) => samples.push({ ...each, at }),
      onMeasured: () => {},
    });
    sample = async () => {
      await sampler.sample();
      return samples.at(-1)!;
    };
  });
  afterAll(async () => {
    await host.close();
    await gateway.close();
    await engine.close();
    await registry.close();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Defines a test that doesn't depend on the engine, so it runs with only one engine except in the long run. */
  const itsOwn = it.runIf(isLong || name === 'podman');

  const run = async (script: string): Promise<string> => {
    const { code, text } = await engine.exec(ID, 'sh', '-c', script);
    expect(code, text).toBe(0);
    return text;
  };
  /** Returns the total that a rate amounts to between two samples. */
  const sum = (before: Measured, after: Measured, perSecond: number) => (perSecond * (after.at - before.at)) / 1_000;

  it('matches a script’s CPU time, which a simulated GPU mirrors', async () => {
    const before = await sample();
    const text = await run('i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done; times');
    const after = await sample();
    // The output has minutes and seconds of user and system time, first of the shell and then of its children.
    const used = [...text.matchAll(/(\d+)m([\d.]+)s/g)].reduce((all, [, m, s]) => all + Number(m) * 60 + Number(s), 0);
    expect(used).toBeGreaterThan(0.5);
    const measured = sum(before, after, (after.cpuPercent! / 100) * 2);
    // The engine's own work to start a command in the container also counts.
    expect(measured).toBeGreaterThan(used * 0.95);
    expect(measured).toBeLessThan(used * 1.1 + 0.5);
    expect(after.gpus).toMatchObject([{ place: 0, busyPercent: after.cpuPercent, powerWatts: null }]);
  });

  itsOwn('includes cached files in the disk usage but not in the memory usage', async () => {
    const before = await sample();
    await run('dd if=/dev/zero of=/workspace/file bs=1M count=50 && sync');
    const written = await sample();
    expect(written.diskUsedBytes! - before.diskUsedBytes!).toBeGreaterThanOrEqual(50 * MIB);
    expect(written.diskUsedBytes! - before.diskUsedBytes!).toBeLessThan(52 * MIB);
    expect(Math.abs(written.memoryUsedBytes! - before.memoryUsedBytes!)).toBeLessThan(10 * MIB);
    await run('dd if=/dev/zero of=/dev/shm/memory bs=1M count=100');
    const allocated = await sample();
    const grown = allocated.memoryUsedBytes! - written.memoryUsedBytes!;
    expect(grown).toBeGreaterThan(95 * MIB);
    expect(grown).toBeLessThan(110 * MIB);
    expect(allocated.diskUsedBytes! - written.diskUsedBytes!).toBeLessThan(2 * MIB);
    await run('rm /workspace/file /dev/shm/memory && sync');
    const freed = await sample();
    expect(freed.diskUsedBytes! - before.diskUsedBytes!).toBeLessThan(2 * MIB);
    expect(freed.memoryUsedBytes! - before.memoryUsedBytes!).toBeLessThan(10 * MIB);
  });

  it('includes the number of processes in the container', async () => {
    const before = await sample();
    await run('for i in 1 2 3 4 5; do sleep 1000 & done');
    expect((await sample()).processes! - before.processes!).toBe(5);
    expect(before.processes).toBeGreaterThan(0);
  });

  it('includes external but not internal network traffic', async () => {
    const IN = 20 * MB;
    const OUT = 8 * MB;
    const INSIDE = 30 * MB;
    // The script and this process send data to each other.
    let received = 0;
    const ended = new Promise<void>((resolve) => {
      server.on('connection', (socket: Socket) => {
        socket.write(Buffer.alloc(IN));
        socket.on('data', (data) => {
          received += data.length;
          // Busybox's nc exits at the end of its input, even with unsent output.
          if (received >= OUT) socket.end();
        });
        socket.on('end', resolve);
      });
    });
    const before = await sample();
    const { NetworkSettings } = await engine.docker.getContainer(`gpu-${ID}`).inspect();
    const { Gateway } = Object.values(NetworkSettings.Networks)[0]!;
    const { port } = server.address() as { port: number };
    const text = await run(`head -c ${OUT} /dev/zero | nc ${Gateway} ${port} > /tmp/got; stat -c %s /tmp/got`);
    await ended;
    await run(`head -c ${INSIDE} /dev/zero > /dev/shm/page; httpd -p 127.0.0.1:7001 -h /dev/shm`);
    const inside = await run(`echo "GET /page HTTP/1.0\n" | nc 127.0.0.1 7001 > /dev/shm/got; stat -c %s /dev/shm/got`);
    expect(Number(inside)).toBeGreaterThan(INSIDE);
    const after = await sample();
    expect([received, Number(text)]).toEqual([OUT, IN]);
    const came = sum(before, after, after.networkInBytesPerSecond!);
    const went = sum(before, after, after.networkOutBytesPerSecond!);
    // The count includes headers and acknowledgements.
    expect(came).toBeGreaterThan(IN);
    expect(came).toBeLessThan(IN * 1.1);
    expect(went).toBeGreaterThan(OUT);
    expect(went).toBeLessThan(OUT * 1.2);
  });
  itsOwn('restarts from zero each time the container runs', async () => {
    await sample();
    const { pid } = (await opened.inspect(ID))!;
    process.kill(pid!, 'SIGKILL');
    const first = await until(
      'the agent has started it again, and it is seen',
      async () => {
        const seen = await opened.inspect(ID);
        if (!seen?.pid || seen.pid === pid) return null;
        return sample();
      },
      WITHIN_MS,
    );
    expect(first).toMatchObject({ cpuPercent: null, networkInBytesPerSecond: null, networkOutBytesPerSecond: null });
    expect((await sample()).cpuPercent).toEqual(expect.any(Number));
  });

  itsOwn('is reported once per sample, even if taken during a gateway outage', async () => {
    const told = () => gateway.reports.flatMap(({ samples = [] }) => samples);
    await until('two samples have come', () => told().length >= 2, WITHIN_MS);
    gateway.mood = 'away';
    const before = gateway.reports.length;
    await new Promise((resolve) => setTimeout(resolve, 25_000));
    gateway.mood = 'good';
    const since = () =>
      gateway.reports.slice(before).flatMap(({ samples = [] }) => (samples.length > 0 ? [samples] : []));
    const [late] = await until('others have come', () => (since().length >= 3 ? since() : null), WITHIN_MS);
    expect(late!.every(({ id, start }) => id === ID && start === 1)).toBe(true);
    expect(new Set(late!.map(({ age }) => age)).size).toBe(late!.length);
    expect(gateway.refused).toEqual([]);
    // If samples were sent repeatedly, the report would now have the maximum number of stored samples.
    expect(since().at(-1)!.length).toBeLessThan(4);
    const newest = told().at(-1)!;
    expect(newest).toMatchObject({ gpus: [{ place: 0 }], memoryUsedBytes: expect.any(Number) });
    expect(newest.diskUsedBytes).toBeGreaterThan(0);
  });
});
