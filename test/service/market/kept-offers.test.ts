import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { isLong, randomHistories } from '../../support/long.js';
import { type MarketTruth, readTruth } from '../../support/market/market-truth.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

const RUNS = 8;
const STEPS = 25;

/** Two gateways on one database, each with its own cache. */
let gateways: [Service, Service];

beforeAll(async () => {
  const first = await startService();
  gateways = [first, await startService({ databaseUrl: first.databaseUrl })];
});
afterAll(async () => {
  for (const gateway of gateways ?? []) await gateway.close();
});

const bothCaughtUp = () => allCaughtUp(gateways);

/** Advances both clocks, which always show the same second. */
function advance(seconds: number): void {
  for (const { clock } of gateways) clock.advance(seconds);
}

// biome-ignore lint/suspicious/noExplicitAny: responses of any shape
type Body = any;

/** A request that can use or bypass the cache, and a comparison with the database. */
interface Probe {
  send(gateway: Service, fresh: string): Promise<string>;
  /** Compares the computed part of a response with the database. */
  check(body: Body, truth: MarketTruth): void;
}

const REGIONS = ['sa-br-sao', 'ap-kr-sel'];
const GPUS = ['p4', 'a30', 'mi250x'];

async function textOf(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  const text = await response.text();
  expect([response.status, text.slice(0, 200)]).toEqual([200, text.slice(0, 200)]);
  return text;
}

function rest(path: string, check: Probe['check']): Probe {
  // Empty parameters produce different URLs for the same request.
  const mark = path.includes('?') ? '&' : '?';
  const other = (fresh: string) => `${mark}${'&'.repeat(Number(fresh) % 300)}`;
  return {
    send: ({ address }, fresh) => textOf(fetch(`${address}/v1${path}${fresh && other(fresh)}`)),
    check,
  };
}

function graphql(query: string, check: Probe['check']): Probe {
  return {
    send: ({ address }, fresh) =>
      textOf(
        fetch(`${address}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query: fresh ? `${query} # ${fresh}` : query }),
        }),
      ),
    check: ({ data }, truth) => check(data, truth),
  };
}

function offersProbe(filter: { gpu?: string; region?: string; num_min?: number; price_max?: number; limit?: number }) {
  const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]));
  return rest(`/offers?${query}`, (body, truth) => {
    const { gpu, region, num_min: numMin = 1, price_max: priceMax, limit = 25 } = filter;
    const expected = truth.offers({ gpu, region, numMin, priceMax }).slice(0, limit);
    expect(body).toEqual({ object: 'offers', count: expected.length, data: expected.map(({ shown }) => shown) });
  });
}

const OFFER_FIELDS = `machineId gpu numGpus region diskGb preemptible pricePerHour { onDemand reserved }
  gpuModel { name tier } regionInfo { name }`;

function graphqlOffers(region: string): Probe {
  return graphql(
    `{ offers(region: "${region}", includePreemptible: true, limit: 100) { ${OFFER_FIELDS} } }`,
    (data, truth) =>
      expect(data.offers).toEqual(
        truth
          .offers({ region, includePreemptible: true })
          .slice(0, 100)
          .map(({ shown, preemptible, reserved }) => ({
            machineId: shown.machine_id,
            gpu: shown.gpu,
            numGpus: shown.num_gpus,
            region,
            diskGb: shown.disk_gb,
            preemptible,
            pricePerHour: { onDemand: shown.price_per_hour.on_demand, reserved },
            gpuModel: { name: truth.models.get(shown.gpu)!.name, tier: truth.models.get(shown.gpu)!.tier },
            regionInfo: { name: truth.regions.get(region) },
          })),
      ),
  );
}

const namesOf = (entries: Body[], key: string, value: string) => entries.map((entry) => [entry[key], entry[value]]);

const PROBES: Record<string, Probe> = {
  'the cheapest': offersProbe({}),
  'the cheapest hundred': offersProbe({ limit: 100 }),
  'in one region': offersProbe({ region: REGIONS[0]!, limit: 100 }),
  'in another region': offersProbe({ region: REGIONS[1]!, limit: 100 }),
  'of one model': offersProbe({ gpu: GPUS[0]!, limit: 100 }),
  'of another model': offersProbe({ gpu: GPUS[1]!, limit: 100 }),
  'of a third model': offersProbe({ gpu: GPUS[2]!, limit: 100 }),
  'three of a model in a region': offersProbe({ gpu: GPUS[1]!, region: REGIONS[0]!, num_min: 2, limit: 3 }),
  'under a price': offersProbe({ region: REGIONS[1]!, num_min: 2, price_max: 0.5, limit: 100 }),
  'GraphQL offers in one region': graphqlOffers(REGIONS[0]!),
  'GraphQL offers in another region': graphqlOffers(REGIONS[1]!),
  pricing: rest('/gpus/pricing', (body, truth) => expect(body).toEqual(truth.sheet(body))),
  'GraphQL pricing': graphql(
    '{ pricing { marketSnapshot count data { slug name availableGpus pricePerGpuHour { onDemand } } } }',
    ({ pricing }, truth) => {
      const sheet = truth.sheet({});
      expect([pricing.marketSnapshot, pricing.count]).toEqual([sheet.market_snapshot, sheet.count]);
      expect(pricing.data).toEqual(
        sheet.data.map(({ slug, name, available_gpus, price_per_gpu_hour: { on_demand } }) => ({
          slug,
          name,
          availableGpus: available_gpus,
          pricePerGpuHour: { onDemand: on_demand },
        })),
      );
    },
  ),
  catalogue: graphql(
    '{ gpuModels { slug name } regions { code name } templates { slug description } }',
    ({ gpuModels, regions, templates }, truth) => {
      expect(namesOf(gpuModels, 'slug', 'name')).toEqual([...truth.models].map(([slug, { name }]) => [slug, name]));
      expect(namesOf(regions, 'code', 'name')).toEqual([...truth.regions]);
      expect(namesOf(templates, 'slug', 'description')).toEqual([...truth.templates]);
    },
  ),
  search: graphql(
    `{ offerSearch(filter: { regions: ["${REGIONS[0]}"] }, first: 100) { totalCount edges { node { machineId } } } }`,
    ({ offerSearch }, truth) => {
      const offers = truth.offers({ region: REGIONS[0]! });
      expect(offerSearch.totalCount).toBe(offers.length);
      const ids = offerSearch.edges.map(({ node }: Body) => node.machineId);
      expect(ids).toEqual(offers.slice(0, 100).map(({ shown }) => shown.machine_id));
    },
  ),
  'search of the least reliable': graphql(
    `{ offerSearch(sort: RELIABILITY, last: 5, filter: { gpus: ${JSON.stringify(GPUS)}, tiers: [DATACENTER], vramGbMin: 8,
      nvlink: false, reliabilityMin: 0.95, diskGbMin: 100, numMax: 2, pricePerGpuMax: 0.5, includePreemptible: true
    }) { totalCount pageInfo { hasPreviousPage } edges { node { machineId diskGb pricePerHour { onDemand } } } } }`,
    ({ offerSearch }, truth) => {
      const offers = truth
        .offers({ includePreemptible: true })
        .filter(
          ({ shown }) =>
            GPUS.includes(shown.gpu) &&
            truth.models.get(shown.gpu)!.tier === 'DATACENTER' &&
            !shown.nvlink &&
            shown.reliability >= 0.95 &&
            shown.disk_gb >= 100 &&
            shown.num_gpus <= 2 &&
            shown.price_per_hour.on_demand <= 0.5 * shown.num_gpus,
        )
        // Equally reliable offers stay ordered by price.
        .sort((one, other) => other.shown.reliability - one.shown.reliability);
      expect([offerSearch.totalCount, offerSearch.pageInfo.hasPreviousPage]).toEqual([
        offers.length,
        offers.length > 5,
      ]);
      expect(offerSearch.edges.map(({ node }: Body) => node)).toEqual(
        offers.slice(-5).map(({ shown }) => ({
          machineId: shown.machine_id,
          diskGb: shown.disk_gb,
          pricePerHour: { onDemand: shown.price_per_hour.on_demand },
        })),
      );
    },
  ),
};

const MODES = ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'] as const;
const STATES = ['LISTED', 'LISTED', 'DRAINED', 'OFFLINE', 'RETIRED'];
const machine = fc.nat({ max: 4 });
const gateway = fc.constantFrom(0 as const, 1 as const);
const pick = fc.nat({ max: 10 });
const region = fc.constantFrom(...REGIONS);
const gpu = fc.constantFrom(...GPUS);

const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('deploy' as const),
      gateway,
      machine,
      mode: fc.constantFrom(...MODES),
      diskGb: fc.integer({ min: 1, max: 80 }),
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constant('act' as const),
      gateway,
      action: fc.constantFrom('START' as const, 'STOP' as const, 'DESTROY' as const),
      pick,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('state' as const), machine, state: fc.constantFrom(...STATES) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('row' as const),
      machine,
      gpu,
      region,
      numGpus: fc.integer({ min: 1, max: 3 }),
      reliability: fc.constantFrom(0.9, 0.95, 0.99),
      diskGb: fc.integer({ min: 40, max: 250 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('machines' as const), gpu, region, many: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('manyRows' as const), reliability: fc.constantFrom(0.9, 0.99) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), region }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('publish' as const), gpu, cents: fc.integer({ min: 1, max: 99 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unprice' as const), gpu }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('model' as const), gpu, name: fc.constantFrom('Ann', 'Bob') }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('region' as const), region, name: fc.constantFrom('Here', 'There') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('template' as const), description: fc.constantFrom('One', 'Two') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('leap' as const), gateway, hours: fc.integer({ min: 1, max: 40 }) }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

let snapshots = 0;
let batches = 0;

/** An account and its five machines, on the database shared by all worlds. */
class World {
  readonly machines: string[] = [];
  readonly instances: string[] = [];
  accountId = '';

  static async open(): Promise<World> {
    const world = new World();
    for (let index = 0; index < 5; index += 1) {
      const place = { gpu: GPUS[index % 2]!, region: REGIONS[index % 2]!, numGpus: (index % 3) + 1, diskGb: 150 };
      world.machines.push(await gateways[0].machine(place));
    }
    world.accountId = (await gateways[0].renter('20')).accountId;
    await bothCaughtUp();
    return world;
  }

  /** Returns the gateway that wrote. It knows immediately, and others know after the notices arrive. */
  async run(step: Command): Promise<Service | null> {
    if (step.do === 'deploy' || step.do === 'act') {
      const writer = gateways[step.gateway];
      await this.#rent(step, writer);
      return writer;
    }
    if (step.do === 'leap') {
      advance(step.hours * 3_600);
      // This includes accounts of other worlds, since a background sweep could otherwise settle them during a
      // comparison.
      while ((await settleDue(gateways[step.gateway].deps)) > 0);
    } else await this.#change(step);
    return null;
  }

  async #rent(step: Extract<Command, { do: 'deploy' | 'act' }>, { deps }: Service): Promise<void> {
    try {
      if (step.do === 'deploy') {
        const { mode, diskGb } = step;
        const input = { machineId: this.machines[step.machine]!, mode, diskGb };
        this.instances.push((await deploy(deps, this.accountId, input)).instance.id);
      } else if (this.instances.length > 0) {
        // Picks one of the newest four, since older ones may no longer exist.
        const id = this.instances.at(-1 - (step.pick % Math.min(this.instances.length, 4)))!;
        await act(deps, this.accountId, { id, action: step.action });
      }
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  async #change(step: Exclude<Command, { do: 'deploy' | 'act' | 'leap' }>): Promise<void> {
    const { sql, machine: newMachine, publish } = gateways[0];
    const at = (index: number) => this.machines[index]!;
    if (step.do === 'state') {
      await sql('update machine set state = $2::machine_state where id = $1', [at(step.machine), step.state]);
    } else if (step.do === 'row') {
      const values = [at(step.machine), step.gpu, step.region, step.numGpus, step.reliability, step.diskGb];
      await sql(
        'update machine set gpu = $2, region = $3, num_gpus = $4, reliability = $5, disk_gb = $6 where id = $1',
        values,
      );
    } else if (step.do === 'machines') {
      // This is more than a notice names.
      for (let index = 0; index < 2; index += 1) await newMachine({ gpu: step.gpu, region: step.region });
      if (step.many) {
        batches += 1;
        await sql(
          `insert into machine select (jsonb_populate_record(machine, jsonb_build_object('host_id', '', 'id', 'm-many-' || $2::int || '-' || n))).*
           from machine, generate_series(1, 60) as n where id = $1`,
          [at(0), batches],
        );
        await sql(
          `delete from machine where id in (select id from machine where id like 'm-many-%' order by id offset 90)`,
        );
      }
    } else if (step.do === 'manyRows') {
      await sql('update machine set reliability = $1 where region = any($2) or gpu = any($3)', [
        step.reliability,
        REGIONS,
        GPUS,
      ]);
    } else if (step.do === 'remove') {
      await sql(
        `delete from machine where id = (
           select id from machine where region = $1 and not exists (select from instance where machine_id = machine.id)
             and id <> all($2) order by reliability desc, id limit 1)`,
        [step.region, this.machines],
      );
    } else if (step.do === 'publish') {
      snapshots += 1;
      const date = new Date(Date.UTC(2027, 0, snapshots)).toISOString().slice(0, 10);
      await publish(date, { [step.gpu]: step.cents / 100 });
    } else if (step.do === 'unprice') {
      await sql(
        'delete from gpu_price where gpu = $1 and snapshot_date = (select max(date) from market_snapshot) and (select count(*) > 1 from market_snapshot)',
        [step.gpu],
      );
    } else if (step.do === 'model') {
      await sql('update gpu_model set name = $2 where slug = $1', [step.gpu, step.name]);
    } else if (step.do === 'region') {
      await sql('update region set name = $2 where code = $1', [step.region, step.name]);
    } else if (step.do === 'template') {
      await sql(`update template set description = $1 where slug = 'pytorch'`, [step.description]);
    }
  }
}

let comparisons = 0;

/** Expects cached responses to equal computed ones byte for byte and to match the database. */
async function expectTrue(services: readonly Service[], probes: readonly string[]): Promise<void> {
  const truth = await readTruth(gateways[0].deps.db.pool);
  for (const service of services) {
    for (const name of probes) {
      comparisons += 1;
      const { send, check } = PROBES[name]!;
      const cached = await send(service, '');
      expect([name, cached]).toEqual([name, await send(service, String(comparisons))]);
      check(JSON.parse(cached), truth);
    }
  }
}

describe('cached offers, prices and catalogue', () => {
  test('always match the database after changes through either gateway', { timeout: 300_000 }, async () => {
    const step = fc.record({ command, probes: fc.subarray(Object.keys(PROBES), { minLength: 2, maxLength: 3 }) });
    const history = fc.array(step, { minLength: 1, maxLength: STEPS, size: 'max' });
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const world = await World.open();
        for (const { command: applied, probes } of steps) {
          // This caches an old response, which could be returned by mistake.
          for (const service of gateways) for (const name of probes) await PROBES[name]!.send(service, '');
          const writer = await world.run(applied);
          if (writer !== null) await expectTrue([writer], probes);
          await bothCaughtUp();
          await expectTrue(
            gateways.filter((service) => service !== writer),
            probes,
          );
        }
        await expectTrue(gateways, Object.keys(PROBES));
      }),
      // Worlds share a database, so a history can't be replayed without those before it, and shrinking would mislead.
      { ...randomHistories(RUNS, 8), endOnFailure: true },
    );
  });
});

test("a price sheet without prices is empty, and nothing is offered until it's removed", async () => {
  const [{ sql }] = gateways;
  for (const change of [
    `insert into market_snapshot values ('2999-01-01', now())`,
    `delete from market_snapshot where date = '2999-01-01'`,
  ]) {
    await sql(change);
    await bothCaughtUp();
    await expectTrue(gateways, Object.keys(PROBES));
  }
});

test("all machines are offered even if they don't fit in one read", async () => {
  const [{ sql }] = gateways;
  await sql(
    `insert into machine select (jsonb_populate_record(machine, jsonb_build_object('host_id', '', 'id', 'n-' || n))).*
     from machine, generate_series(1, 6000) as n where id = (select min(id) from machine where gpu = 'l4' and state = 'LISTED')`,
  );
  await bothCaughtUp();
  expect((await readTruth(gateways[0].deps.db.pool)).offers({ gpu: 'l4' }).length).toBeGreaterThan(6_000);
  await expectTrue(gateways, Object.keys(PROBES));
  await sql(`delete from machine where id like 'n-%'`);
  await bothCaughtUp();
  await expectTrue(gateways, Object.keys(PROBES));
});

describe('immediately after the response to a write, even while others read,', () => {
  /** Keeps sending requests, most of which use the cache, until the returned function is called. */
  function readers(service: Service, gpu: string, count: number): () => Promise<void> {
    let reading = true;
    const read = async (index: number) => {
      while (reading) {
        const path = index % 2 === 0 ? `/offers?gpu=${gpu}&limit=100` : '/gpus/pricing';
        expect((await fetch(`${service.address}/v1${path}`)).status).toBe(200);
      }
    };
    const all = Array.from({ length: count }, (_, index) => read(index));
    return async () => {
      reading = false;
      await Promise.all(all);
    };
  }

  async function offered(service: Service, gpu: string): Promise<Map<string, number>> {
    const response = await fetch(`${service.address}/v1/offers?gpu=${gpu}&limit=100`);
    const { data } = (await response.json()) as Body;
    return new Map(data.map(({ machine_id, num_gpus }: Body) => [machine_id, num_gpus]));
  }

  async function offeredToGraphql(service: Service, gpu: string): Promise<Map<string, number>> {
    const { body } = await service.anyone.graphql(`{ offers(gpu: "${gpu}", limit: 100) { machineId numGpus } }`);
    return new Map(body.data.offers.map(({ machineId, numGpus }: Body) => [machineId, numGpus]));
  }

  async function searched(service: Service, gpu: string): Promise<Map<string, number>> {
    const query = `{ offerSearch(filter: { gpus: ["${gpu}"] }, first: 100) { edges { node { machineId numGpus } } } }`;
    const { body } = await service.anyone.graphql(query);
    return new Map(body.data.offerSearch.edges.map(({ node }: Body) => [node.machineId, node.numGpus]));
  }

  async function available(service: Service, gpu: string): Promise<number> {
    const response = await fetch(`${service.address}/v1/gpus/pricing`);
    const { data } = (await response.json()) as Body;
    return data.find(({ slug }: Body) => slug === gpu).available_gpus;
  }

  const sum = (offers: Map<string, number>) => [...offers.values()].reduce((total, gpus) => total + gpus, 0);

  test('a rented machine is in no offer, and a freed one is offered again', { timeout: 120_000 }, async () => {
    const [service] = gateways;
    const gpu = 'mi325x';
    const machine_id = await service.machine({ gpu, numGpus: 3, reliability: 1 });
    const renter = await service.renter('1000');
    const stop = readers(service, gpu, 4);
    try {
      for (let round = 0; round < (isLong ? 25 : 6); round += 1) {
        const look = [offeredToGraphql, searched, offered][round % 3]!;
        const type = ['od', 'interruptible', 'res'][round % 3]!;
        const rented = await renter.rest('POST', '/instances', { machine_id, type, disk_gb: 1 });
        expect(rented.status).toBe(201);
        const without = await look(service, gpu);
        expect(without.has(machine_id)).toBe(false);
        expect(await available(service, gpu)).toBe(sum(without));
        const path = `/instances/${rented.body.id}`;
        if (round % 2 === 0) await renter.rest('POST', `${path}/actions`, { action: 'stop' });
        else await renter.rest('DELETE', path);
        expect(await available(service, gpu)).toBe(sum(without) + 3);
        expect((await look(service, gpu)).get(machine_id)).toBe(3);
        if (round % 2 === 0) await renter.rest('DELETE', path);
      }
    } finally {
      await stop();
    }
  });

  test('offers are current even if eight renters deploy concurrently', { timeout: 120_000 }, async () => {
    const [service] = gateways;
    const gpu = 'mi300x';
    const stop = readers(service, gpu, 2);
    const rentAndLook = async () => {
      const machine_id = await service.machine({ gpu, reliability: 1 });
      const renter = await service.renter('1000');
      for (let round = 0; round < (isLong ? 8 : 2); round += 1) {
        const { body } = await renter.rest('POST', '/instances', { machine_id, disk_gb: 1 });
        expect((await offered(service, gpu)).has(machine_id)).toBe(false);
        await renter.rest('DELETE', `/instances/${body.id}`);
        expect((await offered(service, gpu)).has(machine_id)).toBe(true);
      }
    };
    try {
      await Promise.all(Array.from({ length: 8 }, rentAndLook));
    } finally {
      await stop();
    }
  });
});
