import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type DeployRequest, type GpuClient } from '../../../src/client/index.js';
import { PACKAGE_ROOT } from '../../../src/package-root.js';
import { buildSchema } from '../../../src/schema/index.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';
import { dereferenced } from '../../support/openapi.js';
import { needs } from '../../support/tools.js';

const run = promisify(execFile);
const GPU = join(PACKAGE_ROOT, 'dist/src/cli/main.js');
const ID = 'i-00000000';

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is JSON of many shapes
type Json = any;

/** Where each operation of the OpenAPI document is found in the three clients and in GraphQL. */
const OPERATIONS: Record<
  string,
  { typescript: (gpu: GpuClient) => Promise<unknown>; cli: string[]; python: string; graphql: string }
> = {
  getPricing: {
    typescript: (gpu) => gpu.gpus.pricing(),
    cli: ['pricing'],
    python: 'gpus.pricing',
    graphql: 'Query.pricing',
  },
  listOffers: {
    typescript: (gpu) =>
      gpu.offers.list({ gpu: 'a', region: 'b', num_min: 1, price_max: 2, cuda_min: '12.4', limit: 3 }),
    cli: ['offers'],
    python: 'offers.list',
    graphql: 'Query.offers',
  },
  getBalance: {
    typescript: (gpu) => gpu.balance.get(),
    cli: ['balance'],
    python: 'balance.get',
    graphql: 'Query.balance',
  },
  listInstances: {
    typescript: (gpu) => gpu.instances.list(),
    cli: ['instances'],
    python: 'instances.list',
    graphql: 'Query.instances',
  },
  deployInstance: {
    typescript: (gpu) => gpu.instances.deploy({ machine_id: 'm', template: 't', disk_gb: 1, type: 'od', ...launch() }),
    cli: ['deploy'],
    python: 'instances.deploy',
    graphql: 'Mutation.deploy',
  },
  getInstance: {
    typescript: (gpu) => gpu.instances.get(ID),
    cli: ['show'],
    python: 'instances.get',
    graphql: 'Query.instance',
  },
  getInstanceMetrics: {
    typescript: (gpu) =>
      gpu.instances.metrics(ID, { from: '2026-11-23T18:00:00Z', to: '2026-11-23T19:00:00Z', points: 9 }),
    cli: ['metrics'],
    python: 'instances.metrics',
    graphql: 'Instance.metrics',
  },
  getInstanceTimeline: {
    typescript: (gpu) => gpu.instances.timeline(ID, { first: 1, after: 'a', last: 2, before: 'b' }),
    cli: ['timeline'],
    python: 'instances.timeline',
    graphql: 'Instance.timeline',
  },
  getInstanceLaunch: {
    typescript: (gpu) => gpu.instances.launch(ID),
    cli: ['launch'],
    python: 'instances.launch',
    graphql: 'Query.instance',
  },
  destroyInstance: {
    typescript: (gpu) => gpu.instances.destroy(ID),
    cli: ['destroy'],
    python: 'instances.destroy',
    graphql: 'Mutation.action',
  },
  moveInstance: {
    typescript: (gpu) => gpu.instances.move(ID, { max_price_per_hour: 1 }),
    cli: ['move'],
    python: 'instances.move',
    graphql: 'Mutation.moveInstance',
  },
  listVolumes: {
    typescript: (gpu) => gpu.volumes.list(),
    cli: ['volume list'],
    python: 'volumes.list',
    graphql: 'Query.volumes',
  },
  createVolume: {
    typescript: (gpu) => gpu.volumes.create({ name: 'n', size_gb: 1 }),
    cli: ['volume create'],
    python: 'volumes.create',
    graphql: 'Mutation.createVolume',
  },
  getVolume: {
    typescript: (gpu) => gpu.volumes.get(ID),
    cli: ['volume show', 'volume snapshots'],
    python: 'volumes.get',
    graphql: 'Query.volume',
  },
  growVolume: {
    typescript: (gpu) => gpu.volumes.grow(ID, 2),
    cli: ['volume grow'],
    python: 'volumes.grow',
    graphql: 'Mutation.growVolume',
  },
  deleteVolume: {
    typescript: (gpu) => gpu.volumes.delete(ID),
    cli: ['volume delete'],
    python: 'volumes.delete',
    graphql: 'Mutation.deleteVolume',
  },
  releaseVolume: {
    typescript: (gpu) => gpu.volumes.release(ID),
    cli: ['volume release'],
    python: 'volumes.release',
    graphql: 'Mutation.releaseVolume',
  },
  actOnInstance: {
    typescript: (gpu) => gpu.instances.action(ID, 'stop'),
    cli: ['start', 'stop', 'destroy'],
    python: 'instances.action',
    graphql: 'Mutation.action',
  },
};
/**
 * What REST calls by another name than GraphQL, and what is no option of a command because it is its argument or its
 * name.
 */
const IN_GRAPHQL: Record<string, string> = { type: 'mode', 'Idempotency-Key': 'idempotencyKey' };
const IN_ARGUMENTS = new Set(['machine_id', 'id', 'action', 'command']);
/** Options that are given once for each entry of a list have its singular. */
const OPTIONS: Record<string, string> = {
  secrets: 'secret',
  ports: 'port',
  tcp_ports: 'tcp',
  volumes: 'volume',
  max_price_per_hour: 'max-price',
  first: 'limit',
};
/** Pages, which the command line reads by itself, from the newest entry on. */
const OF_PAGES = new Set(['after', 'last', 'before']);
const launch = (): Partial<DeployRequest> => ({
  name: 'n',
  env: { A: 'b' },
  secrets: [],
  entrypoint: ['a'],
  command: ['b'],
  ports: [],
  tcp_ports: [],
  registry_login: 'r',
  restart: 'never',
  on_exit: 'stop',
  stop_at: '8h',
  destroy_at: '9h',
  spend_limit: 5,
  stop_when_idle: 30,
  volumes: [{ id: 'v-00000000', path: '/data' }],
});

let gateway: TestGateway;
let document: Json;
const operations: {
  id: string;
  method: string;
  path: string;
  names: string[];
  query: string[];
  body: string[];
  key: boolean;
  answer: Json;
}[] = [];

beforeAll(async () => {
  gateway = await startGateway();
  document = dereferenced(await (await fetch(`${gateway.address}/v1/openapi.json`)).json());
  for (const [path, methods] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(methods)) {
      const parameters: Json[] = operation.parameters ?? [];
      const body = Object.keys(operation.requestBody?.content['application/json'].schema.properties ?? {});
      const success = operation.responses['200'] ?? operation.responses['201'];
      // For programs such as Prometheus, which read it by themselves.
      if (success.content['application/json'] === undefined) continue;
      operations.push({
        id: operation.operationId,
        method: method.toUpperCase(),
        path,
        names: [...parameters.map(({ name }) => name), ...body],
        query: parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name),
        body,
        key: parameters.some(({ name }) => name === 'Idempotency-Key'),
        answer: success.content['application/json'].schema,
      });
    }
  }
});
afterAll(() => gateway.close());

test('every operation has its place, and no place is of an operation that is gone', () => {
  expect(operations.map(({ id }) => id).sort()).toEqual(Object.keys(OPERATIONS).sort());
});

describe('the TypeScript client', () => {
  test('sends each operation with all its parameters', async () => {
    for (const operation of operations) {
      const sent: { url: URL; init: RequestInit }[] = [];
      const gpu = createClient({
        apiKey: `gpu_live_${'0'.repeat(40)}`,
        baseUrl: 'http://127.0.0.1:1/v1',
        fetch: async (url, init) => {
          sent.push({ url: new URL(String(url)), init: init ?? {} });
          return new Response('{"error":{"code":"no_route","message":"looked at"}}', { status: 404 });
        },
      });
      await OPERATIONS[operation.id]!.typescript(gpu).catch(() => {});
      const [{ url, init }] = sent as [(typeof sent)[0]];
      expect([init.method, url.pathname]).toEqual([operation.method, `/v1${operation.path.replace('{id}', ID)}`]);
      expect([...url.searchParams.keys()].sort()).toEqual([...operation.query].sort());
      expect(Object.keys(init.body ? JSON.parse(String(init.body)) : {}).sort()).toEqual([...operation.body].sort());
      expect(new Headers(init.headers).has('idempotency-key')).toBe(operation.key);
    }
  });

  test('knows every error code', async () => {
    const types = await readFile(join(PACKAGE_ROOT, 'src/client/openapi.ts'), 'utf8');
    for (const code of document.components.schemas.Error.properties.error.properties.code.enum) {
      expect(types).toMatch(new RegExp(`["']${code}["']`));
    }
  });
});

test('the command line has a command for each operation and an option for each parameter', async () => {
  for (const { id, names } of operations) {
    for (const command of OPERATIONS[id]!.cli) {
      const { stdout } = await run(process.execPath, [GPU, ...command.split(' '), '--help']);
      // What a volume is called is an argument of its command.
      const isArgument = (name: string) =>
        IN_ARGUMENTS.has(name) || OF_PAGES.has(name) || (id === 'createVolume' && name === 'name');
      for (const name of names.filter((parameter) => !isArgument(parameter))) {
        expect(stdout, `gpu ${command}`).toContain(`--${OPTIONS[name] ?? name.toLowerCase().replaceAll('_', '-')} `);
      }
    }
  }
});

test(
  'the Python SDK has a method for each operation, an argument for each parameter, an exception for each code',
  needs('python3'),
  async () => {
    const script = `
import inspect, json
from gpu_rental import Client
from gpu_rental.errors import BY_CODE
client = Client()
methods = ${JSON.stringify(Object.values(OPERATIONS).map(({ python }) => python))}
def method(path):
    group, name = path.split('.')
    return getattr(getattr(client, group), name)
print(json.dumps({'codes': list(BY_CODE), 'methods': {path: list(inspect.signature(method(path)).parameters) for path in methods}}))`;
    const python = process.env.PYTHON || 'python3';
    const env = { ...process.env, PYTHONPATH: join(PACKAGE_ROOT, 'sdk/python'), PYTHONDONTWRITEBYTECODE: '1' };
    const told = await run(python, ['-c', script], { env });
    const { codes, methods } = JSON.parse(told.stdout);
    expect(codes.sort()).toEqual([...document.components.schemas.Error.properties.error.properties.code.enum].sort());
    for (const { id, names } of operations) {
      const parameters = names.map((name) => name.toLowerCase().replaceAll('-', '_'));
      // `from` is a word of the language.
      const named = methods[OPERATIONS[id]!.python].map((name: string) => name.replace(/_$/, ''));
      expect(named.sort(), id).toEqual(parameters.sort());
    }
  },
);

describe('GraphQL', () => {
  const schema = buildSchema();
  const camel = (name: string) =>
    IN_GRAPHQL[name] ?? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

  test('has an argument for each parameter', () => {
    for (const { id, names } of operations) {
      const [type, field] = OPERATIONS[id]!.graphql.split('.') as [string, string];
      const args = (schema.getType(type) as GraphQLObjectType).getFields()[field]!.args;
      const namesOf = ({ name, type: given }: GraphQLArgument | GraphQLInputField): string[] => {
        const named = getNamedType(given);
        return isInputObjectType(named) ? [name, ...Object.values(named.getFields()).flatMap(namesOf)] : [name];
      };
      const known = args.flatMap(namesOf);
      // A field of an instance is asked of the instance.
      const wanted = names.filter((name) => type !== 'Instance' || name !== 'id');
      expect(known, id).toEqual(expect.arrayContaining(wanted.map(camel)));
    }
  });

  test('has each field of each answer', () => {
    for (const { id, answer } of operations) {
      const [type, field] = OPERATIONS[id]!.graphql.split('.') as [string, string];
      compare(getNamedType((schema.getType(type) as GraphQLObjectType).getFields()[field]!.type), answer, id);
    }
  });

  /** `object` names the kind of an answer and `count` its length; in GraphQL type and list say so, and of a page its edges. */
  function compare(type: unknown, answer: Json, place: string): void {
    if (isObjectType(type) && 'edges' in type.getFields()) {
      const [edge, info] = ['edges', 'pageInfo'].map((name) => getNamedType(type.getFields()[name]!.type));
      const { cursor, ...members } = answer.properties.data.items.properties;
      compare(edge, { properties: { cursor } }, place);
      compare(getNamedType((edge as GraphQLObjectType).getFields().node!.type), { properties: members }, place);
      compare(info, answer.properties.page_info, place);
      return;
    }
    const isList = answer.properties?.data?.type === 'array' && !(isObjectType(type) && 'data' in type.getFields());
    const { properties } = isList ? answer.properties.data.items : answer;
    if (!isObjectType(type) || properties === undefined) return;
    for (const [name, inner] of Object.entries<Json>(properties)) {
      if (name === 'object') continue;
      const field = type.getFields()[camel(name)];
      expect(field?.name, `${place}: ${type.name}.${camel(name)}`).toBe(camel(name));
      compare(getNamedType(field!.type), inner.items ?? inner.anyOf?.[0] ?? inner, place);
    }
  }
});
