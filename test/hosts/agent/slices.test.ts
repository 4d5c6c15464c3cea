import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findProcessors } from '../../../src/agent/processors.js';
import type { DesiredInstance } from '../../../src/agent-protocol/protocol.js';
import { desiredInstance, TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, type TestEngine } from '../../support/hosts/engines.js';
import type { TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { sharedEngine, sharedRegistry } from '../../support/hosts/shared.js';
import { isLong } from '../../support/long.js';

const LARGE = 'i-00000004';
const idOf = (place: number) => `i-0000001${place}`;
const SHOW = 'ls /dev | grep gpu-pretended; grep Cpus_allowed_list /proc/self/status; echo $NVIDIA_VISIBLE_DEVICES';

describe.each<[EngineName, number[]]>([
  ['podman', isLong ? [0, 1, 2, 3, 4, 5, 6, 7] : [0, 1, 2, 3]],
  ['docker', [0, 1]],
])('many instances on one host with %s', (name, places) => {
  const half = places.length / 2;
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('are skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;
  let processors: number[];

  beforeAll(async () => {
    registry = await sharedRegistry();
    engine = await sharedEngine(name);
    await registry.push('busybox');
    processors = await findProcessors();
  });
  afterAll(async () => {
    await engine.close();
    await registry.close();
  });
  beforeEach(async () => {
    gateway = await ScriptedGateway.open();
    host = new TestHost(engine, gateway, { gpus: places.length, diskLimit: 'none' });
    host.start();
  });
  afterEach(async () => {
    await host.close();
    await gateway.close();
  });

  const of = (id: string, own: readonly number[], rest: Partial<DesiredInstance> = {}) =>
    desiredInstance(id, 'running', {
      image: `${registry.at}/busybox`,
      gpus: own.length,
      gpuUuids: own.map((place) => `GPU-pretended-${place}`),
      // A renter who wants all GPUs might set this.
      env: { NVIDIA_VISIBLE_DEVICES: 'all' },
      ...rest,
    });
  const processorOf = (place: number) => processors[place % processors.length]!;
  const one = (place: number) => of(idOf(place), [place], { cpus: [processorOf(place)] });
  const shown = async (id: string) => (await engine.exec(id, 'sh', '-c', SHOW)).text.trim().split('\n');
  const startedAt = async (id: string) => (await engine.docker.getContainer(`gpu-${id}`).inspect()).State.StartedAt;

  it('have separate GPUs and wait only for instances that use their own GPUs', async () => {
    const large = of(LARGE, places.slice(half));
    gateway.setDesired(places.map(one));
    for (const place of places) await gateway.phase(idOf(place), 'RUNNING', 60_000);
    for (const place of places) {
      const own = [`gpu-pretended${place}`, `Cpus_allowed_list:\t${processorOf(place)}`, 'void'];
      expect(await shown(idOf(place))).toEqual(own);
    }
    gateway.setDesired([...places.map(one), large]);
    await gateway.waitUntil(LARGE, ({ message }) => message === 'waiting: another instance has the GPUs');
    expect((await engine.containers()).get(LARGE)?.running ?? false).toBe(false);
    const gpus = places.map((place) => `GPU-pretended-${place}`);
    expect(gateway.reports.at(-1)).toMatchObject({ protocol: 2, gpus });
    const before = await startedAt(idOf(0));
    gateway.setDesired([
      ...places.map((place) => ({ ...one(place), ...(place >= half && { phase: 'absent' as const }) })),
      large,
    ]);
    await gateway.phase(LARGE, 'RUNNING', 60_000);
    const devices = (await shown(LARGE)).filter((line) => line.startsWith('gpu-pretended'));
    expect(devices).toEqual(places.slice(half).map((place) => `gpu-pretended${place}`));
    expect(await startedAt(idOf(0))).toBe(before);
    expect(gateway.refused).toEqual([]);
  });
});
