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
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { type Answer, client, type Renter } from '../../support/gateway.js';
import { dereferenced, type Operation, operationsOf } from '../../support/openapi.js';
import { type Service, startService } from '../../support/service.js';

/** Requests of one run are sent at once. */
const AT_ONCE = 25;
const RUNS_PER_ROUTE = 14;
const RUNS_PER_FIELD = 8;
const RUNS_OF_DOCUMENTS = 30;
const TIMEOUT_MS = 300_000;

let service: Service;
let renter: Renter;
let schema: GraphQLSchema;
/** Ids of what there is, so that not every request is refused at the first look. */
let known: { machines: string[]; instances: string[]; cursors: string[] };
let sent = 0;

beforeAll(async () => {
  service = await startService();
  // Answers are held against the document here, where the request is known.
  const { accountId } = await service.renter('100000');
  renter = client(service.address, (await createApiKey(service.deps, accountId)).secret, accountId);
  const { body } = await renter.graphql(getIntrospectionQuery());
  schema = buildClientSchema(body.data);
  const machines = await Promise.all(Array.from({ length: 150 }, () => service.machine()));
  const instances: string[] = [];
  for (const machine_id of machines.splice(0, 10)) {
    instances.push((await renter.rest('POST', '/instances', { machine_id })).body.id);
  }
  const page = await renter.graphql('{ instanceHistory(first: 3) { edges { cursor } } }');
  const cursors = page.body.data.instanceHistory.edges.map(({ cursor }: { cursor: string }) => cursor);
  known = { machines, instances, cursors };
});
afterAll(() => service.close());

/** What the account has. The clock stands still: only requests change it. */
async function holdings(): Promise<{ instances: number; state: string }> {
  const [row] = await service.sql(
    `select (select count(*)::int from instance where account_id = $1) as instances,
       (select string_agg(id || status::text, ',' order by id) from instance where account_id = $1) as statuses,
       (select count(*)::int from ledger_entry where account_id = $1) as entries,
       (select count(*)::int from idempotency_key where account_id = $1) as kept,
       (select count(*)::int from api_key where account_id = $1) as keys,
       (select credit_units::text || ' ' || spend_units::text from account where id = $1) as money`,
    [renter.accountId],
  );
  return { instances: row!.instances as number, state: JSON.stringify(row) };
}

interface Check<Case> {
  send(one: Case): Promise<Answer>;
  /** Throws on an answer that must not be. */
  judge(answer: Answer, one: Case): void;
  /** Whether it deployed. */
  deployed(answer: Answer): boolean;
  /** Whether it may have changed anything at all. */
  changed(answer: Answer, one: Case): boolean;
}

/**
 * Sends all of a run at once. There are as many instances more as deploys were told of, and requests that were all
 * refused changed nothing. A failure names the request.
 */
async function sendAll<Case>(cases: Case[], { send, judge, deployed, changed }: Check<Case>): Promise<void> {
  const before = await holdings();
  const answers = await Promise.all(
    cases.map(async (one) => {
      const answer = await send(one);
      try {
        judge(answer, one);
      } catch (error) {
        const told = `${answer.status} ${JSON.stringify(answer.body)}`;
        throw new Error(`${shorten((error as Error).message)}\n${shorten(JSON.stringify(one))}\n${shorten(told)}`);
      }
      return answer;
    }),
  );
  sent += answers.length;
  const after = await holdings();
  expect(after.instances - before.instances).toBe(answers.filter(deployed).length);
  if (!answers.some((answer, index) => changed(answer, cases[index]!))) expect(after.state).toBe(before.state);
}

/** Tells the seed and the fault, not every value of the run. */
function fuzz<Case>(cases: fc.Arbitrary<Case>, numRuns: number, check: Check<Case>): Promise<void> {
  const run = fc.array(cases, { minLength: AT_ONCE, maxLength: AT_ONCE });
  return fc.assert(
    fc.asyncProperty(run, (all) => sendAll(all, check)),
    {
      numRuns,
      endOnFailure: true,
      asyncReporter: async ({ failed, seed, errorInstance }) => {
        if (failed) throw new Error(`seed ${seed}: ${(errorInstance as Error).message}`);
      },
    },
  );
}

function shorten(text: string): string {
  const short = text.replace(/x{50,}/g, 'x…x');
  return short.length < 600 ? short : `${short.slice(0, 600)}…`;
}

const oddTexts = [
  '',
  ' ',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '__proto__',
  'constructor',
  'toString',
  "'; drop table instance; --",
  '%00',
  '%s%n',
  '{{7*7}}',
  '../../etc/passwd',
  'x'.repeat(300),
  'x'.repeat(20_000),
  'null',
  'true',
  '1e3',
  '0x10',
  '-0',
  '١',
  'i-00000000',
  'i-ffffffff',
  'I-00000000',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-11-20T12:00:60Z',
  '2026-11-20T12:00:00+99:99',
  '2026-11-20',
  'MTIz',
  Buffer.from('{"__proto__":1}').toString('base64'),
  Buffer.from('DC:D:99999999999999').toString('base64'),
  Buffer.from('OC:99999999999999999999').toString('base64'),
];
const oddNumbers = [
  0,
  -0,
  -1,
  1,
  8,
  9,
  25,
  50,
  100,
  101,
  0.1,
  1.5,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  2 ** 53,
  1e21,
  1e308,
  -1e308,
  5e-324,
];

/** Members of a deploy that the contract does not have, as they may well be given. */
const LIKELY: Readonly<Record<string, unknown>> = {
  name: 'train-1',
  env: { MODEL: 'a b' },
  secrets: [],
  entrypoint: ['/bin/sh'],
  command: ['-c', 'true'],
  ports: [{ port: 8888, name: 'JupyterLab' }],
  tcp_ports: [],
  registry_login: null,
  restart: 'never',
  on_exit: 'keep',
  stop_at: '8h',
  destroy_at: null,
  spend_limit: null,
  // No machine here has an agent that could see it.
  stop_when_idle: null,
  volumes: [],
  size_gb: 10,
};

const oddText = () => fc.oneof(fc.constantFrom(...oddTexts), fc.string({ unit: 'binary' }), fc.string());
const ids = () =>
  fc.constantFrom(...known.machines, ...known.instances, ...known.cursors, 'pytorch', 'od', 'res', 'stop', 'start');
/** Anything that JSON can say, with a leaning to what might pass. */
const anyJson = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 4, arbitrary: ids() },
    { weight: 3, arbitrary: oddText() },
    { weight: 3, arbitrary: fc.constantFrom(...oddNumbers) },
    { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
    { weight: 1, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], { __proto__: null, length: 1 }) },
  );

describe('REST', () => {
  interface Request {
    path: string;
    body: unknown;
    headers: Record<string, string>;
  }

  /** What may well pass, two times of three, else anything. */
  function bodyValue(name: string, property: Record<string, unknown>): fc.Arbitrary<unknown> {
    return fc.oneof({ weight: 2, arbitrary: likelyValue(name, property) }, { weight: 1, arbitrary: anyJson() });
  }

  function likelyValue(name: string, property: Record<string, unknown>): fc.Arbitrary<unknown> {
    if (name in LIKELY) return fc.constantFrom(null, LIKELY[name]);
    const given = property.anyOf === undefined ? property : (property.anyOf as Record<string, unknown>[])[0]!;
    const choices = given.enum ?? (given.default === undefined ? known.machines : [given.default]);
    return fc.constantFrom(...(choices as unknown[]));
  }

  function pathOf(path: string): fc.Arbitrary<string> {
    const id = fc
      .oneof(fc.constantFrom(...known.instances), oddText())
      .map(encode)
      .filter((text) => isShort(text) && isSegment(text));
    return id.map((text) => path.replace('{id}', text));
  }

  function queryOf(operation: Operation): fc.Arbitrary<string> {
    const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query');
    const names = fc.constantFrom(...parameters.map(({ name }) => name), 'unknown', '__proto__', 'limit[]');
    const pair = fc.tuple(
      names,
      fc
        .oneof(fc.constantFrom(...oddNumbers).map(String), oddText())
        .map(encode)
        .filter(isShort),
    );
    // What a route does not know is refused: of a route that knows none, few requests have any.
    const pairs =
      parameters.length > 0
        ? fc.array(pair, { maxLength: 4 })
        : fc.oneof(
            { weight: 9, arbitrary: fc.constant([]) },
            { weight: 1, arbitrary: fc.array(pair, { maxLength: 4 }) },
          );
    return pairs.map((all) => (all.length === 0 ? '' : `?${all.map(([name, value]) => `${name}=${value}`).join('&')}`));
  }

  function bodyOf(operation: Operation): fc.Arbitrary<unknown> {
    const body = operation.requestBody?.content['application/json']?.schema;
    if (body === undefined) return fc.constant(undefined);
    const properties = Object.entries(body.properties as Record<string, Record<string, unknown>>);
    const fields = Object.fromEntries(properties.map(([name, property]) => [name, bodyValue(name, property)]));
    const likely = Object.fromEntries(properties.map(([name, property]) => [name, likelyValue(name, property)]));
    return fc.oneof(
      { weight: 4, arbitrary: fc.record(likely) },
      { weight: 8, arbitrary: fc.record(fields, { requiredKeys: [] }) },
      { weight: 4, arbitrary: fc.record(fields) },
      { weight: 1, arbitrary: anyJson().map((value) => JSON.stringify(value)) },
      { weight: 1, arbitrary: oddText() },
    );
  }

  const headersOf = (): fc.Arbitrary<Record<string, string>> => {
    const keys = fc.oneof(fc.constantFrom('a', 'b', 'c', ' ', 'a b', 'x'.repeat(255), 'x'.repeat(256), 'é'), fc.uuid());
    return fc.oneof(
      { weight: 2, arbitrary: fc.constant({}) },
      { weight: 2, arbitrary: keys.map((key) => ({ 'idempotency-key': key })) },
      {
        weight: 1,
        arbitrary: fc.constantFrom('text/plain', 'a/b; charset=x', '').map((type) => ({ 'content-type': type })),
      },
    );
  };

  it('answers whatever is sent to any route as its document says', { timeout: TIMEOUT_MS }, async () => {
    const operations = operationsOf(dereferenced(service.api.document));
    expect(operations).toHaveLength(19);
    // What destroys comes last, so that there is something to act on.
    operations.sort((one, other) => Number(one.method === 'delete') - Number(other.method === 'delete'));
    for (const { path, method, operation } of operations) await fuzzRoute(path, method.toUpperCase(), operation);
    for (const wanted of ['deployInstance 201', 'deployInstance 409', 'deployInstance 422', 'actOnInstance 200']) {
      expect(service.api.seen).toContain(wanted);
    }
  });

  function fuzzRoute(path: string, method: string, operation: Operation): Promise<void> {
    const request: fc.Arbitrary<Request> = fc
      .tuple(pathOf(path), queryOf(operation), bodyOf(operation), headersOf())
      .map(([address, query, body, headers]) => ({ path: address + query, body, headers }));
    const isDeploy = operation.operationId === 'deployInstance';
    return fuzz(request, RUNS_PER_ROUTE, {
      send: ({ path: address, body, headers }) => renter.rest(method, address, body, headers),
      judge: (answer, { path: address }) => {
        // The document knows of these, but they are not for a caller to bring about.
        expect(answer.status).toBeLessThan(500);
        service.api.check(method, address, answer);
      },
      deployed: ({ status, headers }) => isDeploy && status === 201 && !headers.has('idempotent-replayed'),
      changed: ({ status }) => method !== 'GET' && status < 300,
    });
  }
});

describe('GraphQL', () => {
  interface Case {
    query: string;
    variables: Record<string, unknown>;
  }

  it('answers whatever is given to any argument, as a variable or in the document', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const fields = [schema.getQueryType()!, schema.getMutationType()!].flatMap((root) =>
      Object.values(root.getFields()).map((field) => ({
        operation: root === schema.getQueryType() ? 'query' : 'mutation',
        field,
      })),
    );
    expect(fields.length).toBeGreaterThan(12);
    for (const { operation, field } of fields) {
      // Each makes a key, of which an account may hold 50.
      if (field.name === 'createApiKey' || (field.args.length === 0 && operation === 'query')) continue;
      await fuzz(caseOf(operation, field), RUNS_PER_FIELD, CHECK);
    }
    const history = schema.getQueryType()!.getFields().instanceHistory!;
    const intervals = (
      schema.getType('Instance') as never as { getFields(): Record<string, GraphQLField<unknown, unknown>> }
    ).getFields().usageIntervals!;
    await fuzz(nestedCase(history, intervals), RUNS_PER_FIELD, CHECK);
  });

  it('answers documents that were damaged on the way', { timeout: TIMEOUT_MS }, async () => {
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
        fc.string({ unit: 'binary' }),
      ),
    });
    const damaged = fc
      .tuple(fc.constantFrom(...whole), fc.array(damage, { minLength: 1, maxLength: 4 }))
      .map(([query, all]) => ({
        query: all.reduce(
          (text, { at, cut, put }) => text.slice(0, at % text.length) + put + text.slice((at % text.length) + cut),
          query,
        ),
        variables: { id: known.instances[0], input: { machineId: 'm-unknown' } },
      }));
    await fuzz(damaged, RUNS_OF_DOCUMENTS, CHECK);
  });

  /** Names of the root fields that have a result. */
  const done = ({ data }: Answer['body']): string[] =>
    Object.entries(data ?? {}).flatMap(([name, result]) => (result === null ? [] : [name]));

  const CHECK: Check<Case> = {
    send: ({ query, variables }) => renter.graphql(query, variables),
    judge: ({ status, body }) => {
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

  function nestedCase(
    outer: GraphQLField<unknown, unknown>,
    inner: GraphQLField<unknown, unknown>,
  ): fc.Arbitrary<Case> {
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
      return fc.oneof({ weight: 6, arbitrary: whole }, { weight: 1, arbitrary: anyJson() });
    }
    const fitting: Record<string, fc.Arbitrary<unknown>> = {
      ID: ids(),
      String: fc.oneof(ids(), oddText()),
      Int: fc.constantFrom(1, 2, 3, 10, 50, 100),
      Float: fc.constantFrom(0, 0.5, 10, 1_000),
      Boolean: fc.boolean(),
      DateTime: fc.constantFrom('2026-11-01T00:00:00Z', '2026-11-20T00:00:00+02:00', '0001-01-01T00:00:00Z'),
      PricingMode: fc.constantFrom('ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'),
      InstanceActionKind: fc.constantFrom('START', 'STOP'),
    };
    return fc.oneof({ weight: 3, arbitrary: fitting[named.name] ?? ids() }, { weight: 2, arbitrary: anyJson() });
  }

  /** All leaves, and what lies a level or two below. */
  function selectionOf(type: GraphQLOutputType, depth: number): string {
    const named = getNamedType(type);
    if (!isObjectType(named)) return '';
    const fields = Object.values(named.getFields()).filter(({ args }) => args.length === 0);
    const chosen = fields
      .filter((field) => isLeafType(getNamedType(field.type)) || depth > 1)
      .map((field) => `${field.name} ${selectionOf(field.type, depth - 1)}`);
    return `{ __typename ${chosen.join(' ')} }`;
  }

  /** JSON as GraphQL spells it; enum values among it stay texts, which is one more thing to refuse. */
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
});

it('were thousands of requests', () => {
  console.info(`${sent} requests`);
  expect(sent).toBeGreaterThan(5_000);
});

const LONE_SURROGATE = /\p{Surrogate}/u;

function encode(text: string): string {
  return LONE_SURROGATE.test(text) ? '%ED%A0%80' : encodeURIComponent(text);
}

/** Those that a URL does not take as a way up or down. */
function isSegment(text: string): boolean {
  return text !== '' && !/^(\.|%2e){1,2}$/i.test(text);
}

/** An address above 16 kB is refused before there is a route. */
function isShort(text: string): boolean {
  return text.length < 1_500;
}
