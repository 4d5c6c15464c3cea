import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LABELS } from '../../../src/agent/engine/engine.js';
import { whileBusy } from '../../support/busy.js';
import { needsEngine } from '../../support/hosts/engines.js';
import { RealFleet, type RealHost, type RealRenter } from '../../support/hosts/real-fleet.js';
import { isLong, randomFrom, seedOf } from '../../support/long.js';
import { POLL_EVERY_MS, until } from '../../support/until.js';

/** Number of GPUs in each host. The last host is rented in blocks. */
const HOSTS = [1, 1, 4];
/** Blocks of the last host, which overlap. */
const BLOCKS = ['', '.g0-1', '.g2-3', '.g0', '.g1', '.g3'];
const KILLS = isLong ? 1_000 : 3;
/** Number of times that agents, Podman and the gateway are killed, individually or together. */
const SEED = seedOf(1597);
const BACK_WITHIN_MS = 10_000;
/** Maximum number of live instances per machine, at most one of which runs. */
const INSTANCES = 3;
/** This command stops slowly, so a container that starts too early is seen running next to it. */
const SLOW_TO_STOP = 'slow-to-stop';
const ENDS_SLOWLY = ['/bin/sh', '-c', 'trap "sleep 0.7; exit 0" TERM; sleep 1000000 & wait'];

describe('killing the gateway, agents and Podman', () => {
  const wanted = needsEngine('podman');
  if (wanted.skip) {
    it('is skipped', wanted, () => {});
    return;
  }
  let fleet: RealFleet;
  let renter: RealRenter;

  beforeAll(async () => {
    fleet = await RealFleet.open({}, { startsEngine: true });
    renter = await fleet.renter();
    await fleet.template(SLOW_TO_STOP, `${fleet.registry.at}/busybox`, { command: ENDS_SLOWLY });
    for (const gpus of HOSTS) await fleet.host({}, gpus);
  });
  afterAll(() => fleet?.close());

  it(
    'leads to the desired state within 10 s and never lets instances share a GPU',
    async () => {
      const random = randomFrom(SEED);
      const watch = watchContainers(fleet);
      const machines = fleet.hosts.flatMap(({ machineId, gpus }) =>
        gpus === 1 ? [machineId] : BLOCKS.map((block) => machineId + block),
      );
      const backMs: number[] = [];
      let done = '';
      let running = 0;
      try {
        for (let kills = 0; kills < KILLS; ) {
          const asked = [];
          for (let steps = random(4) + 1; steps > 0; steps -= 1) {
            asked.push(step(renter, machines[random(machines.length)]!, random).then((text) => (done += `${text}; `)));
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
          const back = await backAsWished(fleet, renter);
          backMs.push(back.ms);
          running += back.running;
        }
      } catch (error) {
        const logs = fleet.hosts.map(({ machineId, log }) => `${machineId}: ${log.slice(-2_000)}`).join('\n');
        throw new Error(`SEED=${SEED}: ${(error as Error).message}\n${done}\n${logs}`);
      } finally {
        await watch.end();
      }
      console.info(
        `as wished after ${backMs.sort((a, b) => a - b).map(Math.round)} ms; ${running} ran then; ${watch.looks} looks`,
      );
      // Otherwise the test would have put nothing at risk.
      expect(running).toBeGreaterThan(backMs.length / 2);
      expect(watch.looks).toBeGreaterThan(KILLS * 5);
      await known(renter);
      expect(twice(watch.running), `SEED=${SEED}`).toEqual([]);
      await renter.destroyAll();
      expect((await fleet.engine.containers()).size).toBe(0);
      expect(fleet.disks).toEqual([]);
      expect(await fleet.audit()).toBe('');
    },
    280_000 + KILLS * 4_000,
  );
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

/** The machine of each instance that was seen. */
const machineOf = new Map<string, string>();

async function known(renter: RealRenter) {
  const instances = await renter.instances();
  for (const { id, machine_id } of instances) machineOf.set(id, machine_id);
  return instances;
}

/** Returns the sets of containers that ran together and shared a GPU. */
function twice(looks: Iterable<string>): string[] {
  return [...looks].filter((look) => {
    const gpus = look
      .split(',')
      .filter(Boolean)
      .flatMap((id) => gpusOf(machineOf.get(id) ?? fail(`nobody knows ${id}: ${look}`)));
    return new Set(gpus).size < gpus.length;
  });
}

function fail(message: string): never {
  throw new Error(message);
}

/** Returns a unique name for each GPU of a machine. */
function gpusOf(machineId: string): string[] {
  const [host, block] = machineId.split('.g');
  if (block === undefined) return Array.from({ length: HOSTS.at(-1)! }, (_, place) => `${host} ${place}`);
  const [first, last = first] = block.split('-').map(Number);
  return Array.from({ length: last! - first! + 1 }, (_, n) => `${host} ${first! + n}`);
}

/** Does what a renter might do next with a machine. Responses may be lost with the gateway. */
async function step(renter: RealRenter, machineId: string, random: (below: number) => number): Promise<string> {
  const [kind, pick, type] = [random(5), random(INSTANCES), ['od', 'interruptible'][random(2)]];
  try {
    const own = (await known(renter)).filter(({ machine_id }) => machine_id === machineId);
    const running = own.find(({ status }) => status === 'running');
    const other = own.filter((instance) => instance !== running).at(pick % Math.max(own.length - 1, 1));
    if (own.length === 0 || (kind < 2 && own.length < INSTANCES)) {
      const deployed = await renter.deploy(machineId, { template: SLOW_TO_STOP, type, disk_gb: 1 });
      machineOf.set(deployed.id, machineId);
      return `deployed ${deployed.id}`;
    }
    if (kind === 2) return `destroyed ${(await renter.destroy(own[pick % own.length]!.id)).id}`;
    const stopped = running && (await renter.act(running.id, 'stop')).id;
    const started = other && (await renter.act(other.id, 'start')).id;
    return `stopped ${stopped ?? 'none'}, started ${started ?? 'none'}`;
  } catch (error) {
    return `refused or lost: ${(error as Error).message.slice(0, 80)}`;
  }
}

/**
 * Waits until the containers match the gateway's state without a failed start. Returns how long that took and how many
 * containers are running.
 */
async function backAsWished(fleet: RealFleet, renter: RealRenter): Promise<{ ms: number; running: number }> {
  const began = performance.now();
  let seen = '';
  const running = await until(
    'the desired containers, and no others',
    async () => {
      const instances = await known(renter);
      const containers = [...(await fleet.engine.containers())];
      const wanted = instances.filter(({ status }) => status === 'running').map(({ id }) => id);
      const running = containers.filter(([, container]) => container.running).map(([id]) => id);
      const erased = containers.every(([id]) => instances.some((instance) => instance.id === id));
      seen = JSON.stringify({ wanted, containers });
      return String(running.sort()) === String(wanted.sort()) && erased ? { count: running.length } : null;
    },
    whileBusy(BACK_WITHIN_MS),
    POLL_EVERY_MS,
  ).catch((error) => {
    throw new Error(`${error.message}: ${seen}`);
  });
  const ms = performance.now() - began;
  for (const { id } of await renter.instances()) {
    const { stopReason, runtime } = await renter.seen(id);
    expect(stopReason, `${id}: ${runtime.message}`).not.toBe('START_FAILED');
  }
  return { ms, running: running.count };
}

/** Repeatedly queries Podman's running containers until it is stopped. */
function watchContainers({ engine }: RealFleet) {
  /** Sets of instance ids whose containers ran at the same time. */
  const watch = { looks: 0, running: new Set<string>(), end };
  let isOver = false;
  const watching = look();
  async function look(): Promise<void> {
    while (!isOver) {
      const found = await engine.docker.listContainers({ all: true }).catch(() => null);
      if (found !== null) {
        // Podman reports `stopping` for a container whose processes still run.
        const running = found.filter(({ State }) => State === 'running' || State === 'stopping');
        watch.looks += 1;
        // The agent's own probes of the host have no machine.
        const ids = running.flatMap(({ Labels }) => Labels[LABELS.instance] ?? []);
        watch.running.add(ids.sort().join());
      }
      await pause(POLL_EVERY_MS);
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
