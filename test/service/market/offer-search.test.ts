import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deploy } from '../../../src/domain/instances/instances.js';
import { withoutTimers } from '../../support/background.js';
import { type Service, startService } from '../../support/service.js';

withoutTimers();
let service: Service;
let machines: Machine[];

beforeAll(async () => {
  service = await startService();
  // Creates ties of every kind, so that the id finally decides the order.
  await service.sql('update machine set reliability = round(reliability::numeric, 2)');
  const renter = await service.renter('1000');
  for (const [index, mode] of (['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'] as const).entries()) {
    const [machine] = await service.sql(
      `select id from machine where gpu = 'rtx-3060' and num_gpus = 1 order by id offset ${index} limit 1`,
    );
    await deploy(service.deps, renter.accountId, { machineId: String(machine!.id), mode });
  }
  await service.sql(
    `update machine set state = 'OFFLINE' where id in (select id from machine where gpu = 'l4' limit 2)`,
  );
  machines = (await service.sql(`
    select machine.*, model.vram_gb, model.tier, price.on_demand_rate::float8 as rate, instance.mode as held
    from machine join gpu_model model on model.slug = gpu join gpu_price price using (gpu)
      left join instance on machine_id = machine.id
    where snapshot_date = '2026-09-26' and machine.state = 'LISTED'`)) as unknown as Machine[];
});
afterAll(() => service.close());

interface Machine {
  id: string;
  gpu: string;
  region: string;
  num_gpus: number;
  vcpus: number;
  ram_gb: number;
  disk_gb: number;
  nvlink: boolean;
  reliability: number;
  vram_gb: number;
  tier: string;
  rate: number;
  held: string | null;
}

const SEARCH = `query($filter: OfferFilterInput, $sort: OfferSort, $first: Int, $after: String, $last: Int, $before: String) {
  offerSearch(filter: $filter, sort: $sort, first: $first, after: $after, last: $last, before: $before) {
    totalCount
    edges { cursor node { machineId preemptible } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

async function search(variables: Record<string, unknown>) {
  const { body } = await service.anyone.graphql(SEARCH, variables);
  expect(body.errors).toBeUndefined();
  return body.data.offerSearch;
}

/** Returns the machines on every page of a search, in order. */
async function everyPage(variables: Record<string, unknown>, size = 100): Promise<string[]> {
  const ids: string[] = [];
  for (let after: string | null = null; ; ) {
    const { edges, pageInfo, totalCount } = await search({ ...variables, first: size, after });
    expect(pageInfo.hasPreviousPage).toBe(ids.length > 0);
    ids.push(...edges.map((edge: { node: { machineId: string } }) => edge.node.machineId));
    expect(pageInfo.hasNextPage).toBe(ids.length < totalCount);
    if (!pageInfo.hasNextPage) return ids;
    after = pageInfo.endCursor;
  }
}

type Key = (machine: Machine) => number | string;
const price: Key = ({ rate, num_gpus }) => rate * num_gpus;
const ORDERS: Record<string, Key[]> = {
  PRICE: [price, (m) => -m.reliability, (m) => m.id],
  PRICE_PER_GPU: [(m) => m.rate, price, (m) => -m.reliability, (m) => m.id],
  RELIABILITY: [(m) => -m.reliability, price, (m) => m.id],
};

function expected(fits: (machine: Machine) => boolean, sort: string, preemptible = false): string[] {
  const free = machines.filter(({ held }) => held === null || (preemptible && held === 'INTERRUPTIBLE'));
  const compare = (a: Machine, b: Machine) => {
    for (const key of ORDERS[sort]!) if (key(a) !== key(b)) return key(a) < key(b) ? -1 : 1;
    return 0;
  };
  return free
    .filter(fits)
    .sort(compare)
    .map(({ id }) => id);
}

describe('offerSearch', () => {
  it.each(Object.keys(ORDERS))('sorted by %s returns every offer once, page by page, from both ends', async (sort) => {
    const all = expected(() => true, sort);
    expect(all.length).toBeGreaterThan(1_000);
    expect(await everyPage({ sort })).toEqual(all);
    const backwards: string[] = [];
    for (let before: string | null = null; ; ) {
      const { edges, pageInfo } = await search({ sort, last: 100, before });
      expect(pageInfo.hasNextPage).toBe(backwards.length > 0);
      backwards.unshift(...edges.map((edge: { node: { machineId: string } }) => edge.node.machineId));
      expect(pageInfo.hasPreviousPage).toBe(backwards.length < all.length);
      if (!pageInfo.hasPreviousPage) break;
      before = pageInfo.startCursor;
    }
    expect(backwards).toEqual(all);
  });

  const FILTERS: [Record<string, unknown>, (machine: Machine) => boolean][] = [
    [{ gpus: ['h100-sxm', 'l40s'] }, (m) => ['h100-sxm', 'l40s'].includes(m.gpu)],
    [{ regions: ['us-tx', 'us-mo'] }, (m) => ['us-tx', 'us-mo'].includes(m.region)],
    [{ gpus: [], regions: [], tiers: [] }, () => true],
    [{ gpus: null, nvlink: null, numMin: null, includePreemptible: null }, () => true],
    [{ gpus: ['no-such-model'] }, () => false],
    [{ tiers: ['FLAGSHIP', 'CONSUMER_FLAGSHIP'] }, (m) => /FLAGSHIP$/.test(m.tier)],
    [{ vramGbMin: 80 }, (m) => m.vram_gb >= 80],
    [{ nvlink: true }, (m) => m.nvlink],
    [{ nvlink: false }, (m) => !m.nvlink],
    [{ reliabilityMin: 0.99 }, (m) => m.reliability >= 0.99],
    [{ vcpusMin: 64 }, (m) => m.vcpus >= 64],
    [{ ramGbMin: 512 }, (m) => m.ram_gb >= 512],
    [{ diskGbMin: 2000 }, (m) => m.disk_gb >= 2000],
    [{ numMin: 2, numMax: 4 }, (m) => m.num_gpus >= 2 && m.num_gpus <= 4],
    [{ pricePerGpuMax: 0.44 }, (m) => m.rate <= 440_000],
    [{ pricePerGpuMax: 0.439999 }, (m) => m.rate <= 430_000],
    [
      { tiers: ['DATACENTER'], regions: ['us-tx', 'us-mo'], vramGbMin: 40, numMin: 2, pricePerGpuMax: 1.5 },
      (m) =>
        m.tier === 'DATACENTER' &&
        ['us-tx', 'us-mo'].includes(m.region) &&
        m.vram_gb >= 40 &&
        m.num_gpus >= 2 &&
        m.rate <= 1_500_000,
    ],
  ];
  it.each(FILTERS)('filters by %j', async (filter, fits) => {
    const ids = expected(fits, 'PRICE');
    expect(await everyPage({ filter })).toEqual(ids);
    expect((await search({ filter, first: 1 })).totalCount).toBe(ids.length);
    const part = ids.length > 0 && ids.length < machines.length - 3;
    expect(part || /no-such-model|null|\[\]/.test(JSON.stringify(filter))).toBe(true);
  });

  it.each([
    ...FILTERS,
    [{ gpus: ['rtx-3060'], includePreemptible: true }, ({ gpu, held }) => gpu === 'rtx-3060' && held !== 'ON_DEMAND'],
  ] as typeof FILTERS)('counts the GPUs per model and per region, filtered by %j', async (filter, fits) => {
    const ids = new Set(expected(fits, 'PRICE', filter.includePreemptible === true));
    const counted = (kind: 'gpu' | 'region') => {
      const counts = new Map<string, number>();
      for (const machine of machines) {
        if (ids.has(machine.id)) counts.set(machine[kind], (counts.get(machine[kind]) ?? 0) + machine.num_gpus);
      }
      return [...counts].sort(([a], [b]) => (a < b ? -1 : 1));
    };
    const query = `query ($filter: OfferFilterInput) {
      offerSearch(filter: $filter, first: 1) { models { gpu gpus } regions { region gpus } }
    }`;
    const { body } = await service.anyone.graphql(query, { filter });
    expect(body.errors).toBeUndefined();
    const { models, regions } = body.data.offerSearch;
    expect(models.map(({ gpu, gpus }: { gpu: string; gpus: number }) => [gpu, gpus])).toEqual(counted('gpu'));
    expect(regions.map(({ region, gpus }: { region: string; gpus: number }) => [region, gpus])).toEqual(
      counted('region'),
    );
  });

  it('includes preemptible machines only if requested', async () => {
    const filter = { gpus: ['rtx-3060'] };
    const isModel = ({ gpu }: Machine) => gpu === 'rtx-3060';
    expect(await everyPage({ filter: { ...filter, includePreemptible: true } })).toEqual(
      expected(isModel, 'PRICE', true),
    );
    const { edges } = await search({ filter: { ...filter, includePreemptible: true }, first: 100 });
    const held = machines.find((machine) => machine.held === 'INTERRUPTIBLE')!.id;
    for (const { node } of edges) expect(node.preemptible).toBe(node.machineId === held);
  });

  it('neither repeats nor skips an offer if one on an earlier page is rented', async () => {
    const filter = { gpus: ['rtx-4090'] };
    const all = await everyPage({ filter });
    const first = await search({ filter, first: 5 });
    const renter = await service.renter();
    const { instance } = await deploy(service.deps, renter.accountId, { machineId: all[1]! });
    const next = await search({ filter, first: 5, after: first.pageInfo.endCursor });
    expect(next.edges.map((edge: { node: { machineId: string } }) => edge.node.machineId)).toEqual(all.slice(5, 10));
    // The cursor of a rented machine still marks its position.
    const afterRented = await search({ filter, first: 3, after: first.edges[1].cursor });
    expect(afterRented.edges.map((edge: { node: { machineId: string } }) => edge.node.machineId)).toEqual(
      all.slice(2, 5),
    );
    await renter.rest('DELETE', `/instances/${instance.id}`);
  });

  it('can read between two cursors and past the end', async () => {
    const all = await everyPage({});
    const { edges } = await search({ first: 10 });
    const between = await search({ first: 100, after: edges[2].cursor, before: edges[7].cursor });
    expect(between.edges.map((edge: { node: { machineId: string } }) => edge.node.machineId)).toEqual(all.slice(3, 7));
    expect(between.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
    const end = await search({ last: 1 });
    const past = await search({ after: end.pageInfo.endCursor });
    expect(past).toEqual({
      totalCount: all.length,
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null },
    });
  });

  const forged = (text: string) => Buffer.from(text).toString('base64');
  it.each([
    ['after', 'x'],
    ['after', ''],
    ['before', forged('PRICE 1 2 0.99')],
    ['after', forged('PRICE_PER_GPU 440000 440000 0.99 m-1')],
    ['after', forged('PRICE 9999999999999999999 1 0.99 m-1')],
    ['before', forged('PRICE 1 1 NaN m-1')],
    ['after', forged('PRICE 1 1 0.99 m-\u0000')],
    ['after', forged(`PRICE 1 1 0.99 ${'m'.repeat(65)}`)],
    ['after', forged("PRICE 1 1 0.99 m-1\n'; drop table machine")],
  ])('rejects %s: %j, which is not a cursor from the list', async (name, cursor) => {
    const { body } = await service.anyone.graphql(SEARCH, { [name]: cursor });
    expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_request', status: 422, field: name });
  });

  it.each([
    [{ first: 0 }, 'first'],
    [{ first: 101 }, 'first'],
    [{ last: 0 }, 'last'],
    [{ filter: { gpus: Array.from({ length: 101 }, (_, index) => `gpu-${index}`) } }, 'gpus'],
    [{ filter: { regions: [''] } }, 'regions'],
    [{ filter: { gpus: ['a\u0000b'] } }, 'gpus'],
    [{ filter: { numMin: 0 } }, 'numMin'],
    [{ filter: { numMax: 9 } }, 'numMax'],
    [{ filter: { vramGbMin: 0 } }, 'vramGbMin'],
    [{ filter: { reliabilityMin: 1.01 } }, 'reliabilityMin'],
    [{ filter: { vcpusMin: -1 } }, 'vcpusMin'],
    [{ filter: { ramGbMin: 2_000_000 } }, 'ramGbMin'],
    [{ filter: { diskGbMin: 0 } }, 'diskGbMin'],
    [{ filter: { pricePerGpuMax: -0.1 } }, 'pricePerGpuMax'],
  ])('rejects %j, which exceeds the bounds of %s', async (variables, field) => {
    const { body } = await service.anyone.graphql(SEARCH, variables);
    expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_request', status: 422, field });
    expect(body.errors[0].message).toContain(field);
  });

  it('sends no database statement for any page', async () => {
    const { pool } = service.deps.db;
    const query = pool.query;
    const statementsOf = async (variables: Record<string, unknown>) => {
      let statements = 0;
      pool.query = function (this: pg.Pool, ...args: unknown[]) {
        statements += 1;
        return (query as (...all: unknown[]) => unknown).apply(this, args);
      } as typeof pool.query;
      await search(variables);
      pool.query = query;
      return statements;
    };
    // The fewest of three attempts are counted, since prices and machines may be read again during one of them.
    const count = async (variables: Record<string, unknown>) =>
      Math.min(await statementsOf(variables), await statementsOf(variables), await statementsOf(variables));
    expect(await count({ first: 1 })).toBe(0);
    expect(await count({ first: 100, sort: 'RELIABILITY', filter: { numMin: 1, vcpusMin: 8 } })).toBe(0);
    expect(await count({ filter: { gpus: ['none'] } })).toBe(0);
  });
});
