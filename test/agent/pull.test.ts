import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { TestHost, wished } from './support/agent-process.js';
import { type EngineName, needsEngine, startEngine, type TestEngine } from './support/engines.js';
import { startRegistry, type TestRegistry } from './support/registry.js';
import { ScriptedGateway } from './support/scripted-gateway.js';

const ID = 'i-00000001';
const LAYER_BYTES = 24_000_000;

describe.each<EngineName>(['podman', 'docker'])('pulling on %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is left out', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;

  beforeAll(async () => {
    registry = await startRegistry();
    engine = await startEngine(name, [registry.at, registry.slowAt]);
  });
  afterAll(async () => {
    await engine.close();
    await registry.close();
  });
  beforeEach(async () => {
    gateway = await ScriptedGateway.open();
    host = new TestHost(engine, gateway);
    host.start();
  });
  afterEach(async () => {
    await host.close();
    await gateway.close();
  });

  it('reports the progress of a 24 MB layer over a slow line', async () => {
    await registry.push('large', { extraBytes: LAYER_BYTES });
    // Eight seconds: engines tell of their progress about once a second.
    registry.bytesPerSecond = 3_000_000;
    gateway.wish([wished(ID, 'running', { image: `${registry.slowAt}/large`, gpus: 1 })]);
    await gateway.phase(ID, 'RUNNING', 60_000);
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

  it('ends a pull at once when the instance is destroyed, and leaves nothing', async () => {
    registry.bytesPerSecond = 1_000_000;
    await registry.push('abandoned', { extraBytes: LAYER_BYTES });
    gateway.wish([wished(ID, 'running', { image: `${registry.slowAt}/abandoned`, gpus: 1 })]);
    await gateway.sees(ID, ({ phase, pulledBytes }) => phase === 'PULLING' && (pulledBytes ?? 0) > 0);
    const asked = performance.now();
    gateway.wish([wished(ID, 'absent')]);
    await gateway.phase(ID, 'ERASED');
    expect(performance.now() - asked).toBeLessThan(3_000);
    // Longer than the rest of the pull would have taken.
    registry.bytesPerSecond = 100_000_000;
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await engine.containers()).size).toBe(0);
    expect((await engine.docker.listImages()).flatMap(({ RepoTags }) => RepoTags ?? [])).not.toContain(
      `${registry.slowAt}/abandoned:latest`,
    );
    expect(host.disks).toEqual([]);
  });
});
