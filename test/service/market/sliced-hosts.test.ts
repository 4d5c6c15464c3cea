import { afterAll, beforeAll, expect, it } from 'vitest';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { deployBest } from '../../../src/domain/inventory/deploy-best.js';
import { checkFilter } from '../../../src/domain/inventory/offer-search.js';
import { quote } from '../../../src/domain/inventory/quote.js';
import { bestOffer } from '../../../src/domain/inventory/rules/best-offer.js';
import { criteriaOf } from '../../../src/domain/inventory/rules/offer-filter.js';
import { blocksOf, shareOf } from '../../../src/domain/kernel/slices.js';
import { randomFrom } from '../../support/long.js';
import { type NaiveHost, type NaiveMachine, naiveMachines } from '../../support/market/naive-host.js';
import { type Service, startService } from '../../support/service.js';

const STEPS = Number(process.env.MODEL_STEPS ?? 150);
const SEED = Number(process.env.MODEL_SEED ?? 26);
const DISK_GB = 100;

let service: Service;
let accountId: string;
/** Rates per GPU-hour. */
let rates: Map<string, bigint>;

/** A naive host as stored in the database, with its instances. */
interface Stored extends NaiveHost {
  state: string;
  instances: { id: string; first: number; count: number; yields: boolean; status: 'RUNNING' | 'STOPPED' }[];
}

const PLAIN = {
  region: 'us-tx',
  cpu: 'AMD EPYC 9654',
  vcpus: 255,
  ramGb: 1_031,
  diskGb: 2_000,
  netMbps: { down: 9_001, up: 5_000 },
  ports: 100,
  pcie: 5,
  nvlink: true,
  cudaMax: '12.8',
  reliability: 0.99,
  demo: false,
  hasAgent: true,
  fuse: false,
};

const fresh = () => ({
  sizes: [1, 2, 4, 8, 0],
  missing: [],
  running: [],
  diskLeftGb: 0,
  state: 'LISTED',
  instances: [],
});

const eight = (model: string) => Array.from({ length: 8 }, () => model);
const SHAPES: (Pick<NaiveHost, 'models'> & Partial<NaiveHost>)[] = [
  { models: eight('h100-sxm') },
  { models: eight('h100-sxm') },
  { models: eight('h100-sxm'), sizes: [1, 2] },
  { models: eight('a30'), reliability: 0.95 },
  { models: eight('a30').slice(4) },
  { models: eight('a30').slice(2), sizes: [0, 4] },
  { models: ['a30', 'a30', 'a30', ...eight('h100-sxm').slice(3)] },
  { models: ['a30'] },
  // Half a share of the disk is too little to be offered.
  { models: eight('a30'), diskGb: 700 },
  { models: eight('h100-sxm'), sizes: [0] },
];

let hosts: Stored[];

beforeAll(async () => {
  service = await startService();
  ({ accountId } = await service.renter('1000'));
  await service.sql(`update machine set state = 'RETIRED'`);
  hosts = SHAPES.map((shape, number) => ({
    ...PLAIN,
    ...fresh(),
    ...shape,
    // Some ids are prefixes of others.
    hostId: `host${number % 2 === 0 ? '' : '-'}${number}`,
  }));
  for (const host of hosts) await store(host);
  const { catalogue } = await service.deps.inventory.current();
  rates = new Map([...catalogue.prices].map(([gpu, { onDemandRate }]) => [gpu, onDemandRate]));
});
afterAll(() => service?.close());

/** Stores a host as enrolment does. */
async function store(host: Stored): Promise<void> {
  const { hostId: id, models, sizes, missing } = host;
  const whole = { first: 0, count: models.length, machineId: id, gpu: models[0]! };
  const blocks = blocksOf({ id, models, sizes: [1, 2, 4, 8, 0] }).filter(({ machineId }) => machineId !== id);
  for (const { machineId, gpu, ...block } of [whole, ...blocks]) {
    const share = (amount: number) => shareOf(amount, block, models.length);
    const { netMbps, nvlink, region, cpu, pcie, cudaMax, reliability } = host;
    await service.sql(
      `insert into machine (id, host_id, gpu, first_gpu, num_gpus, region, cpu, vcpus, ram_gb, disk_gb, net_down_mbps,
         net_up_mbps, ports, pcie, nvlink, cuda_max, reliability, state, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'LISTED', '2026-11-01')`,
      [
        ...[machineId, id, gpu, block.first, block.count, region, cpu, share(host.vcpus), share(host.ramGb)],
        ...[share(host.diskGb), share(netMbps.down), share(netMbps.up), share(host.ports), pcie],
        ...[nvlink, cudaMax, reliability],
      ],
    );
  }
  await service.sql(
    `insert into machine_host (machine_id, token_hash, joined_at, hardware, protocol, slices, gpus, missing)
     values ($1, sha256($1::text::bytea), now(), '{}', 2, $2, $3, $4)`,
    [id, sizes, JSON.stringify(models.map((model, place) => ({ uuid: `${id} ${place}`, model }))), missing],
  );
  await service.sql('insert into machine_heartbeat (machine_id, reachable) values ($1, true)', [id]);
  await service.sql('update machine set cpu = cpu where id = $1', [id]);
}

/** Returns the offered machines with their rates. */
function naive(): (NaiveMachine & { rate: bigint })[] {
  return hosts
    .filter(({ state }) => state === 'LISTED')
    .flatMap((host) => {
      const running = host.instances.filter(({ status }) => status === 'RUNNING');
      const { instances, state, ...same } = host;
      const diskLeftGb = Math.max(host.diskGb - DISK_GB * instances.length, 0);
      return naiveMachines({ ...same, running, diskLeftGb });
    })
    .map((each) => ({ ...each, rate: rates.get(each.offered.gpu)! * BigInt(each.offered.numGpus) }));
}

type Key = bigint | number | string;
const sortedBy = <T>(list: readonly T[], keys: (entry: T) => Key[]): T[] =>
  [...list].sort((one, other) => {
    const [ones, others] = [keys(one), keys(other)];
    const place = ones.findIndex((key, at) => key !== others[at]);
    return place === -1 ? 0 : ones[place]! < others[place]! ? -1 : 1;
  });

async function expectSame(done: string): Promise<void> {
  const all = naive();
  const { offers } = await service.deps.inventory.current();
  const everything = criteriaOf(checkFilter({ includePreemptible: true }));
  const byPrice = sortedBy(all, ({ rate, offered }) => [rate, -offered.reliability, offered.machineId]);
  const found = offers.cheapest('all', () => everything, null, 1_000).map(({ pricePerHour, ...offered }) => offered);
  expect([done, found]).toEqual([done, byPrice.map(({ offered }) => offered)]);
  const free = all.filter(({ offered }) => !offered.preemptible);
  for (const gpu of ['h100-sxm', 'a30']) {
    const of = free.filter(({ offered }) => offered.gpu === gpu);
    const gpus = new Set(of.flatMap((each) => each.gpus));
    expect([done, gpu, offers.availableGpus(gpu), offers.offersOf(gpu)]).toEqual([done, gpu, gpus.size, of.length]);
  }
  for (const [gpu, num] of [
    ['h100-sxm', 1],
    ['h100-sxm', 2],
    ['a30', 1],
    ['a30', 4],
  ] as const) {
    const filter = checkFilter({ gpus: [gpu], numMin: num, numMax: num, includePreemptible: true });
    const { criteria, order } = bestOffer({
      ...{ filter, gpus: null, regions: null, maxRate: null, diskGb: 50, mode: 'ON_DEMAND' },
    });
    const fitting = all.filter(({ offered }) => offered.gpu === gpu && offered.numGpus === num);
    const best = sortedBy(fitting, ({ rate, breaks, offered }) => [
      ...[rate, Number(offered.preemptible), breaks, -offered.reliability, offered.machineId],
    ]);
    expect([done, offers.best(criteria, order, 5, new Set()).map(({ machineId }) => machineId)]).toEqual([
      done,
      best.slice(0, 5).map(({ offered }) => offered.machineId),
    ]);
  }
}

it('offers for parts of hosts match a naive model after every change', async () => {
  const random = randomFrom(SEED);
  const oneOf = <T>(list: readonly T[]): T | undefined => list[random(list.length)];
  let rentals = 0;
  await expectSame('at first');

  const stop = async (host: Stored, instance: Stored['instances'][number]) => {
    instance.status = 'STOPPED';
    await service.sql(
      `update instance set status = 'STOPPED', stopped_at = running_since, running_since = null, stop_reason = 'USER' where id = $1`,
      [instance.id],
    );
    return `stop ${instance.id} on ${host.hostId}`;
  };
  const rent = async () => {
    const chosen = oneOf(naive());
    if (chosen === undefined) return 'nothing to rent';
    const { machineId, gpu, numGpus } = chosen.offered;
    const host = hosts.find(({ hostId }) => chosen.gpus[0]!.startsWith(`${hostId} `))!;
    const first = Number(chosen.gpus[0]!.split(' ')[1]);
    for (const other of host.instances) {
      const isOverlapping = other.first < first + numGpus && first < other.first + other.count;
      if (other.status === 'RUNNING' && isOverlapping) await stop(host, other);
    }
    rentals += 1;
    const id = `i-${rentals.toString(16).padStart(8, '0')}`;
    const yields = random(2) === 0;
    await service.sql(
      `insert into instance (id, account_id, sequence, machine_id, host_id, first_gpu, status, gpu, num_gpus, region, template,
         disk_gb, mode, gpu_rate, disk_rate, on_demand_rate, created_at, running_since)
       values ($1, $2, $3, $4, $5, $6, 'RUNNING', $7, $8, 'us-tx', 'pytorch', $9, $10::pricing_mode, 1, 1, 1, '2026-11-20', '2026-11-20')`,
      [
        id,
        accountId,
        1_000 + rentals,
        machineId,
        host.hostId,
        first,
        gpu,
        numGpus,
        DISK_GB,
        yields ? 'INTERRUPTIBLE' : 'ON_DEMAND',
      ],
    );
    host.instances.push({ id, first, count: numGpus, yields, status: 'RUNNING' });
    return `rent ${machineId}${yields ? ', interruptible' : ''}`;
  };
  const end = async () => {
    const host = oneOf(hosts.filter(({ instances }) => instances.length > 0));
    if (host === undefined) return 'nothing to end';
    const instance = oneOf(host.instances)!;
    if (instance.status === 'RUNNING' && random(3) === 0) return stop(host, instance);
    await service.sql(
      `update instance set status = 'DESTROYED', stopped_at = coalesce(stopped_at, running_since), running_since = null,
         destroyed_at = created_at where id = $1`,
      [instance.id],
    );
    host.instances.splice(host.instances.indexOf(instance), 1);
    return `destroy ${instance.id} on ${host.hostId}`;
  };
  const change = async () => {
    const host = oneOf(hosts)!;
    const what = oneOf(['state', 'reliability', 'slices', 'missing'] as const)!;
    if (what === 'state') host.state = host.state === 'LISTED' ? 'DRAINED' : 'LISTED';
    if (what === 'reliability') host.reliability = oneOf([0.9, 0.95, 0.99])!;
    if (what === 'slices') host.sizes = oneOf([[1, 2, 4, 8, 0], [1, 2, 4, 8, 0], [0], [1], [2, 4]])!;
    if (what === 'missing') host.missing = host.missing.length > 0 ? [] : [random(host.models.length)];
    if (what === 'state' || what === 'reliability')
      await service.sql(`update machine set state = $2::machine_state, reliability = $3 where id = $1`, [
        ...[host.hostId, host.state, host.reliability],
      ]);
    else
      await service.sql('update machine_host set slices = $2, missing = $3 where machine_id = $1', [
        ...[host.hostId, host.sizes, host.missing],
      ]);
    return `${what} of ${host.hostId}`;
  };

  for (let step = 0; step < STEPS; step += 1) {
    const done = await oneOf([rent, rent, rent, rent, end, end, change])!();
    await expectSame(`seed ${SEED}, step ${step}: ${done}`);
  }
  // A full read returns the same, regardless of the notices and their order.
  const { offers } = await service.deps.inventory.current();
  const before = [...offers.hostIds()].sort();
  await service.sql('update machine set cpu = cpu');
  await service.deps.inventory.readInFull();
  expect([...offers.hostIds()].sort()).toEqual(before);
  await expectSame('read in full');
});

/** Stores a host that the model above does not include. */
async function storeOther(hostId: string, gpu: string, changes: Partial<Stored> = {}): Promise<void> {
  const models = Array.from({ length: 8 }, () => gpu);
  await store({ ...PLAIN, ...fresh(), models, hostId, ...changes });
}

/** Deploys `num` GPUs of a model with deployBest and returns the machine's id. */
async function best(gpu: string, num: number, changes: Parameters<typeof deployBest>[2] = {}): Promise<string> {
  const filter = { gpus: [gpu], numMin: num, numMax: num, ...changes.filter };
  const { instance } = await deployBest(service.deps, accountId, { diskGb: 10, ...changes, filter });
  return instance.machineId;
}

it('deployBest splits the smallest free block, then the next smallest', async () => {
  await storeOther('fit-a', 'l4', { reliability: 1 });
  await storeOther('fit-b', 'l4', { reliability: 0.9 });
  await deploy(service.deps, accountId, { machineId: 'fit-b.g0', diskGb: 10 });
  const order: string[] = [];
  for (const num of [1, 1, 1, 2, 2, 1, 4, 2]) order.push(await best('l4', num));
  expect(order).toEqual([
    ...['fit-b.g1', 'fit-b.g2', 'fit-b.g3', 'fit-b.g4-5', 'fit-b.g6-7', 'fit-a.g0', 'fit-a.g4-7', 'fit-a.g2-3'],
  ]);
  const { offers } = await service.deps.inventory.current();
  expect([offers.availableGpus('l4'), offers.offersOf('l4'), offers.offerOf('fit-a.g1')?.numGpus]).toEqual([1, 1, 1]);
  await expect(best('l4', 2)).rejects.toMatchObject({ code: 'deploy_failed' });
});

it('concurrent deployBest calls rent each GPU of a host exactly once', async () => {
  await storeOther('rush', 'a10');
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => best('a10', 1)));
  const rented = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  expect(rented.sort()).toEqual(Array.from({ length: 8 }, (_, place) => `rush.g${place}`));
  for (const each of results) if (each.status === 'rejected') expect(each.reason.code).toBe('deploy_failed');
});

it('deployBest preempts interruptible instances of two accounts for one block', async () => {
  await storeOther('held', 'a40');
  await deploy(service.deps, accountId, { machineId: 'held.g4-7', diskGb: 10 });
  await deploy(service.deps, accountId, { machineId: 'held.g2-3', diskGb: 10 });
  const holders = [];
  for (const machineId of ['held.g0', 'held.g1']) {
    const { accountId: holder } = await service.renter('1000');
    holders.push((await deploy(service.deps, holder, { machineId, diskGb: 10, mode: 'INTERRUPTIBLE' })).instance.id);
  }
  await expect(best('a40', 2)).rejects.toMatchObject({ code: 'deploy_failed' });
  const input = { filter: { gpus: ['a40'], numMin: 2, includePreemptible: true }, diskGb: 10 };
  expect(await quote(service.deps, accountId, input)).toMatchObject({ machineId: 'held.g0-1', preemptedInstances: 2 });
  const { instance } = await deployBest(service.deps, accountId, input);
  expect(instance.machineId).toBe('held.g0-1');
  expect(await service.sql('select status, stop_reason from instance where id = any($1)', [holders])).toEqual(
    holders.map(() => ({ status: 'STOPPED', stop_reason: 'PREEMPTED' })),
  );
  await act(service.deps, accountId, { id: instance.id, action: 'DESTROY' });
  const { offers } = await service.deps.inventory.current();
  expect(offers.availableGpus('a40')).toBe(2);
});
