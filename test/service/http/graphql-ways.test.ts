import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildSchema,
  type GraphQLField,
  type GraphQLObjectType,
  getIntrospectionQuery,
  getNamedType,
  isObjectType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRAPHIQL_EXAMPLES } from '../../../src/http/graphiql/examples.js';
import type { Renter } from '../../support/gateway.js';
import { Line, type RawAnswer, sendRaw } from '../../support/http.js';
import { isLong } from '../../support/long.js';
import { type Service, startService } from '../../support/service.js';

/** Enough executions for a document to run compiled, which begins with the third. */
const TIMES = 5;
const TYPES = ['application/json', 'application/graphql-response+json'];

let service: Service;
let renter: Renter;
let running: string;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter('1000');
  for (const type of ['od', 'res', 'interruptible']) {
    const machine_id = await service.machine({ gpu: 'rtx-4090' });
    const { body } = await renter.rest('POST', '/instances', { machine_id, type });
    running = body.id;
  }
  await renter.rest('POST', `/instances/${running}/actions`, { action: 'stop' });
  service.clock.advance(3_600);
  await service.publish('2026-11-21', { l4: 0.5 });
});
afterAll(() => service?.close());

interface Operation {
  query: string;
  variables?: unknown;
  operationName?: unknown;
}

let texts = 0;

/** Returns the same operation in a document that was never sent before. */
function withNewText({ query, ...rest }: Operation): Operation {
  texts += 1;
  return { query: `${query}\n# ${texts}`, ...rest };
}

const headersOf = (caller: Renter | null, accept: string) => ({
  'content-type': 'application/json',
  accept,
  ...(caller !== null && { authorization: `Bearer ${caller.key}` }),
});

const post = (body: string, caller: Renter | null, accept = TYPES[0]!) =>
  sendRaw(service.address, '/graphql', { body, headers: headersOf(caller, accept) });

/** Sends a chunked body, which Express parses before Yoga responds. */
async function postInChunks(body: string, caller: Renter | null, accept = TYPES[0]!): Promise<RawAnswer> {
  const lines = Object.entries(headersOf(caller, accept)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /graphql HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\nconnection: close\r\n${lines.join('')}\r\n`;
  const line = await Line.open(service.address);
  await line.write(`${head}${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  try {
    return await line.next();
  } finally {
    line.close();
  }
}

const COMPARED_HEADERS = [
  'content-type',
  'www-authenticate',
  'retry-after',
  'allow',
  'ratelimit-limit',
  'access-control-allow-origin',
];

function comparable({ status, headers, text }: RawAnswer) {
  return { status, headers: COMPARED_HEADERS.map((name) => `${name}: ${headers[name]}`), text };
}

/** Expects the same response whether the operation is interpreted, compiled, cached or sent in chunks. */
async function expectOneAnswer(operation: Operation): Promise<RawAnswer> {
  let own: RawAnswer | undefined;
  for (const [index, accept] of TYPES.entries()) {
    // The long run combines every caller with every type.
    const callers = isLong ? [renter, null] : [index === 0 ? renter : null];
    for (const caller of callers) {
      const body = JSON.stringify(withNewText(operation));
      const answers: RawAnswer[] = [];
      for (let time = 0; time < TIMES; time += 1) answers.push(await post(body, caller, accept));
      for (const answer of answers) expect(comparable(answer)).toEqual(comparable(answers[0]!));
      expect(comparable(await postInChunks(body, caller, accept))).toEqual(comparable(answers[0]!));
      own ??= answers[0]!;
    }
  }
  return own!;
}

const core = buildSchema(readFileSync(join(import.meta.dirname, '../contract/core-surface.graphql'), 'utf8'));

/** Returns a selection of all nested fields, each by its name and by an alias. */
function allFields(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields()).map(({ name, type: fieldType }) => {
    const named = getNamedType(fieldType);
    const below = isObjectType(named) ? ` ${allFields(named)}` : '';
    return `${name}${below} the_${name}: ${name}${below}`;
  });
  return `{ __typename ${fields.join(' ')} }`;
}

function operationOn(kind: string, field: GraphQLField<unknown, unknown>, values: Record<string, unknown>): Operation {
  const applicable = field.args.filter(({ name }) => name in values);
  const definitions = applicable.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const args = applicable.map(({ name }) => `${name}: $${name}`).join(', ');
  const below = allFields(getNamedType(field.type) as GraphQLObjectType);
  return {
    query: `${kind}${definitions && `(${definitions})`} { ${field.name}${args && `(${args})`} ${below} }`,
    variables: values,
  };
}

describe('every execution path returns the same response to', () => {
  it.each(Object.keys(core.getQueryType()!.getFields()))('the query %s', async (name) => {
    const field = core.getQueryType()!.getFields()[name]!;
    const values = { id: running, gpu: 'rtx-4090', limit: 3, region: null };
    const applicable = Object.fromEntries(
      Object.entries(values).filter(([key]) => field.args.some((arg) => arg.name === key)),
    );
    const { text } = await expectOneAnswer(operationOn('query', field, applicable));
    expect(JSON.parse(text)).toEqual({ data: { [name]: expect.anything() } });
  });

  it.each([
    ['deploy', { input: { machineId: 'm-unknown', mode: 'RESERVED' } }],
    ['deploy', { input: { machineId: '', diskGb: null } }],
    ['action', { id: 'i-00000000', action: 'STOP' }],
    ['action', { id: 'nobody', action: 'DESTROY', idempotencyKey: 'k' }],
  ])('the refused mutation %s %j', async (name, values) => {
    const field = core.getMutationType()!.getFields()[name]!;
    const { text } = await expectOneAnswer(operationOn('mutation', field, values));
    expect(JSON.parse(text)).toEqual({ data: { [name]: null }, errors: [expect.anything()] });
  });

  it.each(
    GRAPHIQL_EXAMPLES.filter(({ query }) => !query.includes('createApiKey')).map(
      (example) => [example.query.split('\n')[0], example] as const,
    ),
  )('the GraphiQL example %s', async (_name, { query, variables }) => {
    await expectOneAnswer({ query, ...(variables !== undefined && { variables }) });
  });
});

const DATES =
  'query($from: Date, $to: Date) { gpuModel(slug: "l4") { priceHistory(from: $from, to: $to) { snapshot onDemand } } }';
const OFFERS =
  'query($gpu: String, $numMin: Int, $priceMax: Float, $limit: Int) { offers(gpu: $gpu, numMin: $numMin, priceMax: $priceMax, limit: $limit) { machineId numGpus } }';
const SEARCH =
  'query($filter: OfferFilterInput, $sort: OfferSort, $first: Int) { offerSearch(filter: $filter, sort: $sort, first: $first) { totalCount edges { node { machineId gpu } } } }';
const PARTS =
  'query($gpus: [String!], $gpu: String!, $tier: GpuTier!, $least: Int) { offerSearch(filter: { gpus: $gpus, regions: [$gpu], tiers: [$tier, CONSUMER], numMin: $least }, first: 2) { totalCount } }';
const DEPLOY = 'mutation($input: DeployInput!) { deploy(input: $input) { id } }';
const DEPLOY_PARTS =
  'mutation($id: ID!, $disk: Int, $mode: PricingMode) { deploy(input: { machineId: $id, diskGb: $disk, mode: $mode }) { id } }';
const CHOICE =
  'query($yes: Boolean!, $no: Boolean!) { regions @include(if: $yes) { code @skip(if: $no) name @include(if: $no) } templates @skip(if: $yes) { slug } ...Models @include(if: $yes) ... @include(if: $no) { balance { balance } } } fragment Models on Query { gpuModel(slug: "l4") { slug ...Name @skip(if: $yes) } } fragment Name on GpuModel { name }';

const EDGE_CASES: [string, Operation][] = [
  [
    'type names everywhere',
    {
      query:
        '{ __typename regions { __typename } pricing { __typename data { __typename pricePerGpuHour { __typename } } } t: __typename }',
    },
  ],
  [
    'nested fragments',
    {
      query:
        'query { ...A ... on Query { balance { ...B } } ... { templates { slug } } } fragment A on Query { regions { ...C } } fragment B on Balance { balance currency } fragment C on Region { code ...D } fragment D on Region { name __typename }',
    },
  ],
  [
    'fields that merge',
    {
      query:
        '{ pricing { count } ...P pricing { data { slug } data { name slug } } } fragment P on Query { pricing { currency data { tier } } }',
    },
  ],
  [
    'swapped aliases',
    {
      query:
        '{ name: gpuModel(slug: "l4") { slug: name name: slug } slug: gpuModel(slug: "h100-sxm") { name: tier tier: name } }',
    },
  ],
  [
    'names of object members',
    { query: '{ constructor: regions { toString: code hasOwnProperty: name } prototype: __typename }' },
  ],
  ['a name that compiled code can’t use as an alias', { query: '{ __proto__: regions { code } }' }],
  ['conditions: true', { query: CHOICE, variables: { yes: true, no: false } }],
  ['conditions: false', { query: CHOICE, variables: { yes: false, no: true } }],
  ['conditions: both', { query: CHOICE, variables: { yes: true, no: true } }],
  ['missing conditions', { query: CHOICE, variables: { yes: true } }],
  ['conditions that are not booleans', { query: CHOICE, variables: { yes: 'true', no: 0 } }],
  ['conditions that are null', { query: CHOICE, variables: { yes: null, no: false } }],
  [
    'a condition with a default',
    { query: 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }' },
  ],
  [
    'a condition with a default and a value',
    {
      query: 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }',
      variables: { mine: true },
    },
  ],
  [
    'skip and include together',
    {
      query:
        'query($a: Boolean!, $b: Boolean!) { regions @skip(if: $a) @include(if: $b) { code } templates @include(if: $b) @skip(if: $a) { slug } }',
      variables: { a: false, b: false },
    },
  ],
  ['no remaining field', { query: 'query($a: Boolean!) { regions @skip(if: $a) { code } }', variables: { a: true } }],
  [
    'an object without a remaining field',
    { query: 'query($a: Boolean!) { regions { code @skip(if: $a) } }', variables: { a: true } },
  ],
  ['no variables', { query: OFFERS }],
  ['variables that are null', { query: OFFERS, variables: { gpu: null, numMin: null, priceMax: null, limit: null } }],
  ['variables', { query: OFFERS, variables: { gpu: 'l4', numMin: 2, priceMax: 3, limit: 4, unknown: 5 } }],
  ['a whole number as a float', { query: OFFERS, variables: { numMin: 1.0, limit: 2 } }],
  ['a fraction for an integer', { query: OFFERS, variables: { limit: 1.5 } }],
  ['a string as a number', { query: OFFERS, variables: { limit: '3' } }],
  ['a number as a string', { query: OFFERS, variables: { gpu: 4090 } }],
  ['a number that is too large', { query: OFFERS, variables: { limit: 2 ** 31 } }],
  ['a list as a number', { query: OFFERS, variables: { limit: [3] } }],
  ['several invalid values', { query: OFFERS, variables: { limit: 'a', numMin: {}, gpu: [] } }],
  ['a value out of bounds', { query: OFFERS, variables: { limit: 101 } }],
  ['another value out of bounds', { query: OFFERS, variables: { priceMax: -1, limit: 3 } }],
  [
    'defaults',
    { query: 'query($limit: Int = 3, $gpu: String = "l4") { offers(limit: $limit, gpu: $gpu) { machineId } }' },
  ],
  [
    'defaults with null',
    {
      query: 'query($limit: Int = 3, $gpu: String = "l4") { offers(limit: $limit, gpu: $gpu) { machineId } }',
      variables: { limit: null, gpu: null },
    },
  ],
  [
    'an input with a default',
    {
      query:
        'query($filter: OfferFilterInput = { gpus: ["l4"], numMin: 2 }) { offerSearch(filter: $filter, first: 3) { totalCount } }',
    },
  ],
  [
    'an input',
    {
      query: SEARCH,
      variables: {
        filter: { gpus: ['l4', 't4'], tiers: ['DATACENTER'], nvlink: false },
        sort: 'PRICE_PER_GPU',
        first: 5,
      },
    },
  ],
  ['one value for a list', { query: SEARCH, variables: { filter: { gpus: 'l4', tiers: 'DATACENTER' }, first: 2 } }],
  ['an empty list', { query: SEARCH, variables: { filter: { gpus: [], regions: null }, first: 2 } }],
  ['null in a list', { query: SEARCH, variables: { filter: { gpus: ['l4', null] } } }],
  ['a wrong value in a list', { query: SEARCH, variables: { filter: { gpus: ['l4', 7], tiers: ['NONE'] } } }],
  ['an unknown field of an input', { query: SEARCH, variables: { filter: { gpu: 'l4' } } }],
  ['an unknown value of an enum', { query: SEARCH, variables: { sort: 'CHEAPEST' } }],
  ['an enum as a number', { query: SEARCH, variables: { sort: 1 } }],
  ['an enum in another case', { query: SEARCH, variables: { sort: 'price' } }],
  ['an input that is not an object', { query: SEARCH, variables: { filter: 'l4' } }],
  ['an error in a non-null field', { query: SEARCH, variables: { first: 1000 } }],
  ['parts of an input', { query: PARTS, variables: { gpus: ['l4'], gpu: 'us-tx', tier: 'DATACENTER' } }],
  [
    'parts of an input: one for a list, and null',
    { query: PARTS, variables: { gpus: 'l4', gpu: 'us-tx', tier: 'CONSUMER', least: null } },
  ],
  ['missing parts of an input', { query: PARTS, variables: { gpus: ['l4'] } }],
  [
    'literals for lists and enums',
    {
      query:
        '{ offerSearch(filter: { gpus: "l4", tiers: DATACENTER, numMin: 1 }, sort: RELIABILITY, first: 3) { edges { node { gpu } } } }',
    },
  ],
  ['a number for an id', { query: '{ gpuModel(slug: 4090) { name } }' }],
  [
    'a number for an id, by variable',
    { query: 'query($slug: ID!) { gpuModel(slug: $slug) { name } }', variables: { slug: 4090 } },
  ],
  ['dates', { query: DATES, variables: { from: '2026-01-01', to: '2026-12-31' } }],
  ['invalid dates', { query: DATES, variables: { from: '2026-02-31' } }],
  ['dates that are null', { query: DATES, variables: { from: null } }],
  ['a literal that is not a date', { query: '{ gpuModel(slug: "l4") { priceHistory(from: "soon") { snapshot } } }' }],
  [
    'an error in a nested nullable field',
    { query: '{ instances { id usageIntervals(first: 1000) { edges { node { resource } } } } regions { code } }' },
  ],
  [
    'errors in several fields',
    {
      query:
        '{ instances { id usageIntervals(first: -1) { edges { cursor } } } a: instance(id: "x") { id } balance { balance } }',
    },
  ],
  [
    'the same error under two aliases',
    {
      query:
        '{ a: instances { usageIntervals(last: 101) { edges { cursor } } } b: instances { usageIntervals(last: 101) { edges { cursor } } } }',
    },
  ],
  [
    'cursors',
    {
      query:
        '{ instanceHistory(first: 2) { pageInfo { hasNextPage endCursor } edges { cursor node { id usageIntervals(first: 1) { edges { node { resource startedAt endedAt } } } } } } }',
    },
  ],
  [
    'an invalid cursor',
    {
      query: 'query($after: String) { instanceHistory(first: 2, after: $after) { edges { cursor } } }',
      variables: { after: 'nowhere' },
    },
  ],
  [
    'all fields of an instance',
    {
      query:
        '{ instances { id status mode stopReason reservedUntil earlyExitCost stoppedAt destroyedAt usage { gpuSeconds total earlyExitCost } machine { id gpuModel { name } regionInfo { name } } } account { balance burnPerHour exhaustsAt limits { requestsPerMinute } } }',
    },
  ],
  [
    'a statement',
    {
      query: 'query($from: DateTime!) { statement(from: $from) { __typename } }',
      variables: { from: '2026-11-01T00:00:00Z' },
    },
  ],
  [
    'an invalid timestamp',
    { query: 'query($from: DateTime!) { statement(from: $from) { __typename } }', variables: { from: 'yesterday' } },
  ],
  [
    'several mutations in sequence',
    {
      query:
        'mutation { a: deploy(input: { machineId: "m-none" }) { id } b: action(id: "i-00000000", action: START) { id } c: revokeApiKey(id: "key-none") { id } }',
    },
  ],
  [
    'an input of a mutation',
    { query: DEPLOY, variables: { input: { machineId: 'm-none', template: null, diskGb: 70 } } },
  ],
  ['an input without its required fields', { query: DEPLOY, variables: { input: { diskGb: 70 } } }],
  ['no input', { query: DEPLOY, variables: {} }],
  ['parts of a mutation', { query: DEPLOY_PARTS, variables: { id: 'm-none' } }],
  ['null parts of a mutation', { query: DEPLOY_PARTS, variables: { id: 'm-none', disk: null, mode: null } }],
  ['invalid parts of a mutation', { query: DEPLOY_PARTS, variables: { id: 'm-none', disk: 0, mode: 'INTERRUPTIBLE' } }],
  [
    'lines with CR LF endings',
    {
      query:
        '{\r\n\r\n  a: regions { code }\r\n\r\n   b: balance\r\n{ balance }\r c: instances {\r\n usageIntervals(first: 1000) { edges { cursor } } }\r\n}',
    },
  ],
  [
    'errors on several lines',
    {
      query: '{\n  # a note\n  instances {\n    usageIntervals(\n      first: 1000\n    ) { edges { cursor } }\n  }\n}',
    },
  ],
  [
    'non-ASCII characters before an error',
    {
      query:
        '{ gpuModel(slug: "\u{1f600} \u00e9\u4e16") { name } instances { usageIntervals(first: 1000) { edges { cursor } } } }',
    },
  ],
  ['a block string', { query: '{ gpuModel(slug: """\n  l4\n""") { name } }' }],
  ['introspection', { query: getIntrospectionQuery() }],
  [
    'introspection by variable',
    {
      query: 'query($name: String!) { __type(name: $name) { name fields { name type { name ofType { name } } } } }',
      variables: { name: 'Offer' },
    },
  ],
  [
    'introspection of an unknown type',
    { query: '{ __type(name: "Nothing") { name } __schema { queryType { name } } }' },
  ],
  ['a named operation', { query: 'query A { regions { code } } query B { templates { slug } }', operationName: 'B' }],
  [
    'another named operation',
    { query: 'query A { regions { code } } query B { templates { slug } }', operationName: 'A' },
  ],
  ['several operations without a name', { query: 'query A { regions { code } } query B { templates { slug } }' }],
  ['an unknown name', { query: 'query A { regions { code } }', operationName: 'B' }],
  ['an empty name', { query: 'query A { regions { code } }', operationName: '' }],
  [
    'null for a name and for variables',
    { query: 'query A { regions { code } }', operationName: null, variables: null },
  ],
  ['a name that is not a string', { query: 'query A { regions { code } }', operationName: 5 }],
  ['variables in a string', { query: OFFERS, variables: '{"limit":3}' }],
  ['variables in a list', { query: OFFERS, variables: [3] }],
  ['a subscription', { query: 'subscription { regions { code } }' }],
  ['an empty document', { query: '' }],
  ['only a fragment', { query: 'fragment A on Query { regions { code } }' }],
  ['a syntax error', { query: '{ regions { code ' }],
  ['unknown fields', { query: '{ regions { nothing } nowhere }' }],
  ['unused and undefined variables', { query: 'query($a: Int) { offers(limit: $b) { machineId } }' }],
];

describe('an operation that is interpreted, compiled, cached or sent in chunks', () => {
  it.each(EDGE_CASES)('has the same response for %s', async (_name, operation) => {
    await expectOneAnswer(operation);
  });

  it('is rejected if a condition with a default is null', async () => {
    const query = 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }';
    for (const caller of [renter, null]) {
      const body = JSON.stringify(withNewText({ query, variables: { mine: null } }));
      const senders = [...Array.from({ length: TIMES }, () => post), postInChunks];
      for (const sendBody of senders) {
        const { data, errors } = JSON.parse((await sendBody(body, caller)).text);
        // The caller and the path decide whether it is rejected before or during execution.
        expect([data ?? null, errors.length]).toEqual([null, 1]);
        expect(errors[0].message).toBe('Argument "if" of non-null type "Boolean!" must not be null.');
      }
    }
  });

  it('is executed regardless of unknown members in the request', async () => {
    const operation = { query: OFFERS, variables: { limit: 3 } };
    const plain = comparable(await post(JSON.stringify(operation), renter));
    expect(JSON.parse(plain.text).errors).toBeUndefined();
    const more = { operationType: 'query', doc_id: 'x', id: 5 };
    expect(comparable(await post(JSON.stringify({ ...operation, ...more }), renter))).toEqual(plain);
  });

  it('has consistent responses while known and unknown operation names alternate', async () => {
    const { query } = withNewText({ query: 'query A { regions { code } } query B { templates { slug } }' });
    const answers = new Map<string, unknown>();
    for (let time = 0; time < TIMES; time += 1) {
      for (const operationName of ['A', 'C', 'B', undefined]) {
        const answer = comparable(await post(JSON.stringify({ query, operationName }), renter));
        const known = answers.get(String(operationName));
        if (known !== undefined) expect(answer).toEqual(known);
        answers.set(String(operationName), answer);
      }
    }
    expect(new Set([...answers.values()].map((answer) => JSON.stringify(answer))).size).toBe(3);
  });

  it('has consistent responses while valid and invalid variables alternate', async () => {
    const { query } = withNewText({ query: OFFERS });
    const inputs = [{ limit: 1 }, { limit: 'x' }, { limit: 2, gpu: null }, {}, { limit: 101 }, { gpu: 'l4' }];
    const answers: unknown[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      for (const [index, variables] of inputs.entries()) {
        const answer = comparable(await post(JSON.stringify({ query, variables }), renter));
        answers[index] ??= answer;
        expect(answer).toEqual(answers[index]);
      }
    }
  });

  it('shows current data when compiled', async () => {
    const body = JSON.stringify(
      withNewText({
        query: 'query($id: ID!) { instance(id: $id) { status usage { diskSeconds } } }',
        variables: { id: running },
      }),
    );
    for (let time = 0; time < TIMES; time += 1) {
      const before = JSON.parse((await post(body, renter)).text).data.instance.usage.diskSeconds;
      service.clock.advance(7);
      const after = JSON.parse((await post(body, renter)).text).data.instance.usage.diskSeconds;
      expect(after - before).toBe(7);
    }
  });
});

describe('the same refusal is returned, whole or in chunks, for the body', () => {
  it.each([
    '',
    ' ',
    'null',
    '5',
    '"{ regions { code } }"',
    '[]',
    '[{"query":"{ regions { code } }"}]',
    '{}',
    '{"query":null}',
    '{"query":5}',
    '{"query":["{ regions { code } }"]}',
    '{"query":"{ regions { code } }"',
    '{"query":"{ regions { code } }"}}',
    "{'query':'{ regions { code } }'}",
    '\ufeff{"query":"{ regions { code } }"}',
    '{"query":"{ regions { code } }","extensions":"x"}',
    '{"query":"{ regions { code } }","extensions":{"persistedQuery":{"version":1}}}',
    '{"query":"{ regions { code } }","unknown":1}',
    '{"query":"{ regions { code } }","query":"{ templates { slug } }"}',
    '{"__proto__":{"query":"{ regions { code } }"}}',
    '{"query":"{ regions { code } }","__proto__":{"operationName":"X"}}',
    '{"query":"{ gpuModel(slug: \\"\\ud800\\") { name } }"}',
    '{"query":"{ gpuModel(slug: \\"\\u0000\\") { name } }"}',
  ])('%j', async (body) => {
    for (const accept of TYPES) {
      for (const caller of [renter, null]) {
        const whole = comparable(await post(body, caller, accept));
        expect(comparable(await post(body, caller, accept))).toEqual(whole);
        if (body !== '') expect(comparable(await postInChunks(body, caller, accept))).toEqual(whole);
      }
    }
  });
});
