import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

/** REST's spelling of an enum's values. */
type Spelling = Readonly<Record<string, string>>;
/** REST field → GraphQL field, with the spelling of enums and the members of objects and lists. */
interface Mapping {
  readonly [restName: string]: string | readonly [graphqlName: string, Spelling] | readonly [string, 'of', Mapping];
}

const STATUS: Spelling = { running: 'RUNNING', stopped: 'STOPPED', destroyed: 'DESTROYED' };
const TYPE: Spelling = { od: 'ON_DEMAND', spot: 'INTERRUPTIBLE', res: 'RESERVED' };
const TYPE_ASKED: Spelling = { od: 'ON_DEMAND', interruptible: 'INTERRUPTIBLE', res: 'RESERVED' };
const ACTIONS: Spelling = { start: 'START', stop: 'STOP', destroy: 'DESTROY' };
const TIER: Spelling = {
  flagship: 'FLAGSHIP',
  datacenter: 'DATACENTER',
  'consumer-flagship': 'CONSUMER_FLAGSHIP',
  consumer: 'CONSUMER',
};

const INSTANCE: Mapping = {
  id: 'id',
  status: ['status', STATUS],
  gpu: 'gpu',
  num_gpus: 'numGpus',
  region: 'region',
  template: 'template',
  disk_gb: 'diskGb',
  type: ['mode', TYPE],
  price_hr: 'priceHr',
  hostname: 'hostname',
  created_at: 'createdAt',
  stopped_at: 'stoppedAt',
};

const DESTROYED: Mapping = { id: 'id', status: ['status', STATUS] };

const BALANCE: Mapping = { currency: 'currency', balance: 'balance', month_spend: 'monthSpend' };

const OFFER: Mapping = {
  machine_id: 'machineId',
  gpu: 'gpu',
  num_gpus: 'numGpus',
  region: 'region',
  cpu: 'cpu',
  vcpus: 'vcpus',
  ram_gb: 'ramGb',
  disk_gb: 'diskGb',
  net_mbps: ['netMbps', 'of', { down: 'down', up: 'up' }],
  ports: 'ports',
  pcie: 'pcie',
  nvlink: 'nvlink',
  cuda_max: 'cudaMax',
  reliability: 'reliability',
  price_per_hour: ['pricePerHour', 'of', { on_demand: 'onDemand', interruptible: 'interruptible' }],
};

const PRICE_SHEET: Mapping = {
  currency: 'currency',
  billing: 'billing',
  price_rule: 'priceRule',
  market_snapshot: 'marketSnapshot',
  count: 'count',
  data: [
    'data',
    'of',
    {
      slug: 'slug',
      name: 'name',
      vram_gb: 'vramGb',
      tier: ['tier', TIER],
      price_per_gpu_hour: [
        'pricePerGpuHour',
        'of',
        { on_demand: 'onDemand', interruptible: 'interruptible', reserved: 'reserved' },
      ],
      market_median: 'marketMedian',
      available_gpus: 'availableGpus',
      url: 'url',
    },
  ],
};

const OFFER_ARGUMENTS: Spelling = {
  gpu: 'gpu',
  region: 'region',
  num_min: 'numMin',
  price_max: 'priceMax',
  limit: 'limit',
};
const DEPLOY_INPUT: Spelling = { machine_id: 'machineId', template: 'template', disk_gb: 'diskGb', type: 'mode' };

/** The selection that asks GraphQL for what the mapping names. */
function selection(mapping: Mapping): string {
  const fields = Object.values(mapping).map((target) => {
    if (typeof target === 'string') return target;
    return target[1] === 'of' ? `${target[0]} ${selection(target[2]!)}` : target[0];
  });
  return `{ ${fields.join(' ')} }`;
}

/** A REST answer, without `object`, in GraphQL's words. Throws at a field that the mapping does not know. */
function inGraphqlWords(value: unknown, mapping: Mapping): unknown {
  if (Array.isArray(value)) return value.map((entry) => inGraphqlWords(entry, mapping));
  const entries = Object.entries(value as object).filter(([name]) => name !== 'object');
  expect(entries.map(([name]) => name)).toEqual(Object.keys(mapping));
  return Object.fromEntries(
    entries.map(([name, member]) => {
      const target = mapping[name]!;
      if (typeof target === 'string') return [target, member];
      if (target[1] === 'of') return [target[0], inGraphqlWords(member, target[2]!)];
      const spelled = target[1][member as string];
      expect([name, member, typeof spelled]).toEqual([name, member, 'string']);
      return [target[0], spelled];
    }),
  );
}

function result({ status, body }: Answer): unknown {
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data.result;
}

/** Code, status and message of a refusal; the message's first word is the field, which each surface spells its way. */
function restRefusal({ status, body }: Answer, names: Spelling = {}) {
  const message: string = body.error.message;
  const word = message.split(' ')[0]!;
  return { status, code: body.error.code, message: message.replace(word, names[word] ?? word) };
}

function graphqlRefusal({ body }: Answer) {
  expect(body.errors).toHaveLength(1);
  const { message, extensions } = body.errors[0];
  return { status: extensions.status, code: extensions.code, message };
}

const DEPLOY = `mutation ($input: DeployInput!) { result: deploy(input: $input) ${selection(INSTANCE)} }`;
const ACTION = `mutation ($id: ID!, $action: InstanceActionKind!) {
  result: action(id: $id, action: $action) ${selection(INSTANCE)} }`;
const OFFERS = `query ($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $limit: Int) {
  result: offers(gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, limit: $limit) ${selection(OFFER)} }`;

function deployInput(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      DEPLOY_INPUT[name]!,
      name === 'type' ? (TYPE_ASKED[value as string] ?? value) : value,
    ]),
  );
}

async function compareInstance(renter: Renter, id: string): Promise<void> {
  const rest = await renter.rest('GET', `/instances/${id}`);
  const query = `query ($id: ID!) { result: instance(id: $id) ${selection(INSTANCE)} }`;
  expect(inGraphqlWords(rest.body, INSTANCE)).toEqual(result(await renter.graphql(query, { id })));
}

describe('REST and GraphQL give the same', () => {
  it('price sheet', async () => {
    const rest = await service.anyone.rest('GET', '/gpus/pricing');
    const graphql = await service.anyone.graphql(`{ result: pricing ${selection(PRICE_SHEET)} }`);
    expect(inGraphqlWords(rest.body, PRICE_SHEET)).toEqual(result(graphql));
  });

  it.each([
    {},
    { limit: 100 },
    { gpu: 'rtx-4090', limit: 3 },
    { region: 'us-tx', num_min: 4 },
    { num_min: 8, price_max: 20.5, limit: 50 },
    { price_max: 0.02, limit: 100 },
    { gpu: 'nothing' },
    { gpu: 'h100-sxm', region: 'us-va', num_min: 2, price_max: 17.52, limit: 10 },
  ] as Record<string, string | number>[])('offers %j', async (filter) => {
    const query = new URLSearchParams(Object.entries(filter).map(([name, value]) => [name, String(value)]));
    const rest = await service.anyone.rest('GET', `/offers?${query}`);
    const variables = Object.fromEntries(
      Object.entries(filter).map(([name, value]) => [OFFER_ARGUMENTS[name]!, value]),
    );
    const graphql = result(await service.anyone.graphql(OFFERS, variables)) as unknown[];
    expect(inGraphqlWords(rest.body.data, OFFER)).toEqual(graphql);
    expect(rest.body.count).toBe(graphql.length);
  });

  it('balance, instances and each instance, through a life', async () => {
    const renter = await service.renter();
    const ids: string[] = [];
    for (const type of ['od', 'interruptible', 'res']) {
      const body = { machine_id: await service.machine({ numGpus: 2 }), type, disk_gb: 77, template: 'jupyter' };
      ids.push((await renter.rest('POST', '/instances', body)).body.id);
    }
    const compareAll = async () => {
      const balance = await renter.rest('GET', '/balance');
      const listed = await renter.rest('GET', '/instances');
      const both = `{ result: balance ${selection(BALANCE)} }`;
      expect(inGraphqlWords(balance.body, BALANCE)).toEqual(result(await renter.graphql(both)));
      const graphql = await renter.graphql(`{ result: instances ${selection(INSTANCE)} }`);
      expect(inGraphqlWords(listed.body.data, INSTANCE)).toEqual(result(graphql));
      for (const id of ids) await compareInstance(renter, id);
    };
    await compareAll();
    service.clock.advance(1237);
    await renter.rest('POST', `/instances/${ids[0]}/actions`, { action: 'stop' });
    await compareAll();
    service.clock.advance(3);
    await renter.graphql(ACTION, { id: ids[1], action: 'DESTROY' });
    await compareAll();
  });

  it.each([
    {},
    { template: 'ghcr.io/org/image:1', disk_gb: 120, type: 'od' },
    { type: 'interruptible', disk_gb: 1 },
    { type: 'res', template: null, disk_gb: null },
    { type: null },
  ] as Record<string, unknown>[])('deploy %j', async (extra) => {
    const [first, second] = [await service.renter(), await service.renter()];
    const twins = { gpu: 'l40s', numGpus: 4, region: 'eu-pl-waw' };
    const rest = await first.rest('POST', '/instances', { machine_id: await service.machine(twins), ...extra });
    const input = deployInput({ machine_id: await service.machine(twins), ...extra });
    const graphql = result(await second.graphql(DEPLOY, { input })) as { id: string };
    const { id, hostname, ...same } = inGraphqlWords(rest.body, INSTANCE) as Record<string, string>;
    expect(graphql).toEqual({ ...same, id: graphql.id, hostname: hostname!.replace(id!, graphql.id) });
    service.clock.advance(100);
    expect((await first.rest('GET', '/balance')).body).toEqual((await second.rest('GET', '/balance')).body);
  });

  it('actions, each done on a twin by the other surface', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const [mine, yours] = [await deployed(first), await deployed(second)];
    for (const action of ['stop', 'start', 'stop', 'destroy']) {
      service.clock.advance(60);
      const rest = await first.rest('POST', `/instances/${mine}/actions`, { action });
      const graphql = await second.graphql(ACTION, { id: yours, action: ACTIONS[action] });
      const told = inGraphqlWords(rest.body, INSTANCE) as Record<string, unknown>;
      const same = result(graphql) as Record<string, unknown>;
      expect({ ...told, id: yours, hostname: same.hostname }).toEqual(same);
      await compareInstance(first, mine);
      await compareInstance(second, yours);
    }
    expect((await first.rest('GET', '/balance')).body).toEqual((await second.rest('GET', '/balance')).body);
  });

  it('destroy by DELETE', async () => {
    const [first, second] = [await service.renter(), await service.renter()];
    const [mine, yours] = [await deployed(first), await deployed(second)];
    const rest = await first.rest('DELETE', `/instances/${mine}`);
    const query = `mutation ($id: ID!) { result: action(id: $id, action: DESTROY) ${selection(DESTROYED)} }`;
    const graphql = result(await second.graphql(query, { id: yours }));
    expect({ ...(inGraphqlWords(rest.body, DESTROYED) as object), id: yours }).toEqual(graphql);
  });
});

describe('REST and GraphQL refuse the same', () => {
  it.each([
    { num_min: 0 },
    { num_min: 9 },
    { limit: 101 },
    { price_max: -1 },
    { price_max: 1_000_001 },
    { gpu: '' },
    { region: 'x'.repeat(65) },
  ] as Record<string, string | number>[])('offers %j', async (filter) => {
    const [[name, value]] = Object.entries(filter) as [[string, string | number]];
    const rest = await service.anyone.rest('GET', `/offers?${name}=${value}`);
    const graphql = await service.anyone.graphql(OFFERS, { [OFFER_ARGUMENTS[name]!]: value });
    expect(restRefusal(rest, OFFER_ARGUMENTS)).toEqual(graphqlRefusal(graphql));
  });

  it.each([
    { machine_id: '' },
    { machine_id: 'm-unknown' },
    { machine_id: 'x'.repeat(65) },
    { disk_gb: 0 },
    { disk_gb: 1_000_001 },
    { disk_gb: 1001 },
    { template: '' },
    { template: 'Not A Slug' },
  ] as Record<string, unknown>[])('deploy %j', async (extra) => {
    const renter = await service.renter();
    const body = { machine_id: await service.machine(), ...extra };
    const rest = await renter.rest('POST', '/instances', body);
    const graphql = await renter.graphql(DEPLOY, { input: deployInput(body) });
    expect(restRefusal(rest, DEPLOY_INPUT)).toEqual(graphqlRefusal(graphql));
  });

  it('a machine that is taken and a balance too small', async () => {
    const [holder, poor] = [await service.renter(), await service.renter('1')];
    const machine = await service.machine();
    const free = await service.machine();
    await holder.rest('POST', '/instances', { machine_id: machine });
    for (const [renter, machine_id] of [
      [holder, machine],
      [poor, free],
    ] as const) {
      const rest = await renter.rest('POST', '/instances', { machine_id });
      expect(rest.status).toBe(409);
      const graphql = await renter.graphql(DEPLOY, { input: { machineId: machine_id } });
      expect(restRefusal(rest)).toEqual(graphqlRefusal(graphql));
    }
  });

  it.each([
    ['running', 'start'],
    ['stopped', 'stop'],
    ['destroyed', 'start'],
    ['destroyed', 'stop'],
    ['destroyed', 'destroy'],
    ['missing', 'stop'],
    ['missing', 'destroy'],
  ])('of a %s instance: %s', async (state, action) => {
    const renter = await service.renter();
    const id = state === 'missing' ? 'i-00000000' : await deployed(renter);
    if (state === 'stopped') await renter.rest('POST', `/instances/${id}/actions`, { action: 'stop' });
    if (state === 'destroyed') await renter.rest('DELETE', `/instances/${id}`);
    const rest = await renter.rest('POST', `/instances/${id}/actions`, { action });
    const graphql = graphqlRefusal(await renter.graphql(ACTION, { id, action: ACTIONS[action] }));
    expect(restRefusal(rest)).toEqual(graphql);
    if (action === 'destroy') expect(restRefusal(await renter.rest('DELETE', `/instances/${id}`))).toEqual(graphql);
  });

  it('what needs a key', async () => {
    const rest = await service.anyone.rest('GET', '/balance');
    const graphql = await service.anyone.graphql('{ result: balance { balance } }');
    expect(restRefusal(rest)).toEqual(graphqlRefusal(graphql));
    expect(rest.status).toBe(graphql.status);
  });
});

async function deployed(renter: Renter): Promise<string> {
  const { body } = await renter.rest('POST', '/instances', { machine_id: await service.machine() });
  return body.id;
}
