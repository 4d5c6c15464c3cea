import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { buildClientSchema, buildSchema, type GraphQLError, getIntrospectionQuery, printSchema } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GRAPHIQL_EXAMPLES } from '../../../src/http/graphiql/examples.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const FULL_INTROSPECTION = getIntrospectionQuery({
  schemaDescription: true,
  specifiedByUrl: true,
  directiveIsRepeatable: true,
  inputValueDeprecation: true,
  oneOf: true,
});

let service: Service;
let renter: Renter;

beforeAll(async () => {
  service = await startService();
  renter = await service.renter();
});
afterAll(() => service.close());

function many(count: number, make: (index: number) => string): string {
  return Array.from({ length: count }, (_, index) => make(index)).join(' ');
}

function expectRefused(answer: Answer, message: string | RegExp): void {
  expect(answer.body.data).toBeUndefined();
  expect(answer.body.errors).toHaveLength(1);
  expect(answer.body.errors[0].message).toMatch(message);
}

function expectAdmitted(answer: Answer): void {
  expect([answer.status, answer.body.errors]).toEqual([200, undefined]);
}

describe('a GraphQL request within the limits', () => {
  const examples = GRAPHIQL_EXAMPLES.filter(({ query }) => !query.includes('\nsubscription '));
  it.each(examples.map(({ query, variables }) => [query.split('\n')[0], query, variables] as const))(
    'is admitted if it is an example in GraphiQL: %s',
    async (_name, query, variables) => {
      const { body } = await renter.graphql(query, variables);
      for (const error of body.errors ?? []) {
        // The examples name a machine and an instance that don't exist.
        expect(error.extensions.code).toMatch(/^(deploy_failed|not_found)$/);
      }
    },
  );

  it('is admitted if it is the introspection query sent by tools', async () => {
    expectAdmitted(await service.anyone.graphql(FULL_INTROSPECTION));
  });

  it.each<[string, string]>([
    [
      'the launches of all instances, whose lists declare their maximum length',
      `{ instances { id name launch { name env entrypoint command registryLogin restart onExit tcpPorts
         secrets { secret variable file } ports { port name } } } }`,
    ],
    ['200 aliases', `{ ${many(200, (index) => `a${index}: balance { balance }`)} }`],
    [
      'the complete price sheet',
      '{ pricing { data { slug name tier vramGb url pricePerGpuHour { onDemand } gpuModel { name } } } }',
    ],
    [
      'the longest page of offers',
      '{ offers(limit: 100) { machineId gpu cpu netMbps { up } pricePerHour { onDemand } gpuModel { name } } }',
    ],
    [
      'nested long pages',
      '{ instanceHistory(first: 100) { edges { node { id usageIntervals(first: 50) { edges { node { resource startedAt endedAt } } } } } } }',
    ],
  ])('is admitted if it requests %s', async (_name, query) => {
    const { body } = await renter.graphql(query);
    expect(body.errors?.filter((error: GraphQLError) => error.extensions.code === 'invalid_request') ?? []).toEqual([]);
  });
});

describe('a GraphQL request beyond the limits', () => {
  const DEPTH = 'fields may be nested at most 16 deep';
  const BRACKETS = 'brackets may be nested at most 64 deep';
  const ROOTS = 'an operation may have at most 250 root fields';
  const DIRECTIVES = 'a document may have at most 100 directives';
  const VALUES = /^the answer may have at most 50000 values/;
  const TOKENS = /more tha[nt] 2000 tokens/;
  const chain = (length: number) =>
    `{ __schema { types { ${'ofType { '.repeat(length)} name ${'} '.repeat(length)} } } }`;
  const offers = (limit: string) => `offers(limit: ${limit}) { gpu region cpu vcpus ramGb diskGb ports pcie nvlink }`;

  it.each<[string, string, string | RegExp, object?]>([
    ['tokens', `{ ${'__typename '.repeat(2_000)} }`, TOKENS],
    ['tokens in lists', `{ offers(gpu: [${'1 '.repeat(3_000)}]) { gpu } }`, TOKENS],
    ['brackets in lists', `{ offers(gpu: ${'['.repeat(900)}${']'.repeat(900)}) { gpu } }`, BRACKETS],
    ['brackets in types', `query ($v: ${'['.repeat(900)}Int${']'.repeat(900)}) { __typename }`, BRACKETS],
    ['brackets in objects', `{ offers(gpu: ${'{a: '.repeat(300)}1${'}'.repeat(300)}) { gpu } }`, BRACKETS],
    ['brackets that never close', `{ offers(gpu: ${'['.repeat(50_000)}`, BRACKETS],
    [
      'tokens in the variables of an operation',
      `query (${many(700, (index) => `$v${index}: Int`)}) { __typename }`,
      TOKENS,
    ],
    ['depth', chain(14), DEPTH],
    [
      'depth in inline fragments',
      `{ __schema { types { ${'ofType { ... { '.repeat(20)} name ${'} } '.repeat(20)} } } }`,
      DEPTH,
    ],
    [
      'depth through fragments',
      `{ __schema { types { ...T0 } } } ${many(20, (index) => `fragment T${index} on __Type { ofType { ...T${index + 1} } }`)}
       fragment T20 on __Type { name }`,
      DEPTH,
    ],
    ['root fields', `{ ${many(251, (index) => `a${index}: __typename`)} }`, ROOTS],
    [
      'root fields in fragments',
      `{ ...A ...A ...A } fragment A on Query { ${many(84, (index) => `a${index}: __typename`)} }`,
      ROOTS,
    ],
    [
      'root fields in nested fragments',
      `{ ...F0 } ${many(100, (index) => `fragment F${index} on Query { ...F${index + 1} ...F${index + 1} }`)}
       fragment F100 on Query { __typename }`,
      ROOTS,
    ],
    [
      'root fields of an operation that is not named',
      `query asked { __typename } query other { ${many(251, (index) => `a${index}: __typename`)} }`,
      ROOTS,
    ],
    ['directives', `{ ${many(101, (index) => `a${index}: __typename @skip(if: false)`)} }`, DIRECTIVES],
    ['values of public lists', `{ ${many(60, (index) => `a${index}: ${offers('100')}`)} }`, VALUES],
    [
      'values of lists without a page',
      `{ ${many(60, (index) => `a${index}: pricing { data { slug name vramGb tier gpuModel { slug name tier } } }`)} }`,
      VALUES,
    ],
    [
      'values of pages in a variable',
      `query ($n: Int) { ${many(60, (index) => `a${index}: ${offers('$n')}`)} }`,
      VALUES,
      { n: 100 },
    ],
    [
      'values of pages in the default of a variable',
      `query ($n: Int = 100) { ${many(60, (index) => `a${index}: ${offers('$n')}`)} }`,
      VALUES,
    ],
    [
      'values of nested pages',
      `{ instanceHistory(last: 100) { edges { node { ...I } } } }
       fragment I on Instance { usageIntervals(first: 100) { edges { cursor node { resource ratePerHour startedAt endedAt } } } }`,
      VALUES,
    ],
    [
      'values in nested fragments',
      `{ pricing { data { ...F0 } } } fragment F100 on GpuPrice { slug }
       ${many(100, (index) => `fragment F${index} on GpuPrice { ...F${index + 1} ...F${index + 1} }`)}`,
      VALUES,
    ],
    [
      'values of introspection',
      `{ ${many(60, (index) => `a${index}: __schema { types { fields { args { name } name } name } }`)} }`,
      VALUES,
    ],
  ])('is rejected quickly because of its %s', async (_name, query, message, variables) => {
    const before = process.cpuUsage();
    expectRefused(await service.anyone.graphql(query, variables as Record<string, unknown>), message);
    expect(cpuMsSince(before)).toBeLessThan(500);
  });

  it('counts a document or text by its size', async () => {
    const months = [
      'signedStatement(month: "2026-11")',
      'focusExport(month: "2026-11")',
      'invoice(month: "2026-11") { number }',
    ];
    for (const [field, most] of [['logRoots', 6], ...months.map((month) => [month, 12] as const)] as const) {
      const query = (count: number) => `{ ${many(count, (index) => `a${index}: ${field}`)} }`;
      expectRefused(await renter.graphql(query(most + 1)), /^the answer may have at most 50000 values/);
      expect(JSON.stringify(await renter.graphql(query(most)))).not.toContain('50000 values');
    }
  });

  it('counts an invalid page size as the maximum', async () => {
    const { body } = await service.anyone.graphql('{ offers(limit: 2000000000) { gpu cpu } }');
    expect(body.errors[0]).toMatchObject({ message: 'limit must be a whole number from 1 to 100' });
  });

  it('is rejected for null in a required argument, even if a variable has a default', async () => {
    const query = 'query ($slug: ID = "h100-sxm") { gpuModel(slug: $slug) { name } }';
    expect((await service.anyone.graphql(query)).body.data.gpuModel).toEqual({ name: 'NVIDIA H100 SXM5' });
    const { status, body } = await service.anyone.graphql(query, { slug: null });
    expect([status, body.errors[0].extensions]).toEqual([200, { code: 'invalid_request', status: 422 }]);
  });

  it('is rejected with a code, even if its variables are wrong', async () => {
    const { status, body } = await service.anyone.graphql('query ($n: Int!) { offers(limit: $n) { gpu } }', { n: 'x' });
    expect([status, body.errors[0].extensions]).toEqual([400, { code: 'invalid_request' }]);
  });

  it("is left to GraphQL's validation if fragments spread themselves", async () => {
    const { body } = await service.anyone.graphql(
      '{ ...A } fragment A on Query { ...B pricing { ...C } } fragment B on Query { ...A } fragment C on PriceSheet { ...C }',
    );
    expect(body.errors.map(({ message }: GraphQLError) => message)).toContain(
      'Cannot spread fragment "C" within itself.',
    );
  });

  it('gets the status 422 if the response type allows it', async () => {
    const request = (accept: string) =>
      fetch(`${service.address}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body: JSON.stringify({ query: chain(14) }),
      });
    expect((await request('application/graphql-response+json')).status).toBe(422);
    const answer = await request('application/json');
    const { errors } = (await answer.json()) as { errors: GraphQLError[] };
    expect([answer.status, errors[0]!.extensions]).toEqual([200, { code: 'invalid_request', status: 422 }]);
  });

  it('has no effect and doesn’t count toward the rate limit', async () => {
    const limited = await startService({ rateLimitPerMinute: 120 });
    const caller = await limited.renter();
    const machines = await Promise.all(Array.from({ length: 2 }, () => limited.machine()));
    const deploys = machines.map((id, index) => `d${index}: deploy(input: { machineId: "${id}" }) { id }`).join(' ');
    const answer = await caller.graphql(`mutation { ${deploys} ${many(260, (index) => `a${index}: __typename`)} }`);
    expectRefused(answer, ROOTS);
    expect(answer.headers.get('ratelimit-remaining')).toBeNull();
    expect(await limited.sql('select 1 from instance where account_id = $1', [caller.accountId])).toEqual([]);
    expect((await caller.rest('GET', '/balance')).headers.get('ratelimit-remaining')).toBe('119');
    // 100 aliases count as 100 requests and not as one.
    const aliases = await caller.graphql(`{ ${many(100, (index) => `a${index}: balance { balance }`)} }`);
    expectAdmitted(aliases);
    expect(aliases.headers.get('ratelimit-remaining')).toBe('19');
    await limited.close();
  });

  it('takes a limited amount of memory, no matter how many documents are sent', async () => {
    const send = (index: number) => service.anyone.graphql(`{ pricing { ${'count '.repeat(1_950)} } } #${index}`);
    for (let index = 0; index < 10; index += 1) await send(index);
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 80; index += 1) await send(1_000 + index);
    collectGarbage();
    // 80 such documents would take 80 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000);
  });
});

/**
 * Returns the CPU time of this process, including the gateway. Unlike elapsed time, it doesn't depend on other load.
 */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

describe('error messages', () => {
  const DEPLOY = 'mutation ($input: DeployInput!) { deploy(input: $input) { id } }';
  const post = async (body: object, key?: string) => {
    const before = process.cpuUsage();
    const answer = await fetch(`${service.address}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream;q=0.5',
        ...(JSON.stringify(body).includes('subscription') && { accept: 'text/event-stream' }),
        ...(key && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    const data = /^event: next\ndata: (.*)$/m.exec(text)?.[1] ?? text;
    return { text, errors: JSON.parse(data).errors as GraphQLError[], cpuMs: cpuMsSince(before) };
  };
  const unknownNames = Object.fromEntries(Array.from({ length: 7_000 }, (_, index) => [`n${index}`, 1]));

  it.each<[string, () => object]>([
    ['unknown names in a variable', () => ({ query: DEPLOY, variables: { input: unknownNames } })],
    [
      "unknown names in a public query's variable",
      () => ({
        query: 'query ($filter: OfferFilterInput) { offerSearch(filter: $filter) { totalCount } }',
        variables: { filter: unknownNames },
      }),
    ],
    [
      'a long string in a variable',
      () => ({ query: 'query ($n: Int) { offers(limit: $n) { gpu } }', variables: { n: 'x'.repeat(90_000) } }),
    ],
    ['a long string in the document', () => ({ query: `{ offers(limit: "${'x'.repeat(90_000)}") { gpu } }` })],
    ['a long name', () => ({ query: `{ ${'x'.repeat(90_000)} }` })],
    ['many unknown fields', () => ({ query: `{ ${many(240, (index) => `x${index}`)} }` })],
    [
      'a subscription',
      () => ({
        query: 'subscription ($n: Int) { offersChanged(limit: $n) { gpu } }',
        variables: { n: 'x'.repeat(90_000) },
      }),
    ],
  ])('are short for %s', async (_name, body) => {
    for (const key of [undefined, renter.key]) {
      const { text, errors, cpuMs } = await post(body(), key);
      expect(errors.length).toBeGreaterThan(0);
      expect(errors.length).toBeLessThanOrEqual(10);
      for (const { message } of errors) expect(message.length).toBeLessThanOrEqual(300);
      expect(text.length).toBeLessThan(10_000);
      expect(cpuMs).toBeLessThan(1_000);
    }
  });

  it('report how many errors were omitted', async () => {
    const { errors } = await post({ query: `{ ${many(50, (index) => `x${index}`)} }` });
    expect(errors).toHaveLength(10);
    expect(errors.at(-1)!.message).toBe('and 41 more errors');
  });

  it('include every rejected field in an executed mutation', async () => {
    const { body } = await renter.graphql(`{ ${many(40, (index) => `a${index}: offers(limit: 0) { gpu }`)} }`);
    expect(body.errors.length).toBeGreaterThan(0);
    const answer = await renter.graphql(
      `mutation { ${many(40, (index) => `a${index}: action(id: "i-00000000", action: STOP) { id }`)} }`,
    );
    expect(answer.body.errors).toHaveLength(40);
  });
});

describe('returned values are counted in advance', () => {
  /** Creates stopped instances for the caller. */
  async function instances({ accountId }: Renter, count: number): Promise<void> {
    const machine = await service.machine({ diskGb: 10_000 });
    await service.sql(
      `insert into instance (id, account_id, sequence, machine_id, status, gpu, num_gpus, region, template, disk_gb, mode,
         gpu_rate, disk_rate, on_demand_rate, created_at, stopped_at)
       select 'i-' || lpad(to_hex(n + $3), 8, '0'), $1, n, id, 'STOPPED', gpu, num_gpus, region, 'pytorch', 1, 'ON_DEMAND', 0, 0, 0,
         '2026-11-20', '2026-11-20' from machine, generate_series(1, $2::int) n where id = $4`,
      [accountId, count, Math.floor(Math.random() * 2 ** 30), machine],
    );
  }
  const VALUES = 'the answer may have at most 50000 values; request smaller pages or fewer fields';
  const below = (aliases: number) => `{ instances { ${many(aliases, (index) => `a${index}: gpu`)} } }`;

  it('for aliases in instances, depending on how many instances the account has', async () => {
    const [rich, poor] = [await service.renter(), await service.renter()];
    await Promise.all([instances(rich, 300), instances(poor, 20)]);
    for (const _use of [1, 2, 3, 4]) {
      const { body } = await rich.graphql(below(400));
      expect(body.data).toEqual({ instances: null });
      expect(body.errors[0]).toMatchObject({
        message: VALUES,
        path: ['instances'],
        extensions: { code: 'invalid_request', status: 422 },
      });
      expect((await poor.graphql(below(400))).body.data.instances).toHaveLength(20);
    }
    // A field that is selected twice is returned once.
    const { body } =
      await rich.graphql(`{ instances { ...A ...B } } fragment A on Instance { ${many(150, (index) => `a${index}: gpu`)} }
      fragment B on Instance { ${many(150, (index) => `a${index}: gpu`)} }`);
    expect(body.data.instances).toHaveLength(300);
  });

  it('for nested lists and aliases of lists', async () => {
    const rich = await service.renter();
    await instances(rich, 300);
    const { body } = await rich.graphql(
      `{ ${many(8, (index) => `i${index}: instances { ${many(30, (field) => `a${field}: gpu`)} }`)} }`,
    );
    const counts = Object.values(body.data as Record<string, unknown[] | null>).map((list) => list?.length ?? null);
    expect(counts.filter((count) => count === 300)).toHaveLength(5);
    expect(counts.filter((count) => count === null)).toHaveLength(3);
    const nested = `{ instances { machine { ${many(20, (index) => `a${index}: gpu`)} } usageIntervals(first: 1) { edges { node { resource } } } } }`;
    expect((await rich.graphql(nested)).body.data.instances).toHaveLength(300);
  });
});

describe('INTROSPECTION=off', () => {
  let closed: Service;

  beforeAll(async () => {
    closed = await startService({ introspection: false });
  });
  afterAll(() => closed.close());

  it('describes no type or field', async () => {
    for (const query of [FULL_INTROSPECTION, '{ __schema { types { name } } }', '{ __type(name: "Query") { name } }']) {
      const { body } = await closed.anyone.graphql(query);
      expect(body.data).toBeUndefined();
      expect(body.errors[0].message).toMatch(/^GraphQL introspection has been disabled/);
    }
    expect((await closed.anyone.graphql('{ __typename pricing { __typename } }')).body.errors).toBeUndefined();
    expect((await fetch(`${closed.address}/schema.graphql`)).status).toBe(404);
    expect(await (await fetch(`${closed.address}/llms.txt`)).text()).not.toContain('schema.graphql');
  });

  const MISTAKES: [string, string, object?][] = [
    ['a field', '{ pricin { count } }'],
    ['a field of a type', '{ pricing { coun } }'],
    ['an enum value', 'mutation { action(id: "i", action: STOPP) { id } }'],
    ['an enum value as text', 'mutation { action(id: "i", action: "STOP") { id } }'],
    ['an argument', '{ offers(limi: 1) { gpu } }'],
    ['an argument of a directive', '{ pricing @skip(iff: true) { count } }'],
    ['an input field', 'mutation { deploy(input: { machineId: "m", templat: "x" }) { id } }'],
    ['a type', '{ ... on Quer { __typename } }'],
    ['the type of a variable', 'query ($a: DeployInpu) { __typename }'],
    [
      'an enum value in a variable',
      'mutation ($a: InstanceActionKind!) { action(id: "i", action: $a) { id } }',
      { a: 'STOPP' },
    ],
    [
      'an input field in a variable',
      'mutation ($i: DeployInput!) { deploy(input: $i) { id } }',
      { i: { machineId: 'm', diskG: 1 } },
    ],
  ];

  it.each(MISTAKES)('suggests no name: %s', async (_name, query, variables) => {
    const suggestion = /Did you mean/;
    const open = await renter.graphql(query, variables as Record<string, unknown>);
    expect(JSON.stringify(open.body)).toMatch(suggestion);
    // This is done twice, since the second response comes from a cache.
    for (const _turn of [1, 2]) {
      const { body } = await closed.anyone.graphql(query, variables as Record<string, unknown>);
      expect(body.errors).toHaveLength(open.body.errors.length);
      expect(JSON.stringify(body)).not.toMatch(suggestion);
      for (const { message } of body.errors) expect(message).toMatch(/[.;"]$/);
    }
  });
});

it('introspection, when enabled, returns the printed schema', async () => {
  const { body } = await service.anyone.graphql(FULL_INTROSPECTION);
  const introspected = printSchema(buildClientSchema(body.data));
  expect(introspected).toBe(printSchema(buildSchema(introspected)));
  expect(introspected).toContain('deploy(');
});
