import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { DesiredInstance } from '../../../src/agent-protocol/protocol.js';
import { whileBusy } from '../../support/busy.js';
import { desiredInstance, TestHost } from '../../support/hosts/agent-process.js';
import { type EngineName, needsEngine, startEngine, type TestEngine } from '../../support/hosts/engines.js';
import { startRegistry, type TestRegistry } from '../../support/hosts/registry.js';
import { ScriptedGateway } from '../../support/hosts/scripted-gateway.js';
import { isLong, randomFrom, seedOf } from '../../support/long.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

const IDS = ['i-00000001', 'i-00000002', 'i-00000003'];
const KILLS: Record<EngineName, number> = isLong ? { podman: 20, docker: 6 } : { podman: 3, docker: 2 };
/** Number of times that the agent, the engine or both are killed while instances are started, stopped and erased. */
const SEED = seedOf(1113);
const BACK_WITHIN_MS = 10_000;
/**
 * Podman is killed, but Docker 20.10 is restarted. If it is killed while it starts a container, it leaves a task in
 * containerd that makes every later start of that container fail ("task … already exists"). That can't be fixed through
 * its API.
 */
const ENGINE_ENDS_BY: Record<EngineName, 'SIGKILL' | 'SIGTERM'> = { podman: 'SIGKILL', docker: 'SIGTERM' };

describe.each<EngineName>(['podman', 'docker'])('killing the agent or %s', (name) => {
  const wanted = needsEngine(name);
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let registry: TestRegistry;
  let engine: TestEngine;
  let gateway: ScriptedGateway;
  let host: TestHost;

  beforeAll(async () => {
    registry = await startRegistry();
    engine = await startEngine(name, [registry.at]);
    await registry.push('busybox');
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

  it('still leads to the desired state within 10 s of both running again', async () => {
    const random = randomFrom(SEED);
    const image = `${registry.at}/busybox`;
    let document = new Map<string, DesiredInstance>();
    try {
      for (let kill = 0; kill < KILLS[name]; kill += 1) {
        for (let steps = random(3) + 1; steps > 0; steps -= 1) {
          document = nextDocument(document, image, random);
          gateway.setDesired([...document.values()]);
          await pause(random(700));
        }
        // Kills one of them or both at any point of their work.
        const victim = random(3);
        if (victim !== 1) await host.end('SIGKILL');
        if (victim !== 0) await engine.end(ENGINE_ENDS_BY[name]);
        await pause(random(300));
        if (victim !== 0) await engine.start();
        if (victim !== 1) host.start();
        await backAsWished(engine, document);
      }
    } catch (error) {
      throw new Error(`SEED=${SEED}: ${(error as Error).message}\n${host.log.slice(-4_000)}`);
    }
    expect(gateway.refused).toEqual([]);
  }, 600_000);
});

/** The gateway lets at most one instance run. In this test, an erased instance may be deployed again under its id. */
function nextDocument(
  before: Map<string, DesiredInstance>,
  image: string,
  random: (below: number) => number,
): Map<string, DesiredInstance> {
  const id = IDS[random(IDS.length)]!;
  const known = before.get(id);
  const phase = (['running', 'running', 'stopped', 'absent'] as const)[random(4)]!;
  const next = new Map(before);
  if (phase === 'running') {
    for (const [other, instance] of next)
      if (instance.phase === 'running') next.set(other, { ...instance, phase: 'stopped' });
  }
  const begins = phase === 'running' && known?.phase !== 'running';
  const start = (known?.start ?? 0) + (begins ? 1 : 0);
  return next.set(id, desiredInstance(id, phase, { image, gpus: 1, start: Math.max(start, 1) }));
}

async function backAsWished(engine: TestEngine, document: Map<string, DesiredInstance>): Promise<void> {
  const wanted = [...document.values()].filter(({ phase }) => phase === 'running').map(({ id }) => id);
  const absent = [...document.values()].filter(({ phase }) => phase === 'absent').map(({ id }) => id);
  let seen = '';
  await until(
    'the desired containers, and no others',
    async () => {
      const containers = await engine.containers();
      const running = [...containers].filter(([, container]) => container.running).map(([id]) => id);
      expect(running.length, 'never two on a machine').toBeLessThanOrEqual(1);
      seen = JSON.stringify({ wanted, absent, containers: [...containers] });
      return String(running) === String(wanted) && !absent.some((id) => containers.has(id));
    },
    whileBusy(BACK_WITHIN_MS),
    POLL_EVERY_MS,
  ).catch((error) => {
    throw new Error(`${error.message}: ${seen}`);
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
