import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../src/agent/engine/engine.js';
import { whyNot } from '../agent/support/engines.js';
import { until } from '../agent/support/until.js';
import { RealFleet, type RealHost, type RealRenter } from './support/real-fleet.js';

const MACHINES = 3;
const KILLS = 20;
const BACK_WITHIN_MS = 10_000;
/** Instances of a machine that are not destroyed; one of them runs at most. */
const INSTANCES = 2;

/** Repeats from its seed, which a failed run prints. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

describe('the death of gateway, agents and Podman', () => {
  const reason = whyNot('podman');
  if (reason !== null) {
    it.skip(`skipped: ${reason}`, () => {});
    return;
  }
  let fleet: RealFleet;
  let renter: RealRenter;

  beforeAll(async () => {
    fleet = await RealFleet.open();
    renter = await fleet.renter();
    for (let machine = 0; machine < MACHINES; machine += 1) await fleet.host();
  });
  afterAll(() => fleet?.close());

  it('ends in exactly what ought to run, within 10 s of all being back, and never in two on a machine', async () => {
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
    const random = randomFrom(seed);
    const watch = watchContainers(fleet);
    const backMs: number[] = [];
    let done = '';
    try {
      for (let kills = 0; kills < KILLS; ) {
        const asked = [];
        for (let steps = random(4) + 1; steps > 0; steps -= 1) {
          asked.push(step(renter, fleet.hosts[random(MACHINES)]!, random).then((text) => (done += `${text}; `)));
          await pause(random(400));
        }
        const victims = fewOf(
          [...fleet.hosts, 'engine', 'gateway'] as const,
          Math.min(random(3) + 1, KILLS - kills),
          random,
        );
        kills += victims.length;
        await Promise.all(victims.map((victim) => end(fleet, victim)));
        await Promise.all(asked);
        await pause(random(300));
        await Promise.all(victims.map((victim) => start(fleet, victim)));
        done += `killed ${victims.map((victim) => (typeof victim === 'string' ? victim : victim.machineId))}; `;
        backMs.push(await backAsWished(fleet, renter));
      }
    } catch (error) {
      const logs = fleet.hosts.map(({ machineId, log }) => `${machineId}: ${log.slice(-2_000)}`).join('\n');
      throw new Error(`SEED=${seed}: ${(error as Error).message}\n${done}\n${logs}`);
    } finally {
      await watch.end();
    }
    console.info(`as wished after ${backMs.sort((a, b) => a - b).map(Math.round)} ms; ${watch.looks} looks`);
    expect(watch.looks).toBeGreaterThan(100);
    expect(watch.twice, `SEED=${seed}`).toEqual([]);
    await renter.destroyAll();
    expect((await fleet.engine.containers()).size).toBe(0);
    expect(fleet.disks).toEqual([]);
    expect(await fleet.audit()).toBe('');
  }, 300_000);
});

type Victim = RealHost | 'engine' | 'gateway';

async function end(fleet: RealFleet, victim: Victim): Promise<void> {
  if (victim === 'engine') await fleet.engine.end('SIGKILL');
  else if (victim === 'gateway') await fleet.killGateway();
  else await victim.end('SIGKILL');
}

async function start(fleet: RealFleet, victim: Victim): Promise<void> {
  if (victim === 'engine') await fleet.engine.start();
  else if (victim === 'gateway') await fleet.startGateway();
  else victim.start();
}

/** One request of a renter; its answer may be lost with the gateway. */
async function step(renter: RealRenter, host: RealHost, random: (below: number) => number): Promise<string> {
  const [kind, pick] = [random(5), random(INSTANCES)];
  try {
    const own = (await renter.instances()).filter(({ machine_id }) => machine_id === host.machineId);
    const instance = own[pick] ?? own[0];
    if (instance === undefined || (kind === 0 && own.length < INSTANCES)) {
      return `deployed ${(await renter.deploy(host.machineId)).id}`;
    }
    if (kind === 1) return `destroyed ${(await renter.destroy(instance.id)).id}`;
    const action = instance.status === 'RUNNING' ? 'stop' : 'start';
    return `${action} ${(await renter.act(instance.id, action)).id}`;
  } catch (error) {
    return `refused or lost: ${(error as Error).message.slice(0, 80)}`;
  }
}

/** Waits until each machine's containers are what the gateway says; how long that took, in milliseconds. */
async function backAsWished(fleet: RealFleet, renter: RealRenter): Promise<number> {
  const began = performance.now();
  const instances = await renter.instances();
  const ids = (of: { id: string }[]) => of.map(({ id }) => id).sort();
  const wanted = ids(instances.filter(({ status }) => status.toUpperCase() === 'RUNNING'));
  let seen = '';
  await until(
    'what ought to run, and nothing else',
    async () => {
      const containers = [...(await fleet.engine.containers())].map(([id, { running }]) => ({ id, running }));
      const running = ids(containers.filter((container) => container.running));
      const strange = containers.filter(({ id }) => !instances.some((instance) => instance.id === id));
      seen = JSON.stringify({ wanted, containers });
      return String(running) === String(wanted) && strange.length === 0;
    },
    BACK_WITHIN_MS,
  ).catch((error) => {
    throw new Error(`${error.message}: ${seen}`);
  });
  return performance.now() - began;
}

/** Asks Podman what runs, again and again while it lives. */
function watchContainers({ engine }: RealFleet) {
  const watch = { looks: 0, twice: [] as string[], end };
  let isOver = false;
  const watching = look();
  async function look(): Promise<void> {
    while (!isOver) {
      const running = await engine.docker.listContainers({ filters: { status: ['running'] } }).catch(() => null);
      if (running !== null) {
        watch.looks += 1;
        const machines = running.map(({ Labels }) => Labels[LABELS.machine]);
        if (new Set(machines).size < machines.length) watch.twice.push(running.map(({ Names }) => Names[0]).join());
      }
      await pause(50);
    }
  }
  async function end(): Promise<void> {
    isOver = true;
    await watching;
  }
  return watch;
}

function fewOf<T>(all: readonly T[], count: number, random: (below: number) => number): T[] {
  const left = [...all];
  return Array.from({ length: count }, () => left.splice(random(left.length), 1)[0]!);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
