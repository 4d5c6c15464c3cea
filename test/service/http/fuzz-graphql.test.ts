import fc from 'fast-check';
import {
  buildClientSchema,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getIntrospectionQuery,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anyCodePoint } from '../../support/code-points.js';
import type { Answer } from '../../support/gateway.js';
import { anyJson, type Check, type Fuzzed, fuzz, ids, oddText, startFuzzed } from '../../support/http/fuzz.js';
import { randomHistories } from '../../support/long.js';

const RUNS_PER_FIELD = 8;
const RUNS_OF_DOCUMENTS = 30;
const TIMEOUT_MS = 300_000;

let fuzzed: Fuzzed;
let schema: GraphQLSchema;

beforeAll(async () => {
  fuzzed = await startFuzzed();
  schema = buildClientSchema((await fuzzed.renter.graphql(getIntrospectionQuery())).body.data);
});
afterAll(() => fuzzed.service.close());

interface Case {
  query: string;
  variables: Record<string, unknown>;
}

it('any value for any argument gets a valid response, as a variable or a literal', {
  timeout: TIMEOUT_MS,
}, async () => {
  const fields = [schema.getQueryType()!, schema.getMutationType()!].flatMap((root) =>
    Object.values(root.getFields()).map((field) => ({
      operation: root === schema.getQueryType() ? 'query' : 'mutation',
      field,
    })),
  );
  expect(fields.length).toBeGreaterThan(12);
  const runs = randomHistories(RUNS_PER_FIELD, 8);
  for (const { operation, field } of fields) {
    // Each call creates a key, and an account may have 50 keys.
    if (field.name === 'createApiKey' || (field.args.length === 0 && operation === 'query')) continue;
    await fuzz(fuzzed, caseOf(operation, field), runs, CHECK);
  }
  const history = schema.getQueryType()!.getFields().instanceHistory!;
  const intervals = (
    schema.getType('Instance') as never as { getFields(): Record<string, GraphQLField<unknown, unknown>> }
  ).getFields().usageIntervals!;
  await fuzz(fuzzed, nestedCase(history, intervals), runs, CHECK);
});

it('damaged documents get a valid response', { timeout: TIMEOUT_MS }, async () => {
  const whole = [
    getIntrospectionQuery(),
    '{ pricing { data { slug ...M } } offers(gpu: "h100-sxm", limit: 3) { machineId } } fragment M on GpuPrice { gpuModel { name } }',
    'query ($id: ID!, $no: Boolean = true) { instance(id: $id) @skip(if: $no) { id usage { total } } balance { balance } }',
    'mutation ($input: DeployInput!) { a: deploy(input: $input) { id } b: action(id: "i-00000000", action: STOP) { id } }',
  ];
  const damage = fc.record({
    at: fc.nat(2_000),
    cut: fc.nat(12),
    put: fc.oneof(
      fc.constantFrom('{', '}', '(', ')', '[', '...', '$', '@', ':', '"', '"""', '#', '\\u', '0', 'null', '\ufeff'),
      fc.string({ unit: anyCodePoint }),
    ),
  });
  const damaged = fc
    .tuple(fc.constantFrom(...whole), fc.array(damage, { minLength: 1, maxLength: 4 }))
    .map(([query, all]) => ({
      query: all.reduce(
        (text, { at, cut, put }) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + cut),
        query,
      ),
      variables: { id: fuzzed.known.instances[0], input: { machineId: 'm-unknown' } },
    }));
  await fuzz(fuzzed, damaged, randomHistories(RUNS_OF_DOCUMENTS, 8), CHECK);
});

/** Returns the names of the root fields that have a result. */
const done = ({ data }: Answer['body']): string[] =>
  Object.entries(data ?? {}).flatMap(([name, result]) => (result === null ? [] : [name]));

const CHECK: Check<Case> = {
  send: ({ query, variables }) => fuzzed.renter.graphql(query, variables),
  verify: ({ status, body }) => {
    expect(status).toBeLessThan(500);
    expect('data' in body || body.errors.length > 0).toBe(true);
    for (const { message, extensions } of body.errors ?? []) {
      expect([typeof message, typeof extensions?.code]).toEqual(['string', 'string']);
      expect(extensions.code).not.toMatch(/^(internal|unavailable)$/);
    }
  },
  deployed: ({ body, headers }) =>
    done(body).some((name) => name.startsWith('deploy')) && !headers.has('idempotent-replayed'),
  changed: (answer, { query }) => query.startsWith('mutation') && done(answer.body).length > 0,
};

function caseOf(operation: string, field: GraphQLField<unknown, unknown>): fc.Arbitrary<Case> {
  const values = fc.record(Object.fromEntries(field.args.map(({ name, type }) => [name, argumentValue(type)])), {
    requiredKeys: [],
  });
  return fc.tuple(values, fc.boolean()).map(([given, asVariables]) => {
    const args = field.args.filter(({ name }) => name in given);
    const declared = args.map(({ name, type }) => `$${name}: ${type}`).join(', ');
    const passed = args.map(({ name }) => `${name}: ${asVariables ? `$${name}` : literal(given[name])}`).join(', ');
    const head = asVariables && args.length > 0 ? `${operation} (${declared})` : operation;
    const query = `${head} { ${field.name}${passed === '' ? '' : `(${passed})`} ${selectionOf(field.type, 2)} }`;
    return { query, variables: asVariables ? given : {} };
  });
}

function nestedCase(outer: GraphQLField<unknown, unknown>, inner: GraphQLField<unknown, unknown>): fc.Arbitrary<Case> {
  const argsOf = (field: GraphQLField<unknown, unknown>) =>
    fc
      .record(Object.fromEntries(field.args.map(({ name, type }) => [name, argumentValue(type)])), {
        requiredKeys: [],
      })
      .map((given) => Object.entries(given).map(([name, value]) => `${name}: ${literal(value)}`))
      .map((args) => (args.length === 0 ? '' : `(${args.join(', ')})`));
  return fc.tuple(fc.constantFrom('', '(first: 5)'), argsOf(inner)).map(([page, args]) => ({
    query: `{ ${outer.name}${page} { edges { node { id ${inner.name}${args} { edges { cursor } } } } } }`,
    variables: {},
  }));
}

function argumentValue(type: GraphQLInputType): fc.Arbitrary<unknown> {
  const named = getNamedType(type);
  if (isInputObjectType(named)) {
    const fields = Object.values(named.getFields()).map((field) => [field.name, argumentValue(field.type)] as const);
    const whole = fc.record(Object.fromEntries(fields), { requiredKeys: [] });
    return fc.oneof({ weight: 6, arbitrary: whole }, { weight: 1, arbitrary: anyJson(fuzzed) });
  }
  const fitting: Record<string, fc.Arbitrary<unknown>> = {
    ID: ids(fuzzed),
    String: fc.oneof(ids(fuzzed), oddText()),
    Int: fc.constantFrom(1, 2, 3, 10, 50, 100),
    Float: fc.constantFrom(0, 0.5, 10, 1_000),
    Boolean: fc.boolean(),
    DateTime: fc.constantFrom('2026-11-01T00:00:00Z', '2026-11-20T00:00:00+02:00', '0001-01-01T00:00:00Z'),
    PricingMode: fc.constantFrom('ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'),
    InstanceActionKind: fc.constantFrom('START', 'STOP'),
  };
  return fc.oneof(
    { weight: 3, arbitrary: fitting[named.name] ?? ids(fuzzed) },
    { weight: 2, arbitrary: anyJson(fuzzed) },
  );
}

/** Returns a selection of all leaves and of fields one or two levels below. */
function selectionOf(type: GraphQLOutputType, depth: number): string {
  const named = getNamedType(type);
  if (!isObjectType(named)) return '';
  const fields = Object.values(named.getFields()).filter(({ args }) => args.length === 0);
  const chosen = fields
    .filter((field) => isLeafType(getNamedType(field.type)) || depth > 1)
    .map((field) => `${field.name} ${selectionOf(field.type, depth - 1)}`);
  return `{ __typename ${chosen.join(' ')} }`;
}

/** Returns JSON in GraphQL syntax. Enum values inside it remain strings, which must also be rejected. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(' ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([name, inner]) => `${name.replace(/\W/g, '_') || 'a'}: ${literal(inner)}`)
      .join(' ')}}`;
  }
  if (typeof value === 'string' && /^[A-Z_]{4,}$/.test(value)) return value;
  return JSON.stringify(value);
}
