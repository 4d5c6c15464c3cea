import fc from 'fast-check';
import { parse } from 'graphql';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CachedLists, CachedTexts } from '../../../src/http/graphql/cached-lists.js';
import { CompiledOperations } from '../../../src/http/graphql/use-compiled.js';
import { buildSchema } from '../../../src/schema/index.js';
import type { Renter } from '../../support/gateway.js';
import { type RawAnswer, sendRaw } from '../../support/http.js';
import { isLong } from '../../support/long.js';
import { type Service, startService } from '../../support/service.js';

/** Number of times Yoga executes a document before it is compiled. Compiled queries are then executed without Yoga. */
const LEARNED = 3;
const RUNS = isLong ? 25 : 9;

let service: Service;
let limited: Service;
let renter: Renter;
let machines: string[];

beforeAll(async () => {
  service = await startService();
  limited = await startService({ databaseUrl: service.databaseUrl, rateLimitPerMinute: 20, introspection: false });
  renter = await service.renter('100000');
  machines = [];
  for (let index = 0; index < 16; index += 1) {
    const [gpu, region] = [['l4', 't4'][index % 2]!, ['us-tx', 'us-mo', 'us-ca'][index % 3]!];
    machines.push(await service.machine({ gpu, region, numGpus: 1 + (index % 4), reliability: 0.9 + index / 1_000 }));
  }
});
afterAll(async () => {
  await limited?.close();
  await service?.close();
});
afterEach(() => void vi.restoreAllMocks());

interface TestRequest {
  query: string;
  variables?: object;
  who?: Renter | null;
  accept?: string;
  of?: Service;
}

function post({
  query,
  variables,
  who = null,
  accept = 'application/json',
  of = service,
}: TestRequest): Promise<RawAnswer> {
  const authorization: Record<string, string> = who === null ? {} : { authorization: `Bearer ${who.key}` };
  const headers = { 'content-type': 'application/json', accept, ...authorization };
  return sendRaw(of.address, '/graphql', { body: JSON.stringify({ query, variables }), headers });
}

let texts = 0;

/** Sends a document that is new to the gateway, so that Yoga and the interpreter execute it. */
function postNew(request: TestRequest): Promise<RawAnswer> {
  texts += 1;
  return post({ ...request, query: `${request.query}\n# ${texts}` });
}

/** Sends a request until it is compiled. */
async function learn(request: TestRequest): Promise<void> {
  for (let time = 0; time < LEARNED; time += 1) await post(request);
}

const CHANGING = ['date', 'x-request-id', 'ratelimit-remaining', 'ratelimit-reset'];

function comparable({ status, headers, text }: RawAnswer) {
  const kept = Object.entries(headers).filter(([name]) => !CHANGING.includes(name));
  return { status, headers: Object.fromEntries(kept), text };
}

/** Returns how many operations were executed with and without Yoga since the last call. */
function countExecutions() {
  const find = vi.spyOn(CompiledOperations.prototype, 'findQuery');
  return () => {
    const direct = find.mock.results.filter(({ value }) => value !== null).length;
    const others = find.mock.results.length - direct;
    find.mockClear();
    return { direct, others };
  };
}

const LEAVES =
  'machineId gpu numGpus region cpu vcpus ramGb diskGb ports pcie nvlink cudaMax reliability preemptible demo hasAgent __typename'.split(
    ' ',
  );
const MODES = ['onDemand', 'interruptible', 'reserved', '__typename'];
const NETS = ['down', 'up', '__typename'];
const rarely = (...names: string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(...names) });
const alias = rarely('a: ', 'gpu: ', 'machineId: ', 'netMbps: ', 'constructor: ');
/**
 * Goes at the end and has unique names, since compiled code places a conditional name differently if it also occurs
 * unconditionally.
 */
const choice = rarely(
  'c: cpu @include(if: $yes)',
  '... @skip(if: $yes) { c: region }',
  'e: netMbps { down @include(if: $yes) up }',
);

const some = (names: readonly string[]) =>
  fc
    .array(fc.tuple(alias, fc.constantFrom(...names)), { minLength: 1, maxLength: 4 })
    .map((all) => all.map((parts) => parts.join(' ')).join(' '));
const part = fc.oneof(
  { weight: 8, arbitrary: some(LEAVES) },
  { weight: 4, arbitrary: some(MODES).map((below) => `pricePerHour { ${below} }`) },
  { weight: 4, arbitrary: some(NETS).map((below) => `n: netMbps { ${below} }`) },
  { weight: 2, arbitrary: some(LEAVES).map((below) => `... on Offer { ${below} }`) },
  { weight: 2, arbitrary: fc.constant('...Rest') },
  { weight: 1, arbitrary: fc.constant('gpuModel { name } regionInfo { name }') },
);
const query = fc
  .tuple(alias, fc.array(part, { minLength: 1, maxLength: 4 }), some(LEAVES), rarely('b'), choice)
  .map(([name, parts, rest, second, chosen]) => {
    const [selection, args] = [
      `${parts.join(' ')} ${chosen}`,
      'gpu: $gpu, region: $region, numMin: $numMin, priceMax: $priceMax, limit: $limit',
    ];
    const twice = second && ` b: offers(limit: 2) { ${selection} }`;
    const fragment = selection.includes('...Rest') ? ` fragment Rest on Offer { ${rest} }` : '';
    const choice = `${selection}${fragment}`.includes('$yes') ? ', $yes: Boolean!' : '';
    return `query Find($gpu: String, $region: String, $numMin: Int, $priceMax: Float, $limit: Int${choice}) { ${name}offers(${args}) { ${selection} }${twice} }${fragment}`;
  });
const variables = fc.record(
  {
    gpu: fc.constantFrom('l4', 't4', 'h100-sxm', 'none', null, 7),
    region: fc.constantFrom('us-tx', 'us-mo', 'nowhere', null),
    numMin: fc.constantFrom(1, 2, 4, 9),
    priceMax: fc.constantFrom(0.3, 0.5, 1, 2, 5, -1, null),
    limit: fc.constantFrom(1, 3, 25, 100, 101, 1.5),
    yes: fc.constantFrom(true, true, true, false),
  },
  { requiredKeys: ['yes'] },
);
const change = fc.tuple(
  fc.constantFrom('rent', 'destroy', 'prices', 'disk', 'move', 'drain', 'list', 'nothing'),
  fc.nat(15),
);

let days = 0;
const rented: string[] = [];

/** Makes a change that is visible in offers. */
async function apply([kind, place]: [string, number]): Promise<void> {
  const machine = machines[place]!;
  const set = (columns: string) => service.sql(`update machine set ${columns} where id = $1`, [machine]);
  if (kind === 'rent') {
    const { body } = await renter.rest('POST', '/instances', {
      machine_id: machine,
      type: place % 2 ? 'od' : 'interruptible',
    });
    if (body.id !== undefined) rented.push(body.id);
  } else if (kind === 'destroy' && rented.length > 0) await renter.rest('DELETE', `/instances/${rented.shift()}`);
  else if (kind === 'prices') {
    days += 1;
    const date = new Date(Date.UTC(2026, 10, 21) + days * 86_400_000).toISOString().slice(0, 10);
    await service.publish(date, { l4: 0.2 + place / 10, t4: 0.5 - place / 100 });
  } else if (kind === 'disk') await set(`disk_gb = ${100 + place}`);
  else if (kind === 'move') await set(`region = case region when 'us-tx' then 'us-mo' else 'us-tx' end`);
  else if (kind === 'drain') await set(`state = 'DRAINED'`);
  else if (kind === 'list') await set(`state = 'LISTED'`);
}

describe('an offer list', () => {
  it('is byte-for-byte identical from the cache and from Yoga while offers change', async () => {
    const prepare = vi.spyOn(CachedLists.prototype, 'prepare');
    const executions = countExecutions();
    const seen = { direct: 0, offers: 0 };
    const step = fc.tuple(change, variables, fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.tuple(query, query), fc.array(step, { minLength: 2, maxLength: 4 }), async (pair, steps) => {
        for (const text of pair) await learn({ query: text, variables: { yes: true }, who: renter });
        executions();
        for (const [changed, values, isKnown] of steps) {
          await apply(changed);
          // Two selections of the same offers are sent, twice each.
          for (const text of [...pair, ...pair]) {
            const request = { query: text, variables: values, who: isKnown ? renter : null };
            const [quick, slow] = [await post(request), await postNew(request)];
            expect(comparable(quick)).toEqual(comparable(slow));
            seen.offers += quick.text.length > 40 ? 1 : 0;
          }
        }
        seen.direct += executions().direct;
      }),
      { numRuns: RUNS, seed: 7 },
    );
    // Otherwise the test would compare Yoga with Yoga.
    expect(seen.direct).toBeGreaterThan(RUNS * 2);
    expect(seen.offers).toBeGreaterThan(RUNS);
    const kept = prepare.mock.results.filter(({ value }) => value !== null).length;
    expect([kept > 5, prepare.mock.results.length > kept]).toEqual([true, true]);
  }, 240_000);

  it('is cached up to a limit and still served beyond it', async () => {
    const schema = buildSchema();
    const document = parse('query($limit: Int) { offers(limit: $limit) { machineId gpu pricePerHour { onDemand } } }');
    const [operation] = document.definitions as [Parameters<CachedLists['prepare']>[1]];
    const { deps } = service;
    const limit = { limit: 100 };
    const args = { schema, document, variableValues: limit, coerced: limit, contextValue: { deps } };
    const textOf = async (lists: CachedLists) =>
      ((await lists.prepare(document, operation)!(args)) as { text: string }).text;
    const whole = await textOf(new CachedLists(schema));
    expect(JSON.parse(whole).data.offers.length).toBeGreaterThan(20);
    for (const most of [0, 100, 1_000]) {
      const lists = new CachedLists(schema, most);
      for (let time = 0; time < 3; time += 1) expect(await textOf(lists)).toBe(whole);
    }
    const texts = new CachedTexts(100);
    const entries = Array.from({ length: 7 }, () => ({}));
    const [one, other] = [{}, {}];
    for (const entry of entries) {
      texts.keep(entry, one, 'o'.repeat(20));
      texts.keep(entry, other, 'p'.repeat(10));
      expect([texts.get(entry, one), texts.get(entry, other)]).toContain('p'.repeat(10));
      const kept = entries.flatMap((each) => [texts.get(each, one) ?? '', texts.get(each, other) ?? '']);
      expect(kept.join('').length).toBeLessThanOrEqual(100);
    }
  });

  it.each([
    ['a relation', '{ offers { machineId gpuModel { name } } }'],
    ['a conditional field', 'query($yes: Boolean!) { offers { machineId gpu @include(if: $yes) } }'],
    [
      'a conditional field of a fragment',
      'query($yes: Boolean!) { offers { ...A } } fragment A on Offer { ... @skip(if: $yes) { gpu } machineId }',
    ],
    ['two fields', '{ offers { machineId } regions { code } }'],
    ['an additional type name', '{ __typename offers { machineId } }'],
    ['a conditional list', 'query($yes: Boolean!) { offers @include(if: $yes) { machineId } }'],
    ['a list of an account', '{ instances { id } }'],
    ['models', '{ gpuModels { name } }'],
    ['introspection', '{ __schema { types { name } } }'],
  ])('is not cached if the query has %s', (_name, text) => {
    const document = parse(text);
    const operation = document.definitions.find((node) => 'operation' in node)!;
    expect(new CachedLists(buildSchema()).prepare(document, operation as never)).toBeNull();
  });
});

describe('execution without Yoga', () => {
  const BALANCE = '{ a: balance { currency balance } b: balance { currency } }';

  it('is used only for repeated queries', async () => {
    const executions = countExecutions();
    const all: [string, TestRequest, number][] = [
      ['a query', { query: '{ regions { code } }', who: renter }, 1],
      ['a mutation', { query: 'mutation { action(id: "i-00000000", action: STOP) { id } }', who: renter }, 0],
      ['events', { query: '{ regions { name } }', who: renter, accept: 'text/event-stream' }, 0],
      [
        'a variable that has a default and may be null',
        { query: 'query($limit: Int = 2) { offers(limit: $limit) { gpu } }', who: renter },
        0,
      ],
      ['no document', { query: '{ regions {', who: renter }, 0],
      ['an invalid document', { query: '{ regions { codes } }', who: renter }, 0],
      [
        'a document that is too deep',
        { query: `{ __schema { types { ${'ofType { '.repeat(20)}name${' }'.repeat(20)} } } }`, who: renter },
        0,
      ],
    ];
    for (const [name, request, direct] of all) {
      await learn(request);
      executions();
      expect(comparable(await post(request))).toEqual(comparable(await post(request)));
      expect([name, executions().direct]).toEqual([name, 2 * direct]);
    }
    // Parameters that Yoga rejects.
    await learn({ query: '{ regions { code } }', who: renter });
    for (const others of [
      { variables: [] },
      { variables: 'x' },
      { extensions: [] },
      { operationName: 7 },
      { operationName: '' },
    ]) {
      const send = (query: string) =>
        sendRaw(service.address, '/graphql', {
          body: JSON.stringify({ query, ...others }),
          headers: { 'content-type': 'application/json' },
        });
      texts += 1;
      expect(comparable(await send('{ regions { code } }'))).toEqual(
        comparable(await send(`{ regions { code } } # ${texts}`)),
      );
    }
  });

  it('is counted and refused by the rate limit just as with Yoga', async () => {
    const who = await service.renter();
    const executions = countExecutions();
    const request = { query: BALANCE, who, of: limited };
    for (let sent = 1; sent <= 10; sent += 1) {
      const { status, headers } = await post(request);
      expect([status, headers['ratelimit-limit'], headers['ratelimit-remaining']]).toEqual([
        200,
        '20',
        String(20 - 2 * sent),
      ]);
    }
    expect(executions()).toEqual({ direct: 10 - LEARNED, others: LEARNED });
    // The responses are equal except for the seconds to wait, which pass.
    const withoutNumbers = (answer: RawAnswer) => JSON.stringify(comparable(answer)).replace(/\d+/g, 'n');
    const refused = await post(request);
    expect([refused.status, withoutNumbers(refused)]).toEqual([429, withoutNumbers(await postNew(request))]);
    expect(executions()).toEqual({ direct: 1, others: 1 });
    // Public queries are neither counted nor refused.
    const free = { query: '{ offers { gpu } }', who, of: limited };
    await learn(free);
    expect((await post(free)).status).toBe(200);
  });

  it('refuses requests with a revoked key or without a key', async () => {
    const who = await service.renter();
    const request = { query: BALANCE, who };
    await learn(request);
    expect((await post(request)).status).toBe(200);
    await service.sql(`update api_key set revoked_at = now() where account_id = $1`, [who.accountId]);
    for (const caller of [who, null]) {
      const answer = await post({ ...request, who: caller });
      expect([answer.status, comparable(answer)]).toEqual([
        401,
        comparable(await postNew({ ...request, who: caller })),
      ]);
    }
  });

  it('never returns one account’s response to another', async () => {
    const others = [await service.renter('11'), await service.renter('22')];
    const query = 'query($n: Int) { balance { balance } offers(limit: $n) { machineId } }';
    await learn({ query, who: others[0]! });
    for (const [index, expected] of [11, 22, 11].entries()) {
      const { text } = await post({ query, variables: { n: 1 }, who: others[index % 2]! });
      expect(JSON.parse(text).data.balance.balance).toBe(expected);
    }
  });

  it('limits the response size as Yoga does', async () => {
    const query =
      'query($n: Int!) { instanceHistory(first: $n) { edges { node { usageIntervals(first: $n) { edges { cursor node { resource startedAt endedAt ratePerHour } } } } } } }';
    const small = { query, who: renter };
    await learn({ ...small, variables: { n: 1 } });
    for (const n of [1, 100]) {
      const request = { ...small, variables: { n } };
      const answer = await post(request);
      expect([n, answer.text.includes('50000 values')]).toEqual([n, n === 100]);
      expect(comparable(answer)).toEqual(comparable(await postNew(request)));
    }
  });

  it('suggests no names if introspection is disabled', async () => {
    const request = { query: 'query($sort: OfferSort) { offerSearch(sort: $sort) { totalCount } }', of: limited };
    await learn(request);
    const wrong = { ...request, variables: { sort: 'PRICES' } };
    const answer = await post(wrong);
    expect(answer.text).not.toContain('Did you mean');
    expect(comparable(answer)).toEqual(comparable(await postNew(wrong)));
  });
});
