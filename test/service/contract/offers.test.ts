import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Service, startService } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService({ publicUrl: 'https://gpu.example.com' });
});
afterAll(() => service.close());

interface CsvModel {
  slug: string;
  name: string;
  vram_gb: string;
  tier: string;
  market_median_usd_hour: string;
  reference_price_usd_hour: string;
}

/** Returns the catalogue, read without the service's own reader. */
function catalogue(): CsvModel[] {
  const text = readFileSync(join(import.meta.dirname, '../../../prisma/seed/gpus.csv'), 'utf8');
  const [header, ...lines] = text.trimEnd().split('\n');
  const names = header!.split(',');
  return lines.map((line) => {
    const values = line.split(',');
    return Object.fromEntries(names.map((name, index) => [name, values[index]])) as unknown as CsvModel;
  });
}

/** Returns the median × 0.70 in whole cents, computed from digits. */
function centsOf(usd: string): number {
  const [whole, decimals = ''] = usd.split('.');
  const tenThousandths = BigInt(whole + decimals.padEnd(4, '0'));
  const cents = Number((tenThousandths * 70n) / 10_000n);
  return Math.max(cents, 1);
}

// biome-ignore lint/suspicious/noExplicitAny: entries of responses
type Entry = any;

async function sheet(): Promise<Entry> {
  return (await service.anyone.rest('GET', '/gpus/pricing')).body;
}

async function offers(query: string): Promise<Entry[]> {
  const { status, body } = await service.anyone.rest('GET', `/offers?${query}`);
  expect(status).toBe(200);
  expect(body.count).toBe(body.data.length);
  return body.data;
}

describe('the price sheet', () => {
  it('prices 83 models at 70% of the median, rounded down, and at 50% and 65% of that', async () => {
    const { data, count, market_snapshot, price_rule } = await sheet();
    expect({ count, market_snapshot }).toEqual({ count: 83, market_snapshot: '2026-09-26' });
    expect(price_rule).toBe('public marketplace median for the model x 0.70, rounded down');
    const expected = catalogue().map((model) => {
      const median = model.market_median_usd_hour;
      const cents = centsOf(median === '' ? model.reference_price_usd_hour : median);
      return {
        slug: model.slug,
        name: model.name,
        vram_gb: Number(model.vram_gb),
        tier: model.tier,
        price_per_gpu_hour: { on_demand: cents / 100, interruptible: cents / 200, reserved: (cents * 65) / 10_000 },
        market_median: median === '' ? null : Number(median),
        url: `https://gpu.example.com/v1/offers?gpu=${model.slug}`,
      };
    });
    expect(expected).toHaveLength(83);
    expect(data.map(({ available_gpus: _, ...entry }: Entry) => entry)).toEqual(expected);
  });

  it.each([
    ['h100-sxm', 2.19, 1.095, 1.4235],
    ['l40s', 0.87, 0.435, 0.5655],
    ['rtx-4090', 0.44, 0.22, 0.286],
    ['p4', 0.01, 0.005, 0.0065],
    ['gb200', 5.95, 2.975, 3.8675],
  ])('prices %s at %d, %d and %d', async (slug, on_demand, interruptible, reserved) => {
    const entry = (await sheet()).data.find((model: Entry) => model.slug === slug);
    expect(entry.price_per_gpu_hour).toEqual({ on_demand, interruptible, reserved });
  });

  it('counts the GPUs in a model’s offers as available_gpus', async () => {
    const { data } = await sheet();
    for (const { slug, available_gpus } of data as Entry[]) {
      const listed = await offers(`gpu=${slug}&limit=100`);
      const sum = listed.reduce((total, { num_gpus }) => total + num_gpus, 0);
      if (listed.length < 100) expect([slug, available_gpus]).toEqual([slug, sum]);
      else expect(available_gpus).toBeGreaterThan(sum);
    }
    const available = async () => (await sheet()).data.find(({ slug }: Entry) => slug === 'mi250x').available_gpus;
    const before = await available();
    const machine_id = await service.machine({ gpu: 'mi250x', numGpus: 8 });
    expect(await available()).toBe(before + 8);
    const renter = await service.renter('1000');
    const { body } = await renter.rest('POST', '/instances', { machine_id, type: 'interruptible' });
    expect(await available()).toBe(before);
    await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'stop' });
    expect(await available()).toBe(before + 8);
    await service.sql(`update machine set state = 'OFFLINE' where id = $1`, [machine_id]);
    expect(await available()).toBe(before);
  });
});

describe('offers', () => {
  it("are ordered by the whole machine's price, then reliability, then id", async () => {
    const rows = await offers('limit=100');
    expect(rows).toHaveLength(100);
    const keys = rows.map(({ price_per_hour, reliability, machine_id }) => [
      price_per_hour.on_demand,
      -reliability,
      machine_id,
    ]);
    const ordered = [...keys].sort((a, b) => a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : 1));
    expect(keys).toEqual(ordered);
    const ties = keys.filter((key, index) => index > 0 && key[0] === keys[index - 1]![0]);
    expect(ties.length).toBeGreaterThan(10);
  });

  it('are ordered by reliability and then by id if their prices are equal', async () => {
    const region = 'ap-kr-sel';
    const common = { gpu: 'mi325x', numGpus: 3, region };
    for (const [id, reliability] of [
      ['m-tie-b', 0.98],
      ['m-tie-c', 0.99],
      ['m-tie-a', 0.98],
    ] as const) {
      await service.machine({ ...common, id, reliability });
    }
    const ids = (await offers(`gpu=mi325x&region=${region}&num_min=3&limit=100`))
      .filter(({ num_gpus }) => num_gpus === 3)
      .map(({ machine_id }) => machine_id);
    expect(ids).toEqual(['m-tie-c', 'm-tie-a', 'm-tie-b']);
  });

  it("cost the model's price times the number of GPUs, or half if interruptible", async () => {
    const prices = new Map((await sheet()).data.map((model: Entry) => [model.slug, model.price_per_gpu_hour]));
    for (const { gpu, num_gpus, price_per_hour } of await offers('num_min=3&limit=100')) {
      const cents = Math.round((prices.get(gpu) as Entry).on_demand * 100) * num_gpus;
      expect(price_per_hour).toEqual({ on_demand: cents / 100, interruptible: cents / 200 });
    }
  });

  it('can be filtered by model, by region and by both', async () => {
    const model = await offers('gpu=rtx-4090&limit=100');
    expect(new Set(model.map(({ gpu }) => gpu))).toEqual(new Set(['rtx-4090']));
    const region = await offers('region=us-tx&limit=100');
    expect(new Set(region.map((offer) => offer.region))).toEqual(new Set(['us-tx']));
    const both = await offers('gpu=rtx-4090&region=us-tx&limit=100');
    const free = await service.sql(
      `select id from machine where gpu = 'rtx-4090' and region = 'us-tx' and state = 'LISTED'
       and not exists (select from instance where machine_id = machine.id and status = 'RUNNING')`,
    );
    expect(both.map(({ machine_id }) => machine_id).sort()).toEqual(free.map(({ id }) => id).sort());
    expect(new Set(both.map(({ gpu, region }) => `${gpu} ${region}`))).toEqual(new Set(['rtx-4090 us-tx']));
  });

  it.each(['gpu=unknown', 'region=nowhere', 'gpu=rtx-4090&region=nowhere', 'gpu=RTX-40900', "gpu='or''='"])(
    'are an empty list for unknown values: %s',
    async (query) => {
      expect(await offers(query)).toEqual([]);
    },
  );

  it('have at least num_min GPUs, which is 1 by default', async () => {
    for (const numMin of [1, 2, 5, 8]) {
      const rows = await offers(`num_min=${numMin}&gpu=h100-sxm&limit=100`);
      expect(Math.min(...rows.map(({ num_gpus }) => num_gpus))).toBeGreaterThanOrEqual(numMin);
      expect(rows.some(({ num_gpus }) => num_gpus === 8)).toBe(true);
    }
    const unbounded = await offers('gpu=h100-sxm&limit=100');
    expect(unbounded).toEqual(await offers('gpu=h100-sxm&num_min=1&limit=100'));
    expect(unbounded[0].num_gpus).toBe(1);
  });

  it('cost at most price_max for the whole machine on demand', async () => {
    await service.machine({ gpu: 'h200-nvl', numGpus: 3, region: 'sa-br-sao' });
    const cost = 4.59;
    const query = 'gpu=h200-nvl&region=sa-br-sao&num_min=3&limit=100';
    const within = async (priceMax: string) =>
      (await offers(`${query}&price_max=${priceMax}`)).some(({ price_per_hour }) => price_per_hour.on_demand === cost);
    expect(await within('4.59')).toBe(true);
    expect(await within('4.590000')).toBe(true);
    expect(await within('4.589999')).toBe(false);
    expect(await within('4.5899999999999')).toBe(false);
    expect(await offers('price_max=0')).toEqual([]);
    const cheap = await offers('price_max=0.05&limit=100');
    const [cheapest] = await offers('limit=1');
    expect(cheap).toContainEqual(expect.objectContaining({ machine_id: cheapest.machine_id }));
    expect(Math.max(...cheap.map(({ price_per_hour }) => price_per_hour.on_demand))).toBeLessThanOrEqual(0.05);
  });

  it('are filtered by price_max exactly, for every existing price', async () => {
    const prices = new Set((await offers('limit=100')).map(({ price_per_hour }) => price_per_hour.on_demand));
    for (const price of [...prices].slice(0, 12)) {
      const rows = await offers(`price_max=${price}&limit=100`);
      expect(rows.at(-1)!.price_per_hour.on_demand).toBe(price);
    }
  });

  it('can be filtered by a price_max in any number format, rounded down, in both APIs', async () => {
    await service.machine({ gpu: 'h200-nvl', numGpus: 3, region: 'sa-br-sao' });
    const cost = 4.59;
    const filter = { gpu: 'h200-nvl', region: 'sa-br-sao', numMin: 3, limit: 100 };
    const query = `query ($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $limit: Int) {
      offers(gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, limit: $limit) { pricePerHour { onDemand } } }`;
    const numbers: [text: string, isWithin: boolean][] = [
      ['4.590000000000001', true],
      ['4.59000000000000075', true],
      ['4.5900009999', true],
      ['4.58999999999999', false],
      ['459e-2', true],
      ['0.459E1', true],
      ['45899999e-7', false],
      ['1e-7', false],
      ['0.30000000000000004', false],
      ['1e6', true],
    ];
    for (const [text, isWithin] of numbers) {
      const rest = await offers(`gpu=h200-nvl&region=sa-br-sao&num_min=3&limit=100&price_max=${text}`);
      const literal = await service.anyone.graphql(
        query.replace('priceMax: $priceMax', `priceMax: ${text}`).replace('$priceMax: Float, ', ''),
        filter,
      );
      const variable = await service.anyone.graphql(query, { ...filter, priceMax: Number(text) });
      const fromGraphql = [literal, variable].map(({ body }) =>
        body.data.offers.map((offer: { pricePerHour: { onDemand: number } }) => offer.pricePerHour.onDemand),
      );
      for (const prices of [rest.map(({ price_per_hour }) => price_per_hour.on_demand), ...fromGraphql]) {
        expect([text, prices.includes(cost)]).toEqual([text, isWithin]);
      }
    }
  });

  it('are limited after they are ordered, to 25 by default', async () => {
    const all = await offers('limit=100');
    expect(await offers('limit=1')).toEqual(all.slice(0, 1));
    expect(await offers('limit=7')).toEqual(all.slice(0, 7));
    expect(await offers('')).toEqual(all.slice(0, 25));
  });

  it('show the hardware', async () => {
    const id = await service.machine({ gpu: 'a30', numGpus: 2, region: 'us-va', diskGb: 640, reliability: 0.9876 });
    const offer = (await offers('gpu=a30&region=us-va&limit=100')).find(({ machine_id }) => machine_id === id);
    expect(offer).toEqual({
      machine_id: id,
      gpu: 'a30',
      num_gpus: 2,
      region: 'us-va',
      cpu: 'AMD EPYC 9354',
      vcpus: 32,
      ram_gb: 256,
      disk_gb: 640,
      net_mbps: { down: 5000, up: 4000 },
      ports: 128,
      pcie: 5,
      nvlink: false,
      cuda_max: '12.8',
      reliability: 0.9876,
      price_per_hour: { on_demand: 0.48, interruptible: 0.24 },
    });
  });

  it('include only listed, free machines, all of which can be deployed', async () => {
    const renter = await service.renter('1000');
    for (const offer of await offers('limit=5')) {
      const answer = await renter.rest('POST', '/instances', { machine_id: offer.machine_id, disk_gb: offer.disk_gb });
      expect([answer.status, answer.body.price_hr]).toEqual([201, offer.price_per_hour.on_demand]);
      const again = await offers(`gpu=${offer.gpu}&region=${offer.region}&limit=100`);
      expect(again.map(({ machine_id }) => machine_id)).not.toContain(offer.machine_id);
    }
  });

  it.each(['DRAINED', 'OFFLINE', 'RETIRED'] as const)('omit a machine that is %s', async (state) => {
    const id = await service.machine({ gpu: 'a40', region: 'us-fl', state });
    const listed = await offers('gpu=a40&region=us-fl&limit=100');
    expect(listed.map(({ machine_id }) => machine_id)).not.toContain(id);
  });

  it('show the remaining disk space and omit machines with less than 50 GB', async () => {
    const renter = await service.renter('1000');
    const machine_id = await service.machine({ gpu: 'l4', region: 'us-ga', diskGb: 150 });
    const left = async () => {
      const listed = await offers('gpu=l4&region=us-ga&limit=100');
      return listed.find((offer) => offer.machine_id === machine_id)?.disk_gb;
    };
    const rentAndStop = async (disk_gb: number) => {
      const { body } = await renter.rest('POST', '/instances', { machine_id, disk_gb });
      await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'stop' });
      return body.id as string;
    };
    expect(await left()).toBe(150);
    const first = await rentAndStop(100);
    expect(await left()).toBe(50);
    const second = await rentAndStop(1);
    expect(await left()).toBeUndefined();
    const refused = await renter.rest('POST', '/instances', { machine_id, disk_gb: 50 });
    expect(refused.body.error).toEqual({
      code: 'deploy_failed',
      message: `machine ${machine_id} has 49 GB of free disk, less than the 50 requested`,
    });
    expect((await renter.rest('POST', '/instances', { machine_id, disk_gb: 49 })).status).toBe(201);
    await renter.rest('DELETE', `/instances/${first}`);
    expect(await left()).toBeUndefined();
    const { body } = await renter.rest('GET', '/instances');
    await renter.rest('DELETE', `/instances/${body.data[0].id}`);
    expect(await left()).toBe(149);
    await renter.rest('DELETE', `/instances/${second}`);
    expect(await left()).toBe(150);
  });
});

describe('a new market snapshot', () => {
  it('becomes the price sheet and determines offer prices', async () => {
    await service.publish('2026-11-21', { 'rtx-3090': 0.25 });
    const { market_snapshot, data } = await sheet();
    expect(market_snapshot).toBe('2026-11-21');
    const entry = data.find(({ slug }: Entry) => slug === 'rtx-3090');
    expect(entry.price_per_gpu_hour).toEqual({ on_demand: 0.25, interruptible: 0.125, reserved: 0.1625 });
    const [offer] = await offers('gpu=rtx-3090&limit=1');
    expect(offer.price_per_hour).toEqual({ on_demand: 0.25 * offer.num_gpus, interruptible: 0.125 * offer.num_gpus });
  });
});
