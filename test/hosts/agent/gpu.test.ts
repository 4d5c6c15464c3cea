import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEngine } from '../../../src/agent/engine/open-engine.js';
import { findGpus } from '../../../src/agent/gpus/nvidia-smi.js';
import { desiredInstance, TestHost } from '../../support/hosts/agent-process.js';
import { needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { leftOut } from '../../support/tools.js';

const ID = 'i-00000001';
const { gpus } = await findGpus();

describe('GPUs provided through CDI', needsEngine('podman'), () => {
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;

  beforeAll(async () => {
    registry = await sharedRegistry();
    engine = await sharedEngine('podman');
    await registry.push('busybox');
  });
  afterAll(async () => {
    await engine.close();
    await registry.close();
  });
  beforeEach(async () => {
    gateway = await ScriptedGateway.open();
  });
  afterEach(() => gateway.close());

  it('are simulated, one per rented GPU', async () => {
    const host = new TestHost(engine, gateway, { gpus: 4, diskLimit: 'none' });
    host.start();
    gateway.setDesired([desiredInstance(ID, 'running', { image: `${registry.at}/busybox`, gpus: 3 })]);
    await gateway.phase(ID, 'RUNNING');
    const { text } = await engine.exec(ID, 'sh', '-c', 'ls /dev | grep gpu-pretended');
    expect(text.trim().split('\n')).toEqual(['gpu-pretended0', 'gpu-pretended1', 'gpu-pretended2']);
    await host.close();
  });

  it('must be present before a container is reported as RUNNING', async () => {
    const host = new TestHost(engine, gateway, { gpus: 2, diskLimit: 'none' });
    host.start();
    // Simulates an engine that accepts a request for devices but provides none.
    const opened = await openEngine(engine.socket, null);
    await opened.pull(`${registry.at}/busybox:latest`, null, () => {}, new AbortController().signal);
    const imageId = (await opened.imageId(`${registry.at}/busybox:latest`))!;
    const nothing = {
      entrypoint: null,
      command: null,
      gpus: null,
      cpus: null,
      workspace: null,
      volumes: [],
      secrets: null,
      quotaGb: null,
      user: null,
      fuse: false,
    };
    const without = { ...nothing, env: {}, vcpus: 1, memoryMb: 256 };
    await opened.create({ instanceId: ID, machineId: 'm-test', start: 1, imageId, ...without });
    await opened.start(ID);
    gateway.setDesired([desiredInstance(ID, 'running', { image: `${registry.at}/busybox`, gpus: 2 })]);
    const failed = await gateway.phase(ID, 'FAILED');
    expect(failed).toMatchObject({ message: 'the container has 0 of 2 GPUs', fault: 'host' });
    expect((await engine.containers()).get(ID)?.running).toBe(false);
    await host.close();
  });

  it('are reported as busy or idle, but only for watched instances', async () => {
    const host = new TestHost(engine, gateway, { gpus: 1, diskLimit: 'none' });
    host.start();
    const burnsUntilTold = ['/bin/sh', '-c', 'until test -e /tmp/enough; do :; done; while :; do sleep 1; done'];
    const wish = { image: `${registry.at}/busybox`, command: burnsUntilTold, gpus: 1 };
    gateway.setDesired([desiredInstance(ID, 'running', { ...wish, watchLoad: true })]);
    expect((await gateway.phase(ID, 'RUNNING')).busy).toBeUndefined();
    // The second sample, taken after ten seconds, is the first that can be compared.
    await gateway.waitUntil(ID, ({ busy }) => busy === true, 60_000);
    await engine.exec(ID, 'touch', '/tmp/enough');
    await gateway.waitUntil(ID, ({ busy }) => busy === false, 60_000);
    gateway.setDesired([desiredInstance(ID, 'running', wish)]);
    await gateway.waitUntil(ID, ({ busy }) => busy === undefined, 60_000);
    expect(gateway.refused).toEqual([]);
    await host.close();
  });

  it('can be the host’s real GPUs', gpus.length === 0 ? leftOut('nvidia-smi', 'a GPU of NVIDIA') : {}, async () => {
    await registry.push('glibc', { glibc: true });
    const host = new TestHost(engine, gateway, { gpus: 0, diskLimit: 'none' });
    host.start();
    gateway.setDesired([desiredInstance(ID, 'running', { image: `${registry.at}/glibc`, gpus: gpus.length })]);
    await gateway.phase(ID, 'RUNNING', 60_000);
    const { text } = await engine.exec(ID, '/usr/bin/nvidia-smi', '-L');
    for (const { uuid } of gpus) expect(text).toContain(uuid);
    await host.close();
  });
});
