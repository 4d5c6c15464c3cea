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
import { ask, Line, type RawAnswer } from '../../support/http.js';
import { isLong } from '../../support/long.js';
import { type Service, startService } from '../../support/service.js';

/** A document that comes for the third time runs compiled; before, it is interpreted. */
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

/** The same question in a text that nobody has sent before. */
function anew({ query, ...rest }: Operation): Operation {
  texts += 1;
  return { query: `${query}\n# ${texts}`, ...rest };
}

const headersOf = (who: Renter | null, accept: string) => ({
  'content-type': 'application/json',
  accept,
  ...(who !== null && { authorization: `Bearer ${who.key}` }),
});

const post = (body: string, who: Renter | null, accept = TYPES[0]!) =>
  ask(service.address, '/graphql', { body, headers: headersOf(who, accept) });

/** A body of unknown length is read by Express and answered by Yoga as a whole. */
async function postInChunks(body: string, who: Renter | null, accept = TYPES[0]!): Promise<RawAnswer> {
  const lines = Object.entries(headersOf(who, accept)).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /graphql HTTP/1.1\r\nhost: gateway\r\ntransfer-encoding: chunked\r\nconnection: close\r\n${lines.join('')}\r\n`;
  const line = await Line.open(service.address);
  await line.write(`${head}${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  try {
    return await line.next();
  } finally {
    line.close();
  }
}

const TELLING = [
  'content-type',
  'www-authenticate',
  'retry-after',
  'allow',
  'ratelimit-limit',
  'access-control-allow-origin',
];

function told({ status, headers, text }: RawAnswer) {
  return { status, headers: TELLING.map((name) => `${name}: ${headers[name]}`), text };
}

/** Interpreted, compiled, kept, and by the longer way: one answer. */
async function expectOneAnswer(operation: Operation): Promise<RawAnswer> {
  let own: RawAnswer | undefined;
  for (const [index, accept] of TYPES.entries()) {
    // The long run has every caller with every type.
    const callers = isLong ? [renter, null] : [index === 0 ? renter : null];
    for (const who of callers) {
      const body = JSON.stringify(anew(operation));
      const answers: RawAnswer[] = [];
      for (let time = 0; time < TIMES; time += 1) answers.push(await post(body, who, accept));
      for (const answer of answers) expect(told(answer)).toEqual(told(answers[0]!));
      expect(told(await postInChunks(body, who, accept))).toEqual(told(answers[0]!));
      own ??= answers[0]!;
    }
  }
  return own!;
}

const core = buildSchema(readFileSync(join(import.meta.dirname, '../contract/core-surface.graphql'), 'utf8'));

/** Every field below, by name and once more by an alias. */
function allFields(type: GraphQLObjectType): string {
  const fields = Object.values(type.getFields()).map(({ name, type: fieldType }) => {
    const named = getNamedType(fieldType);
    const below = isObjectType(named) ? ` ${allFields(named)}` : '';
    return `${name}${below} the_${name}: ${name}${below}`;
  });
  return `{ __typename ${fields.join(' ')} }`;
}

function operationOn(kind: string, field: GraphQLField<unknown, unknown>, values: Record<string, unknown>): Operation {
  const given = field.args.filter(({ name }) => name in values);
  const definitions = given.map(({ name, type }) => `$${name}: ${type}`).join(', ');
  const args = given.map(({ name }) => `${name}: $${name}`).join(', ');
  const below = allFields(getNamedType(field.type) as GraphQLObjectType);
  return {
    query: `${kind}${definitions && `(${definitions})`} { ${field.name}${args && `(${args})`} ${below} }`,
    variables: values,
  };
}

describe('the core of the surface', () => {
  it.each(Object.keys(core.getQueryType()!.getFields()))('query %s', async (name) => {
    const field = core.getQueryType()!.getFields()[name]!;
    const values = { id: running, gpu: 'rtx-4090', limit: 3, region: null };
    const given = Object.fromEntries(
      Object.entries(values).filter(([key]) => field.args.some((arg) => arg.name === key)),
    );
    const { text } = await expectOneAnswer(operationOn('query', field, given));
    expect(JSON.parse(text)).toEqual({ data: { [name]: expect.anything() } });
  });

  it.each([
    ['deploy', { input: { machineId: 'm-unknown', mode: 'RESERVED' } }],
    ['deploy', { input: { machineId: '', diskGb: null } }],
    ['action', { id: 'i-00000000', action: 'STOP' }],
    ['action', { id: 'nobody', action: 'DESTROY', idempotencyKey: 'k' }],
  ])('mutation %s %j, refused', async (name, values) => {
    const field = core.getMutationType()!.getFields()[name]!;
    const { text } = await expectOneAnswer(operationOn('mutation', field, values));
    expect(JSON.parse(text)).toEqual({ data: { [name]: null }, errors: [expect.anything()] });
  });

  it.each(
    GRAPHIQL_EXAMPLES.filter(({ query }) => !query.includes('createApiKey')).map(
      (example) => [example.query.split('\n')[0], example] as const,
    ),
  )('an example of GraphiQL: %s', async (_name, { query, variables }) => {
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

const AWKWARD: [string, Operation][] = [
  [
    'type names everywhere',
    {
      query:
        '{ __typename regions { __typename } pricing { __typename data { __typename pricePerGpuHour { __typename } } } t: __typename }',
    },
  ],
  [
    'fragments within fragments',
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
    'aliases that cross',
    {
      query:
        '{ name: gpuModel(slug: "l4") { slug: name name: slug } slug: gpuModel(slug: "h100-sxm") { name: tier tier: name } }',
    },
  ],
  [
    'names of objects',
    { query: '{ constructor: regions { toString: code hasOwnProperty: name } prototype: __typename }' },
  ],
  ['a name that is no alias for compiled code', { query: '{ __proto__: regions { code } }' }],
  ['choices: yes', { query: CHOICE, variables: { yes: true, no: false } }],
  ['choices: no', { query: CHOICE, variables: { yes: false, no: true } }],
  ['choices: both', { query: CHOICE, variables: { yes: true, no: true } }],
  ['choices that are missing', { query: CHOICE, variables: { yes: true } }],
  ['choices that are no booleans', { query: CHOICE, variables: { yes: 'true', no: 0 } }],
  ['choices that are null', { query: CHOICE, variables: { yes: null, no: false } }],
  [
    'a choice with a default',
    { query: 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }' },
  ],
  [
    'a choice with a default, given',
    {
      query: 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }',
      variables: { mine: true },
    },
  ],
  [
    'skip and include at once',
    {
      query:
        'query($a: Boolean!, $b: Boolean!) { regions @skip(if: $a) @include(if: $b) { code } templates @include(if: $b) @skip(if: $a) { slug } }',
      variables: { a: false, b: false },
    },
  ],
  [
    'nothing left to answer',
    { query: 'query($a: Boolean!) { regions @skip(if: $a) { code } }', variables: { a: true } },
  ],
  [
    'an object with nothing left',
    { query: 'query($a: Boolean!) { regions { code @skip(if: $a) } }', variables: { a: true } },
  ],
  ['no variables', { query: OFFERS }],
  ['variables that are null', { query: OFFERS, variables: { gpu: null, numMin: null, priceMax: null, limit: null } }],
  ['variables', { query: OFFERS, variables: { gpu: 'l4', numMin: 2, priceMax: 3, limit: 4, unknown: 5 } }],
  ['a whole number as a float', { query: OFFERS, variables: { numMin: 1.0, limit: 2 } }],
  ['no whole number', { query: OFFERS, variables: { limit: 1.5 } }],
  ['a text as a number', { query: OFFERS, variables: { limit: '3' } }],
  ['a number as a text', { query: OFFERS, variables: { gpu: 4090 } }],
  ['too large a number', { query: OFFERS, variables: { limit: 2 ** 31 } }],
  ['a list as a number', { query: OFFERS, variables: { limit: [3] } }],
  ['several that do not fit', { query: OFFERS, variables: { limit: 'a', numMin: {}, gpu: [] } }],
  ['out of bounds', { query: OFFERS, variables: { limit: 101 } }],
  ['out of other bounds', { query: OFFERS, variables: { priceMax: -1, limit: 3 } }],
  [
    'defaults',
    { query: 'query($limit: Int = 3, $gpu: String = "l4") { offers(limit: $limit, gpu: $gpu) { machineId } }' },
  ],
  [
    'defaults, null',
    {
      query: 'query($limit: Int = 3, $gpu: String = "l4") { offers(limit: $limit, gpu: $gpu) { machineId } }',
      variables: { limit: null, gpu: null },
    },
  ],
  [
    'a default of an input',
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
  ['no object as an input', { query: SEARCH, variables: { filter: 'l4' } }],
  ['an error in a field that must be', { query: SEARCH, variables: { first: 1000 } }],
  ['parts of an input', { query: PARTS, variables: { gpus: ['l4'], gpu: 'us-tx', tier: 'DATACENTER' } }],
  [
    'parts of an input, one for a list, null',
    { query: PARTS, variables: { gpus: 'l4', gpu: 'us-tx', tier: 'CONSUMER', least: null } },
  ],
  ['parts of an input that are missing', { query: PARTS, variables: { gpus: ['l4'] } }],
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
  ['dates that are none', { query: DATES, variables: { from: '2026-02-31' } }],
  ['dates that are null', { query: DATES, variables: { from: null } }],
  ['a literal that is no date', { query: '{ gpuModel(slug: "l4") { priceHistory(from: "soon") { snapshot } } }' }],
  [
    'an error in a nested field that may be null',
    { query: '{ instances { id usageIntervals(first: 1000) { edges { node { resource } } } } regions { code } }' },
  ],
  [
    'errors in several',
    {
      query:
        '{ instances { id usageIntervals(first: -1) { edges { cursor } } } a: instance(id: "x") { id } balance { balance } }',
    },
  ],
  [
    'the same error twice, under other names',
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
    'a cursor that is none',
    {
      query: 'query($after: String) { instanceHistory(first: 2, after: $after) { edges { cursor } } }',
      variables: { after: 'nowhere' },
    },
  ],
  [
    'all of an instance',
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
    'a moment that is none',
    { query: 'query($from: DateTime!) { statement(from: $from) { __typename } }', variables: { from: 'yesterday' } },
  ],
  [
    'two mutations, one after the other',
    {
      query:
        'mutation { a: deploy(input: { machineId: "m-none" }) { id } b: action(id: "i-00000000", action: START) { id } c: revokeApiKey(id: "key-none") { id } }',
    },
  ],
  [
    'an input of a mutation',
    { query: DEPLOY, variables: { input: { machineId: 'm-none', template: null, diskGb: 70 } } },
  ],
  ['an input without what it needs', { query: DEPLOY, variables: { input: { diskGb: 70 } } }],
  ['no input', { query: DEPLOY, variables: {} }],
  ['parts of a mutation', { query: DEPLOY_PARTS, variables: { id: 'm-none' } }],
  ['parts of a mutation, null', { query: DEPLOY_PARTS, variables: { id: 'm-none', disk: null, mode: null } }],
  ['parts of a mutation, wrong', { query: DEPLOY_PARTS, variables: { id: 'm-none', disk: 0, mode: 'INTERRUPTIBLE' } }],
  [
    'lines that end in CR LF',
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
    'letters beyond ASCII before an error',
    {
      query:
        '{ gpuModel(slug: "\u{1f600} \u00e9\u4e16") { name } instances { usageIntervals(first: 1000) { edges { cursor } } } }',
    },
  ],
  ['a text in block quotes', { query: '{ gpuModel(slug: """\n  l4\n""") { name } }' }],
  ['introspection', { query: getIntrospectionQuery() }],
  [
    'introspection by variable',
    {
      query: 'query($name: String!) { __type(name: $name) { name fields { name type { name ofType { name } } } } }',
      variables: { name: 'Offer' },
    },
  ],
  ['introspection of what is not', { query: '{ __type(name: "Nothing") { name } __schema { queryType { name } } }' }],
  ['a named operation', { query: 'query A { regions { code } } query B { templates { slug } }', operationName: 'B' }],
  [
    'another named operation',
    { query: 'query A { regions { code } } query B { templates { slug } }', operationName: 'A' },
  ],
  ['no name of several', { query: 'query A { regions { code } } query B { templates { slug } }' }],
  ['a name that is not there', { query: 'query A { regions { code } }', operationName: 'B' }],
  ['an empty name', { query: 'query A { regions { code } }', operationName: '' }],
  [
    'null for a name and for variables',
    { query: 'query A { regions { code } }', operationName: null, variables: null },
  ],
  ['a name that is no text', { query: 'query A { regions { code } }', operationName: 5 }],
  ['variables in a text', { query: OFFERS, variables: '{"limit":3}' }],
  ['variables in a list', { query: OFFERS, variables: [3] }],
  ['a subscription', { query: 'subscription { regions { code } }' }],
  ['an empty document', { query: '' }],
  ['a fragment alone', { query: 'fragment A on Query { regions { code } }' }],
  ['no syntax', { query: '{ regions { code ' }],
  ['unknown fields', { query: '{ regions { nothing } nowhere }' }],
  ['unused and undefined variables', { query: 'query($a: Int) { offers(limit: $b) { machineId } }' }],
];

describe('interpreted, compiled, kept and the longer way give one answer', () => {
  it.each(AWKWARD)('%s', async (_name, operation) => {
    await expectOneAnswer(operation);
  });

  it('null for a choice with a default is refused', async () => {
    const query = 'query($mine: Boolean = false) { regions { code } balance @include(if: $mine) { balance } }';
    for (const who of [renter, null]) {
      const body = JSON.stringify(anew({ query, variables: { mine: null } }));
      const ways = [...Array.from({ length: TIMES }, () => post), postInChunks];
      for (const way of ways) {
        const { data, errors } = JSON.parse((await way(body, who)).text);
        // Whether it is refused before or while it runs depends on who asks and how.
        expect([data ?? null, errors.length]).toEqual([null, 1]);
        expect(errors[0].message).toBe('Argument "if" of non-null type "Boolean!" must not be null.');
      }
    }
  });

  it('members of a request that a server need not know are ignored', async () => {
    const operation = { query: OFFERS, variables: { limit: 3 } };
    const plain = told(await post(JSON.stringify(operation), renter));
    expect(JSON.parse(plain.text).errors).toBeUndefined();
    const more = { operationType: 'query', doc_id: 'x', id: 5 };
    expect(told(await post(JSON.stringify({ ...operation, ...more }), renter))).toEqual(plain);
  });

  it('a name that is there and one that is not, by turns', async () => {
    const { query } = anew({ query: 'query A { regions { code } } query B { templates { slug } }' });
    const answers = new Map<string, unknown>();
    for (let time = 0; time < TIMES; time += 1) {
      for (const operationName of ['A', 'C', 'B', undefined]) {
        const answer = told(await post(JSON.stringify({ query, operationName }), renter));
        const known = answers.get(String(operationName));
        if (known !== undefined) expect(answer).toEqual(known);
        answers.set(String(operationName), answer);
      }
    }
    expect(new Set([...answers.values()].map((answer) => JSON.stringify(answer))).size).toBe(3);
  });

  it('variables that fit and others that do not, by turns', async () => {
    const { query } = anew({ query: OFFERS });
    const given = [{ limit: 1 }, { limit: 'x' }, { limit: 2, gpu: null }, {}, { limit: 101 }, { gpu: 'l4' }];
    const answers: unknown[] = [];
    for (let time = 0; time < TIMES; time += 1) {
      for (const [index, variables] of given.entries()) {
        const answer = told(await post(JSON.stringify({ query, variables }), renter));
        answers[index] ??= answer;
        expect(answer).toEqual(answers[index]);
      }
    }
  });

  it('what changes meanwhile shows in a compiled answer', async () => {
    const body = JSON.stringify(
      anew({
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

describe('a body that is no operation is refused the same way, whichever way it comes', () => {
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
      for (const who of [renter, null]) {
        const whole = told(await post(body, who, accept));
        expect(told(await post(body, who, accept))).toEqual(whole);
        if (body !== '') expect(told(await postInChunks(body, who, accept))).toEqual(whole);
      }
    }
  });
});
