import { expect } from 'vitest';
import type { Answer } from './gateway.js';

/** How REST spells an enum's values. */
export type Spelling = Readonly<Record<string, string>>;
/** Maps REST fields to GraphQL fields, with the spelling of enums and the members of objects and lists. */
export interface Mapping {
  readonly [restName: string]: string | readonly [graphqlName: string, Spelling] | readonly [string, 'of', Mapping];
}

const STATUS: Spelling = { running: 'RUNNING', stopped: 'STOPPED', destroyed: 'DESTROYED' };
const TYPE: Spelling = { od: 'ON_DEMAND', spot: 'INTERRUPTIBLE', res: 'RESERVED' };
export const TYPE_REQUESTED: Spelling = { od: 'ON_DEMAND', interruptible: 'INTERRUPTIBLE', res: 'RESERVED' };
export const ACTIONS: Spelling = { start: 'START', stop: 'STOP', destroy: 'DESTROY' };
const TIER: Spelling = {
  flagship: 'FLAGSHIP',
  datacenter: 'DATACENTER',
  'consumer-flagship': 'CONSUMER_FLAGSHIP',
  consumer: 'CONSUMER',
};

export const INSTANCE: Mapping = {
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

export const DESTROYED: Mapping = { id: 'id', status: ['status', STATUS] };

export const BALANCE: Mapping = { currency: 'currency', balance: 'balance', month_spend: 'monthSpend' };

export const OFFER: Mapping = {
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

export const PRICE_SHEET: Mapping = {
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

export const OFFER_ARGUMENTS: Spelling = {
  gpu: 'gpu',
  region: 'region',
  num_min: 'numMin',
  price_max: 'priceMax',
  limit: 'limit',
};
export const DEPLOY_INPUT: Spelling = {
  machine_id: 'machineId',
  template: 'template',
  disk_gb: 'diskGb',
  type: 'mode',
};

/** Returns the GraphQL selection for the fields in the mapping. */
export function selection(mapping: Mapping): string {
  const fields = Object.values(mapping).map((target) => {
    if (typeof target === 'string') return target;
    return target[1] === 'of' ? `${target[0]} ${selection(target[2]!)}` : target[0];
  });
  return `{ ${fields.join(' ')} }`;
}

/** Returns a REST response, without `object`, in GraphQL's spelling. Throws at a field that the mapping lacks. */
export function toGraphqlSpelling(value: unknown, mapping: Mapping): unknown {
  if (Array.isArray(value)) return value.map((entry) => toGraphqlSpelling(entry, mapping));
  const entries = Object.entries(value as object).filter(([name]) => name !== 'object');
  expect(entries.map(([name]) => name)).toEqual(Object.keys(mapping));
  return Object.fromEntries(
    entries.map(([name, member]) => {
      const target = mapping[name]!;
      if (typeof target === 'string') return [target, member];
      if (target[1] === 'of') return [target[0], toGraphqlSpelling(member, target[2]!)];
      const spelled = target[1][member as string];
      expect([name, member, typeof spelled]).toEqual([name, member, 'string']);
      return [target[0], spelled];
    }),
  );
}

export function result({ status, body }: Answer): unknown {
  expect([status, body.errors]).toEqual([200, undefined]);
  return body.data.result;
}

/** Returns a refusal's code, status and message. The message begins with the field as each surface spells it. */
export function restRefusal({ status, body }: Answer, names: Spelling = {}) {
  const message: string = body.error.message;
  const word = message.split(' ')[0]!;
  return { status, code: body.error.code, message: message.replace(word, names[word] ?? word) };
}

export function graphqlRefusal({ body }: Answer) {
  expect(body.errors).toHaveLength(1);
  const { message, extensions } = body.errors[0];
  return { status: extensions.status, code: extensions.code, message };
}

export const DEPLOY = `mutation ($input: DeployInput!) { result: deploy(input: $input) ${selection(INSTANCE)} }`;
export const ACTION = `mutation ($id: ID!, $action: InstanceActionKind!) {
  result: action(id: $id, action: $action) ${selection(INSTANCE)} }`;
export const OFFERS = `query ($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $limit: Int) {
  result: offers(gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, limit: $limit) ${selection(OFFER)} }`;

export function deployInput(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [
      DEPLOY_INPUT[name]!,
      name === 'type' ? (TYPE_REQUESTED[value as string] ?? value) : value,
    ]),
  );
}
