import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLObjectType,
  getNamedType,
  isInputObjectType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from '../../../src/client/index.js';
import { buildSchema } from '../../../src/schema/index.js';
import { PACKAGE_ROOT } from '../../../src/std/package-root.js';
import { gpu } from '../../support/cli/command.js';
import { startGateway, type TestGateway } from '../../support/gateway.js';
import { dereferenced } from '../../support/openapi.js';
import { ID, type Json, OPERATIONS, type RestOperation, readOperations } from '../../support/operations.js';

/**
 * Parameters whose GraphQL names differ from their REST names, and those that a command takes as an argument or implies
 * by its name.
 */
const IN_GRAPHQL: Record<string, string> = { type: 'mode', 'Idempotency-Key': 'idempotencyKey' };
const IN_ARGUMENTS = new Set(['machine_id', 'id', 'action', 'command', 'model']);
/** Options that are given once per entry of a list have singular names. */
const OPTIONS: Record<string, string> = {
  secrets: 'secret',
  ports: 'port',
  tcp_ports: 'tcp',
  volumes: 'volume',
  labels: 'label',
  max_price_per_hour: 'max-price',
  first: 'limit',
};
/** Paging parameters. The command line reads all pages automatically, newest entry first. */
const OF_PAGES = new Set(['after', 'last', 'before']);
let gateway: TestGateway;
let document: Json;
let operations: RestOperation[];

beforeAll(async () => {
  gateway = await startGateway();
  document = dereferenced(await (await fetch(`${gateway.address}/v1/openapi.json`)).json());
  operations = readOperations(document);
});
afterAll(() => gateway.close());

test("the test's list contains exactly the document's operations", () => {
  expect(operations.map(({ id }) => id).sort()).toEqual(Object.keys(OPERATIONS).sort());
});

describe('the TypeScript client', () => {
  test('can send each operation with all its parameters', async () => {
    for (const operation of operations) {
      const sent: { url: URL; init: RequestInit }[] = [];
      const client = createClient({
        apiKey: `gpu_live_${'0'.repeat(40)}`,
        baseUrl: 'http://127.0.0.1:1/v1',
        fetch: async (url, init) => {
          sent.push({ url: new URL(String(url)), init: init ?? {} });
          return new Response('{"error":{"code":"no_route","message":"recorded"}}', { status: 404 });
        },
      });
      await OPERATIONS[operation.id]!.typescript(client).catch(() => {});
      const [{ url, init }] = sent as [(typeof sent)[0]];
      expect([init.method, url.pathname]).toEqual([
        operation.method,
        `/v1${operation.path.replace(/\{(?:id|month)\}/, ID)}`,
      ]);
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

test('the CLI has a command per operation and an option per parameter', async () => {
  for (const { id, names } of operations) {
    for (const command of OPERATIONS[id]!.cli) {
      const { stdout } = await gpu([...command.split(' '), '--help'], {});
      // A volume's name and two tree sizes are positional arguments of their commands.
      const isArgument = (name: string) =>
        IN_ARGUMENTS.has(name) ||
        (OF_PAGES.has(name) && id !== 'getLogRoots') ||
        id === 'getLogConsistency' ||
        (id === 'createVolume' && name === 'name');
      for (const name of names.filter((parameter) => !isArgument(parameter))) {
        expect(stdout, `gpu ${command}`).toContain(`--${OPTIONS[name] ?? name.toLowerCase().replaceAll('_', '-')} `);
      }
    }
  }
});

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
      // A field of an instance is requested from the instance.
      const expected = names.filter((name) => type !== 'Instance' || name !== 'id');
      expect(known, id).toEqual(expect.arrayContaining(expected.map(camel)));
    }
  });

  test('has every field in every response', () => {
    for (const { id, answer } of operations) {
      const [type, field] = OPERATIONS[id]!.graphql.split('.') as [string, string];
      compare(getNamedType((schema.getType(type) as GraphQLObjectType).getFields()[field]!.type), answer, id);
    }
  });

  /** `object` and `count` are omitted, since in GraphQL the type and the list or edges convey them. */
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
