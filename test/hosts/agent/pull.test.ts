import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { whileBusy } from '../../support/busy.js';
import { freePort } from '../../support/free-port.js';
import { desiredInstance, TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { isLong } from '../../support/long.js';

const LAYER_BYTES = 12_000_000;

describe.each<EngineName>(['podman', 'docker'])('a pull on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  /** Instance id. Each test has its own, because an agent doesn't repeat a failed start. */
  let [id, other] = ['', ''];
  let tests = 0;
  /** A server that isn't a registry and responds with its own messages. */
  const talker = createHttpServer((request, response) => {
    response.writeHead(request.url === '/v2/' ? 200 : 400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ errors: [{ code: 'UNKNOWN', message: 'hush-hush of the inside' }] }));
  });
  let talkerAt: string;
  /** An address at which nothing listens. */
  let nowhere: string;

  beforeAll(async () => {
    registry = await sharedRegistry();
    engine = await sharedEngine(name);
    [talkerAt, nowhere] = [await listening(talker), `127.0.0.1:${await freePort()}`];
    // All tests share one agent, because its start takes as long as most of them.
    gateway = await ScriptedGateway.open();
    host = new TestHost(engine, gateway);
    host.start({ GPU_AGENT_REGISTRIES: [...engine.registries, talkerAt, nowhere].join() });
  });
  afterAll(async () => {
    await host?.close();
    await gateway?.close();
    await engine?.close();
    await registry?.close();
    await new Promise((resolve) => talker.close(resolve));
  });
  beforeEach(() => {
    tests += 1;
    [id, other] = [`i-${String(tests).padStart(8, '0')}`, `i-1${String(tests).padStart(7, '0')}`];
    gateway.reports = [];
  });
  /** Removes everything before the next test. */
  afterEach(async () => {
    gateway.setDesired([desiredInstance(id, 'absent'), desiredInstance(other, 'absent')]);
    for (const each of [id, other]) await gateway.phase(each, 'ERASED', 60_000);
  });

  it('reports its progress for a large layer over a slow connection', async () => {
    await registry.push('large', { extraBytes: LAYER_BYTES });
    // The pull takes eight seconds, because engines report progress about once per second.
    registry.bytesPerSecond = 1_500_000;
    gateway.setDesired([desiredInstance(id, 'running', { image: `${registry.slowAt}/large`, gpus: 1 })]);
    await gateway.phase(id, 'RUNNING', 60_000);
    const told = gateway.reports
      .flatMap(({ instances }) => instances)
      .filter(({ phase, pulledBytes }) => phase === 'PULLING' && pulledBytes !== null && pulledBytes > 0);
    const steps = [...new Set(told.map(({ pulledBytes }) => pulledBytes!))];
    expect(steps.length).toBeGreaterThanOrEqual(3);
    expect(steps).toEqual([...steps].sort((a, b) => a - b));
    expect(told.some(({ pulledBytes, totalBytes }) => pulledBytes! < totalBytes! && totalBytes! >= LAYER_BYTES)).toBe(
      true,
    );
    expect(gateway.refused).toEqual([]);
  });

  it('ends immediately on destroy and leaves nothing behind', async () => {
    registry.bytesPerSecond = 500_000;
    await registry.push('abandoned', { extraBytes: LAYER_BYTES });
    gateway.setDesired([desiredInstance(id, 'running', { image: `${registry.slowAt}/abandoned`, gpus: 1 })]);
    await gateway.waitUntil(id, ({ phase, pulledBytes }) => phase === 'PULLING' && (pulledBytes ?? 0) > 0);
    const asked = performance.now();
    gateway.setDesired([desiredInstance(id, 'absent')]);
    await gateway.phase(id, 'ERASED');
    expect(performance.now() - asked).toBeLessThan(whileBusy(3_000));
    // This is longer than the rest of the pull would have taken.
    registry.bytesPerSecond = 100_000_000;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await engine.containers()).size).toBe(0);
    expect((await engine.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? [])).not.toContain(
      `${registry.slowAt}/abandoned:latest`,
    );
    expect(host.disks).toEqual([]);
  });
  it('never connects to a private address for a renter; registry errors are only logged', async () => {
    let connections = 0;
    const inside = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    try {
      const insideAt = await listening(inside);
      gateway.setDesired([desiredInstance(id, 'running', { image: `${insideAt}/a` })]);
      const { message } = await gateway.phase(id, 'FAILED');
      expect(message).toBe(`refusing to pull images from ${insideAt}: its IP address is not public`);
      expect(connections).toBe(0);
      expect(host.log).toContain('GPU_AGENT_REGISTRIES');
      // The agent doesn't check the address for a template's image.
      const images = [{ image: `${talkerAt}/a` }, { image: `${talkerAt}/a`, fromTemplate: true }];
      for (const [index, rest] of images.entries()) {
        const each = `i-0000aa1${index}`;
        gateway.setDesired([desiredInstance(each, 'running', rest)]);
        const failing = await gateway.waitUntil(each, ({ message: told }) => told !== null, 60_000);
        expect(failing.message).toMatch(/^(the image could not be pulled|the registry )/);
        gateway.setDesired([desiredInstance(each, 'absent')]);
        await gateway.phase(each, 'ERASED');
      }
      // Podman insists on TLS here, but Docker doesn't for a registry on this computer.
      expect(host.log).toMatch(name === 'docker' ? /hush-hush/ : /server gave HTTP response/);
      expect(JSON.stringify(gateway.reports)).not.toContain('hush');
    } finally {
      await new Promise((resolve) => inside.close(resolve));
    }
  });

  /** Doesn't depend on the engine, so it runs with only one engine except in the long run. */
  it.runIf(isLong || name === 'podman')('uses the host’s own images only for the operator’s templates', async () => {
    await registry.push('public');
    await engine.pull(`${registry.at}/public:latest`);
    const image = `${registry.at}/private`;
    await engine.docker.getImage(`${registry.at}/public:latest`).tag({ repo: image, tag: 'latest' });
    const { Id } = await engine.docker.getImage(`${registry.at}/public:latest`).inspect();
    const short = Id.replace('sha256:', '').slice(0, 12);
    for (const [index, named] of [image, short, `sha256:${short}`].entries()) {
      const each = `i-0000aa2${index}`;
      gateway.setDesired([desiredInstance(each, 'running', { image: named })]);
      const failed = await gateway.waitUntil(each, ({ message }) => message !== null, 60_000);
      expect(failed.phase === 'FAILED' || failed.phase === 'WAITING').toBe(true);
      gateway.setDesired([desiredInstance(each, 'absent')]);
      await gateway.phase(each, 'ERASED');
    }
    gateway.setDesired([desiredInstance(id, 'running', { image, fromTemplate: true })]);
    await gateway.phase(id, 'RUNNING', 60_000);
    gateway.setDesired([
      desiredInstance(id, 'absent'),
      desiredInstance(other, 'running', { image: `${registry.at}/public` }),
    ]);
    await gateway.phase(other, 'RUNNING', 60_000);
  });

  it('fails within 15 seconds if a registry refuses the connection', async () => {
    const began = performance.now();
    gateway.setDesired([desiredInstance(id, 'running', { image: `${nowhere}/none` })]);
    const { message } = await gateway.phase(id, 'FAILED', 30_000);
    expect(performance.now() - began).toBeLessThan(whileBusy(15_000));
    expect(message).toBe('the registry is unreachable');
  });
});

async function listening(server: Server | ReturnType<typeof createHttpServer>): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
