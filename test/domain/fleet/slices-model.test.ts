import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deps } from '../../../src/compose/deps.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { deployBest } from '../../../src/domain/inventory/deploy-best.js';
import { ALL_SIZES, blocksOf, type SoldBlock } from '../../../src/domain/kernel/slices.js';
import { TestAgent } from '../../support/agent.js';
import { TestClock } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { isLong, randomFrom } from '../../support/long.js';

const GPU = 'rtx-4090';
const [HOSTS, STEPS] = isLong ? [20, 10_000] : [5, 400];
const GPUS = 8;
const ACCOUNTS = 4;
/** Number of steps into which [0, 1] is divided. */
const STEP_OF_RANDOM = 2 ** 24;
const SEED = Number(process.env.MODEL_SEED ?? randomInt(2 ** 31));

type Mode = 'ON_DEMAND' | 'INTERRUPTIBLE';

interface Rental {
  id: string;
  account: number;
  host: number;
  first: number;
  count: number;
  mode: Mode;
  isRunning: boolean;
}

/** Models hosts as arrays of GPUs, each with the rental that runs on it. */
class Naive {
  readonly hosts: (Rental | null)[][] = Array.from({ length: HOSTS }, () => Array(GPUS).fill(null));
  readonly rentals: Rental[] = [];

  holders({ host, first, count }: Pick<Rental, 'host' | 'first' | 'count'>): Rental[] {
    return [...new Set(this.hosts[host]!.slice(first, first + count))].filter((each) => each !== null);
  }

  canRun(block: Pick<Rental, 'host' | 'first' | 'count'>, mode: Mode): boolean {
    const holders = this.holders(block);
    return holders.length === 0 || (mode !== 'INTERRUPTIBLE' && holders.every((each) => each.mode === 'INTERRUPTIBLE'));
  }

  freeBlocks(host: number, count: number): { host: number; first: number }[] {
    const places = Array.from({ length: GPUS / count }, (_, n) => n * count);
    return places
      .filter((first) => this.holders({ host, first, count }).length === 0)
      .map((first) => ({ host, first }));
  }

  /** Returns the size of the largest free block that contains these GPUs. */
  breaks(host: number, first: number, count: number): number {
    const sizes = [8, 4, 2, 1].filter((size) => size >= count);
    const isFree = (size: number) =>
      this.freeBlocks(host, size).some((at) => at.first <= first && first < at.first + size);
    return sizes.find(isFree)!;
  }

  run(rental: Rental): void {
    for (const holder of this.holders(rental)) this.stop(holder);
    rental.isRunning = true;
    this.hosts[rental.host]!.fill(rental, rental.first, rental.first + rental.count);
  }

  stop(rental: Rental): void {
    rental.isRunning = false;
    const gpus = this.hosts[rental.host]!;
    gpus.forEach((each, place) => {
      if (each === rental) gpus[place] = null;
    });
  }

  get free(): number {
    return this.hosts.flat().filter((each) => each === null).length;
  }
}

let domain: TestDomain;
let other: TestDomain;
const accounts: string[] = [];
const hosts: string[] = [];
let random: () => number;

beforeAll(async () => {
  const url = await createTestDatabase();
  const clock = new TestClock();
  domain = await openTestDomain({}, undefined, { url, clock });
  other = await openTestDomain({}, undefined, { url, clock });
  await domain.db.pool.query(`update machine set state = 'RETIRED'`);
  for (let i = 0; i < ACCOUNTS; i += 1) accounts.push(await domain.account('1000000'));
  const gpu = { name: 'NVIDIA GeForce RTX 4090', vramMb: 24_564, pcieGen: 4 };
  for (let i = 0; i < HOSTS; i += 1) {
    clock.advance(61);
    const gpus = Array.from({ length: GPUS }, (_, index) => ({ index, uuid: `GPU-${i}-${index}`, ...gpu }));
    hosts.push((await TestAgent.join(domain, { gpus, vcpus: 64, ramGb: 512, diskGb: 1_000_000 })).machineId);
  }
});
afterAll(async () => {
  await other.close();
  await domain.close();
});

function blocksOfHost(host: number): SoldBlock[] {
  return blocksOf({ id: hosts[host]!, models: Array(GPUS).fill(GPU), sizes: ALL_SIZES });
}

function pick<T>(list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]!;
}

/** Expects a gateway's offers to equal the naive hosts' free blocks. */
async function compare(naive: Naive, gateway: Deps): Promise<void> {
  await gateway.db.notices.caughtUp();
  const { offers } = await gateway.inventory.current();
  expect(offers.availableGpus(GPU)).toBe(naive.free);
  for (let host = 0; host < HOSTS; host += 1) {
    const shown = blocksOfHost(host).map(({ machineId }) => offers.offerOf(machineId)?.preemptible ?? null);
    const holders = blocksOfHost(host).map((block) => naive.holders({ host, ...block }));
    const expected = holders.map((each) =>
      each.every(({ mode }) => mode === 'INTERRUPTIBLE') ? each.length > 0 : null,
    );
    expect(shown).toEqual(expected);
  }
}

async function step(naive: Naive, gateway: Deps): Promise<void> {
  const account = Math.floor(random() * ACCOUNTS);
  const mode: Mode = random() < 0.5 ? 'ON_DEMAND' : 'INTERRUPTIBLE';
  const what = random();
  const mine = naive.rentals.filter((each) => each.account === account);
  if (what < 0.35 || mine.length === 0) {
    const host = Math.floor(random() * HOSTS);
    const { machineId, first, count } = pick(blocksOfHost(host));
    const can = naive.canRun({ host, first, count }, mode);
    const done = await rented(deploy(gateway, accounts[account]!, { machineId, mode, diskGb: 1 }));
    expect(done === null ? 'taken' : 'rented').toBe(can ? 'rented' : 'taken');
    if (done !== null) begin(naive, { id: done.id, account, host, first, count, mode, isRunning: true });
  } else if (what < 0.5) {
    const count = pick([1, 2, 4, 8]);
    const filter = { numMin: count, numMax: count };
    const done = await rented(deployBest(gateway, accounts[account]!, { filter, mode, diskGb: 1 }));
    const fits = hosts.some((_, host) =>
      blocksOfHost(host).some((block) => block.count === count && naive.holders({ host, ...block }).length === 0),
    );
    expect(done !== null).toBe(fits);
    if (done === null) return;
    const host = hosts.findIndex((id) => done.machineId === id || done.machineId.startsWith(`${id}.`));
    const { first } = blocksOfHost(host).find(({ machineId }) => machineId === done.machineId)!;
    const free = hosts.flatMap((_, each) => naive.freeBlocks(each, count));
    expect(naive.breaks(host, first, count)).toBe(
      Math.min(...free.map((at) => naive.breaks(at.host, at.first, count))),
    );
    begin(naive, { id: done.id, account, host, first, count, mode, isRunning: true });
  } else {
    const rental = pick(mine);
    const action = what < 0.65 ? 'STOP' : what < 0.8 ? 'START' : 'DESTROY';
    const can =
      action === 'DESTROY' ||
      (action === 'STOP' ? rental.isRunning : !rental.isRunning && naive.canRun(rental, rental.mode));
    const done = await rented(act(gateway, accounts[account]!, { id: rental.id, action }));
    expect([action, done !== null]).toEqual([action, can]);
    if (!can) return;
    if (action === 'START') naive.run(rental);
    else naive.stop(rental);
    if (action === 'DESTROY') naive.rentals.splice(naive.rentals.indexOf(rental), 1);
  }
}

function begin(naive: Naive, rental: Rental): void {
  naive.rentals.push(rental);
  naive.run(rental);
}

async function rented(work: Promise<{ instance: { id: string; machineId: string } }>) {
  try {
    return (await work).instance;
  } catch (error) {
    if ((error as { code?: string }).code?.endsWith('_failed')) return null;
    throw error;
  }
}

test(`${STEPS} random rentals via two gateways match a naive model (seed ${SEED})`, async () => {
  const below = randomFrom(SEED);
  random = () => below(STEP_OF_RANDOM) / STEP_OF_RANDOM;
  const naive = new Naive();
  const gateways = [domain, other];
  for (let n = 0; n < STEPS; n += 1) {
    domain.clock.advance(random() < 0.5 ? 0 : random() * 3);
    // Heartbeats arrive regularly, since outages are not tested here.
    if (n % 10 === 0) await recordHeartbeats();
    const gateway = pick(gateways);
    await gateway.db.notices.caughtUp();
    await step(naive, gateway);
    if (n % (isLong ? 20 : 4) === 0) for (const each of gateways) await compare(naive, each);
  }
  for (const each of gateways) await compare(naive, each);
  expect((await audit(domain)).findings).toEqual([]);
});

async function recordHeartbeats(): Promise<void> {
  for (const id of hosts) domain.fleet.heartbeats.record(id, domain.clock.now());
  await domain.fleet.heartbeats.flush();
}
