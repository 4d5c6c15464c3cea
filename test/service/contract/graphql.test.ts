import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildASTSchema,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  parse,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSchema } from '../../../src/schema/index.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const schema = buildSchema();

/** Returns everything in a schema that has a name, with its type and default: `Query.offers(limit:)` → `Int = 25`. */
function surfaceOf(source: GraphQLSchema): Map<string, string> {
  const surface = new Map<string, string>();
  for (const type of ownTypes(source)) {
    surface.set(type.name, type.astNode?.kind ?? type.constructor.name);
    if (isEnumType(type)) for (const { name } of type.getValues()) surface.set(`${type.name}.${name}`, 'value');
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) surface.set(`${type.name}.${field.name}`, inputText(field));
    }
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      surface.set(`${type.name}.${field.name}`, String(field.type));
      for (const argument of field.args) {
        surface.set(`${type.name}.${field.name}(${argument.name}:)`, inputText(argument));
      }
    }
  }
  return surface;
}

function inputText({ type, defaultValue }: { type: unknown; defaultValue?: unknown }): string {
  return defaultValue === undefined ? String(type) : `${type} = ${JSON.stringify(defaultValue)}`;
}

function ownTypes(source: GraphQLSchema): GraphQLNamedType[] {
  return Object.values(source.getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  );
}

describe('the schema', () => {
  it('has the complete core API with the same names and types', () => {
    const text = readFileSync(join(import.meta.dirname, 'core-surface.graphql'), 'utf8');
    const core = surfaceOf(buildASTSchema(parse(text)));
    const actual = surfaceOf(schema);
    expect(core.size).toBeGreaterThan(100);
    const missing = [...core.keys()].filter((name) => !actual.has(name));
    expect(missing).toEqual([]);
    const members = [...core].filter(([name]) => name.includes('.'));
    expect(Object.fromEntries(members.map(([name]) => [name, actual.get(name)]))).toEqual(Object.fromEntries(members));
    for (const type of ownTypes(buildASTSchema(parse(text)))) {
      expect(schema.getType(type.name)?.constructor.name).toBe(type.constructor.name);
    }
  });

  it('adds no enum values or required arguments to the core’s types', () => {
    const text = readFileSync(join(import.meta.dirname, 'core-surface.graphql'), 'utf8');
    const coreSchema = buildASTSchema(parse(text));
    const core = surfaceOf(coreSchema);
    const added = [...surfaceOf(schema)].filter(([name]) => !core.has(name));
    const enums = new Set(
      ownTypes(coreSchema)
        .filter(isEnumType)
        .map(({ name }) => name),
    );
    expect(added.filter(([name]) => enums.has(name.split('.')[0]!))).toEqual([]);
    const inputs = added.filter(
      ([name]) => name.startsWith('DeployInput.') || /^\w+\.(offers|deploy|action)\(/.test(name),
    );
    expect(inputs.filter(([, type]) => type.endsWith('!'))).toEqual([]);
  });

  it('describes every type, field, argument and enum value', () => {
    const undescribed: string[] = [];
    const check = (name: string, { description }: { description?: string | null | undefined }) => {
      if (!description?.trim()) undescribed.push(name);
    };
    for (const type of ownTypes(schema)) {
      check(type.name, type);
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
      if (isInputObjectType(type)) {
        for (const field of Object.values(type.getFields())) check(`${type.name}.${field.name}`, field);
      }
      if (!isObjectType(type) && !isInterfaceType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        for (const argument of field.args) check(`${type.name}.${field.name}(${argument.name}:)`, argument);
      }
    }
    expect(undescribed).toEqual([]);
  });

  it('makes fields that need a key nullable', () => {
    for (const root of [schema.getQueryType()!, schema.getMutationType()!]) {
      for (const field of Object.values(root.getFields())) {
        if (field.extensions.needsKey === true) expect(String(field.type)).not.toMatch(/!$/);
      }
    }
    const open = Object.values(schema.getQueryType()!.getFields()).filter(({ extensions }) => !extensions.needsKey);
    expect(open.map(({ name }) => name).sort()).toEqual([
      'gpuModel',
      'gpuModels',
      'logConsistency',
      'logRoots',
      'modelHub',
      'modelMemory',
      'node',
      'offer',
      'offerSearch',
      'offers',
      'pricing',
      'quote',
      'regions',
      'sendsMail',
      'signingKeys',
      'templates',
    ]);
    for (const field of Object.values(schema.getMutationType()!.getFields())) {
      expect([field.name, field.extensions.needsKey]).toEqual([field.name, true]);
    }
    // A subscription has one field, so a refusal hides no other field's value.
    const events = Object.values(schema.getSubscriptionType()!.getFields());
    expect(events.map(({ name, type, extensions }) => [name, String(type), extensions.needsKey === true])).toEqual([
      ['accountChanged', 'AccountChange!', true],
      ['balanceChanged', 'Balance!', true],
      ['instanceChanged', 'Instance!', true],
      ['instanceLogged', '[LogLine!]!', true],
      ['offersChanged', '[Offer!]!', false],
      ['pricingChanged', 'PriceSheet!', false],
      ['topUpChanged', 'TopUp!', true],
    ]);
  });

  it("has no path from a shared type to an account's types", () => {
    const own = ['Account', 'ApiKey', 'Balance', 'CreatedApiKey', 'Instance', 'InstanceUsage', 'UsageInterval'];
    for (const name of own) expect(String(schema.getType(name))).toBe(name);
    const shared = ['Machine', 'Offer', 'PriceSheet', 'GpuPrice', 'GpuModel', 'Region', 'Template'];
    for (const start of shared) {
      const reached = reachableFrom(schema.getType(start)!);
      expect([start, own.filter((name) => reached.has(name))]).toEqual([start, []]);
      expect([...reached].filter((name) => /Statement|Ledger|Connection/.test(name))).toEqual([]);
    }
    expect(reachableFrom(schema.getType('Instance')!).has('Account')).toBe(false);
  });
});

function reachableFrom(start: GraphQLNamedType): Set<string> {
  const reached = new Set<string>();
  const queue = [start];
  for (let type = queue.pop(); type !== undefined; type = queue.pop()) {
    if (reached.has(type.name)) continue;
    reached.add(type.name);
    if (isObjectType(type) || isInterfaceType(type)) {
      queue.push(...Object.values(type.getFields()).map((field) => getNamedType(field.type)));
    }
  }
  return reached;
}

async function rent(renter: Renter, body: object = {}): Promise<string> {
  const answer = await renter.rest('POST', '/instances', { machine_id: await service.machine(), ...body });
  expect(answer.status).toBe(201);
  return answer.body.id;
}

describe('a renamed field', () => {
  const renamed = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).flatMap((old) => {
          const { renamedTo } = old.extensions;
          return old.deprecationReason === undefined ? [] : [{ type, old, field: type.getFields()[String(renamedTo)] }];
        })
      : [],
  );

  it('keeps its old name, deprecated, with the same type and arguments', () => {
    const names = renamed.map(({ type, old, field }) => `${type.name}.${old.name} → ${field?.name}`);
    expect(names.sort()).toEqual([
      'Account.topUpsUnderWay → pendingTopUps',
      'AttachedVolume.holds → holdsLease',
      'Mutation.turnWebhookSecret → rotateWebhookSecret',
      'Query.instanceOfRequest → instanceByIdempotencyKey',
      'TemplateVariable.made → isGenerated',
    ]);
    for (const { old, field } of renamed) {
      expect(String(old.type)).toBe(String(field!.type));
      expect(old.args.map(({ name, type }) => [name, String(type)])).toEqual(
        field!.args.map(({ name, type }) => [name, String(type)]),
      );
      expect(old.deprecationReason).toBe(`Renamed to ${field!.name}.`);
    }
  });

  it('returns the same value under both names', async () => {
    const by = await service.renter();
    const deployed = await by.graphql(
      `mutation { deploy(input: { machineId: "${await service.machine()}", idempotencyKey: "one" }) { id } }`,
    );
    const { id } = deployed.body.data.deploy;
    const { data } = (
      await by.graphql(`{ account { pendingTopUps { id } topUpsUnderWay { id } }
        instanceByIdempotencyKey(idempotencyKey: "one") { id } instanceOfRequest(idempotencyKey: "one") { id }
        templates { variables { isGenerated made } } }`)
    ).body;
    expect(data.account).toEqual({ pendingTopUps: [], topUpsUnderWay: [] });
    expect([data.instanceByIdempotencyKey, data.instanceOfRequest]).toEqual([{ id }, { id }]);
    const variables = data.templates.flatMap((template: { variables: object[] }) => template.variables);
    expect(variables).toContainEqual({ isGenerated: true, made: true });
    expect(variables).toContainEqual({ isGenerated: false, made: false });
  });
});

describe('a request', () => {
  it('gets a 401 only if every field fails for lack of a key', async () => {
    const nothing = await service.anyone.graphql('{ balance { balance } instances { id } }');
    expect(nothing.status).toBe(401);
    expect(nothing.headers.get('www-authenticate')).toBe('Bearer');
    expect(nothing.body.data).toEqual({ balance: null, instances: null });
    expect(nothing.body.errors).toHaveLength(2);
    for (const { message, extensions } of nothing.body.errors) {
      expect([message, extensions]).toEqual(['missing or unknown API key', { code: 'unauthorized', status: 401 }]);
    }
    const some = await service.anyone.graphql('{ pricing { count } balance { balance } }');
    expect(some.status).toBe(200);
    expect(some.headers.get('www-authenticate')).toBeNull();
    expect(some.body.data).toEqual({ pricing: { count: 83 }, balance: null });
    expect(some.body.errors[0]).toMatchObject({ path: ['balance'], extensions: { code: 'unauthorized', status: 401 } });
    expect((await service.anyone.graphql('mutation { createApiKey { secret } }')).status).toBe(401);
    expect((await service.withKey(`gpu_live_${'0'.repeat(40)}`).graphql('{ account { id } }')).status).toBe(401);
  });

  it('with three deploys executes the only one that is not refused', async () => {
    const renter = await service.renter();
    const machineId = await service.machine();
    const answer = await renter.graphql(
      `mutation ($id: ID!) {
        first: deploy(input: { machineId: $id }) { id status }
        second: deploy(input: { machineId: $id }) { id status }
        third: deploy(input: { machineId: "m-unknown" }) { id }
      }`,
      { id: machineId },
    );
    expect(answer.status).toBe(200);
    const { first, second, third } = answer.body.data;
    expect([first.status, second, third]).toEqual(['RUNNING', null, null]);
    expect(answer.body.errors).toMatchObject([
      {
        path: ['second'],
        message: `machine ${machineId} is taken`,
        extensions: { code: 'deploy_failed', status: 409 },
      },
      { path: ['third'], message: 'machine m-unknown is not on offer', extensions: { code: 'deploy_failed' } },
    ]);
    expect((await renter.rest('GET', `/instances/${first.id}`)).status).toBe(200);
  });

  it('that is refused gets HTTP status 200 and an error with code, status and field', async () => {
    const renter = await service.renter();
    const answer = await renter.graphql('mutation { deploy(input: { machineId: "m", diskGb: 0 }) { id } }');
    expect(answer.status).toBe(200);
    expect(answer.body.errors[0].extensions).toEqual({ code: 'invalid_request', status: 422, field: 'diskGb' });
  });

  it.each([
    ['with a syntax error', '{ pricing { count }'],
    ['with an unknown field', '{ pricing { cuont } }'],
    ['with an unknown argument', '{ offers(colour: "red") { gpu } }'],
    ['with a value of the wrong type', '{ offers(limit: "ten") { gpu } }'],
    ['with an unknown enum value', 'mutation { action(id: "i", action: REBOOT) { id } }'],
    ['without a selection', '{ pricing }'],
  ])('%s is rejected as a client error', async (_, query) => {
    const answer = await service.anyone.graphql(query);
    expect(answer.status).toBeLessThan(500);
    expect(answer.body.data).toBeUndefined();
    expect(answer.body.errors[0].message).not.toBe('internal error');
    expect(answer.body.errors[0].extensions?.code).not.toBe('internal');
  });

  it.each([
    ['limit', 'Int', 'ten'],
    ['limit', 'Int', 2 ** 40],
    ['limit', 'Int', 1.5],
    ['priceMax', 'Float', 'cheap'],
    ['gpu', 'String', 7],
  ])('with a variable %s of the wrong type is rejected with the reason', async (name, type, value) => {
    const answer = await service.anyone.graphql(`query ($x: ${type}) { offers(${name}: $x) { gpu } }`, { x: value });
    expect(answer.status).toBeLessThan(500);
    expect(answer.body.errors[0].message).toMatch(new RegExp(`\\$x|^${name} must be`));
    expect(answer.body.errors[0].extensions?.code).not.toBe('internal');
  });

  it('gets null without an error for an instance outside the account', async () => {
    const [renter, stranger] = [await service.renter(), await service.renter()];
    const id = await rent(renter);
    for (const target of [id, 'i-00000000', 'nonsense', '']) {
      const answer = await stranger.graphql('query ($id: ID!) { instance(id: $id) { id } }', { id: target });
      expect([answer.status, answer.body]).toEqual([200, { data: { instance: null } }]);
    }
  });

  it('treats null for an argument with a default as absent', async () => {
    const { body } = await service.anyone.graphql('{ offers(limit: null, numMin: null, gpu: null) { machineId } }');
    expect(body.data.offers).toHaveLength(25);
  });
});

describe('the account query', () => {
  it('shows the hourly cost, the time credit runs out, the limits and the spend', async () => {
    const renter = await service.renter('43.94');
    const ACCOUNT = `{ account { id name demo createdAt balance monthSpend lifetimeSpend burnPerHour exhaustsAt diskDeleteAt
      liveInstances limits { requestsPerMinute instances apiKeys } } }`;
    const created = '2026-11-20T12:00:00Z';
    expect((await renter.graphql(ACCOUNT)).body.data.account).toEqual({
      id: renter.accountId,
      name: 'Renter',
      demo: false,
      createdAt: created,
      balance: 43.94,
      monthSpend: 0,
      lifetimeSpend: 0,
      burnPerHour: 0,
      exhaustsAt: null,
      diskDeleteAt: null,
      liveInstances: 0,
      limits: { requestsPerMinute: 0, instances: 1000, apiKeys: 50 },
    });
    await rent(renter);
    service.clock.advance(3600);
    expect((await renter.graphql(ACCOUNT)).body.data.account).toMatchObject({
      balance: 41.743,
      monthSpend: 2.197,
      lifetimeSpend: 2.197,
      burnPerHour: 2.197,
      exhaustsAt: '2026-11-21T08:00:00Z',
      diskDeleteAt: '2026-11-28T08:00:00Z',
      liveInstances: 1,
    });
    service.clock.set(created);
  });
});

describe('API keys', () => {
  const KEYS = '{ apiKeys { id prefix lastFour createdAt revokedAt } }';
  const CREATE = 'mutation { createApiKey { secret apiKey { id prefix lastFour revokedAt } } }';
  const REVOKE = 'mutation ($id: ID!) { revokeApiKey(id: $id) { id revokedAt } }';

  it('can be created, used immediately, listed and revoked, and are shown once', async () => {
    const renter = await service.renter();
    const { secret, apiKey } = (await renter.graphql(CREATE)).body.data.createApiKey;
    expect(secret).toMatch(/^gpu_live_[0-9a-f]{40}$/);
    expect(apiKey).toEqual({
      id: expect.stringMatching(/^key-[0-9a-f]{16}$/),
      prefix: 'gpu_live_',
      lastFour: secret.slice(-4),
      revokedAt: null,
    });
    const fresh = service.withKey(secret);
    expect((await fresh.graphql('{ account { id } }')).body.data.account.id).toBe(renter.accountId);
    const listed = await renter.graphql(KEYS);
    expect(listed.body.data.apiKeys).toHaveLength(2);
    expect(listed.body.data.apiKeys.map(({ id }: { id: string }) => id)).toContain(apiKey.id);
    expect(JSON.stringify(listed.body)).not.toContain(secret.slice(9, -4));
    const revoked = await renter.graphql(REVOKE, { id: apiKey.id });
    expect(revoked.body.data.revokeApiKey.revokedAt).toMatch(/^2026-11-20T/);
    expect((await fresh.rest('GET', '/balance')).status).toBe(401);
    expect((await fresh.graphql('{ account { id } }')).status).toBe(401);
    expect((await renter.rest('GET', '/balance')).status).toBe(200);
    const again = await renter.graphql(REVOKE, { id: apiKey.id });
    expect(again.body).toEqual(revoked.body);
  });

  it('can revoke themselves, even if no other key remains', async () => {
    const renter = await service.renter();
    const [{ id }] = (await renter.graphql(KEYS)).body.data.apiKeys;
    expect((await renter.graphql(REVOKE, { id })).body.data.revokeApiKey.id).toBe(id);
    expect((await renter.rest('GET', '/balance')).status).toBe(401);
  });

  it('are invisible to other accounts', async () => {
    const [renter, stranger] = [await service.renter(), await service.renter()];
    const [{ id }] = (await renter.graphql(KEYS)).body.data.apiKeys;
    const refusals = [];
    for (const target of [id, 'key-0000000000000000', 'nonsense', '\0']) {
      const { body } = await stranger.graphql(REVOKE, { id: target });
      refusals.push({ ...body.errors[0], path: null, locations: null });
      expect(body.errors[0].extensions).toEqual({ code: 'not_found', status: 404 });
    }
    expect(new Set(refusals.map((refusal) => JSON.stringify(refusal))).size).toBe(1);
    expect((await stranger.graphql(KEYS)).body.data.apiKeys).toHaveLength(1);
    expect((await renter.rest('GET', '/balance')).status).toBe(200);
  });

  it('are limited to 50 per account, not counting revoked ones', async () => {
    const renter = await service.renter();
    const created = await Promise.all(Array.from({ length: 60 }, () => renter.graphql(CREATE)));
    const refused = created.filter(({ body }) => body.errors !== undefined);
    expect(refused).toHaveLength(11);
    expect(refused[0]!.body.errors[0].message).toBe('the account has 50 live API keys, the maximum; revoke one first');
    const { id } = created.find(({ body }) => body.errors === undefined)!.body.data.createApiKey.apiKey;
    await renter.graphql(REVOKE, { id });
    expect((await renter.graphql(CREATE)).body.errors).toBeUndefined();
    expect((await renter.graphql(CREATE)).body.errors).toHaveLength(1);
  });
});

describe('instanceHistory', () => {
  const PAGE = `query ($first: Int, $last: Int, $after: String, $before: String) {
    instanceHistory(first: $first, last: $last, after: $after, before: $before) {
      edges { cursor node { id status } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
  let renter: Renter;
  let ids: string[];

  beforeAll(async () => {
    renter = await service.renter('1000');
    ids = [];
    for (let index = 0; index < 7; index += 1) ids.unshift(await rent(renter));
    await renter.rest('DELETE', `/instances/${ids[2]}`);
  });

  async function page(variables: object, by = renter) {
    const { body } = await by.graphql(PAGE, variables as Record<string, unknown>);
    expect(body.errors).toBeUndefined();
    const { edges, pageInfo } = body.data.instanceHistory;
    return {
      ids: edges.map(({ node }: { node: { id: string } }) => node.id),
      cursors: edges.map(({ cursor }: { cursor: string }) => cursor) as string[],
      pageInfo,
    };
  }

  it("lists all of the account's instances, including destroyed ones, newest first", async () => {
    const { ids: all, pageInfo } = await page({});
    expect(all).toEqual(ids);
    expect(pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: false });
  });

  it('pages forwards with first and after', async () => {
    const seen: string[] = [];
    let after: string | null = null;
    for (let turn = 0; turn < 3; turn += 1) {
      const { ids: found, cursors, pageInfo } = await page({ first: 3, after });
      expect([pageInfo.startCursor, pageInfo.endCursor]).toEqual([cursors[0], cursors.at(-1)]);
      expect(pageInfo.hasNextPage).toBe(turn < 2);
      seen.push(...found);
      after = pageInfo.endCursor;
    }
    expect(seen).toEqual(ids);
    expect((await page({ first: 3, after })).ids).toEqual([]);
  });

  it('pages backwards with last and before', async () => {
    const { ids: end, pageInfo } = await page({ last: 3 });
    expect(end).toEqual(ids.slice(4));
    expect(pageInfo.hasPreviousPage).toBe(true);
    const { ids: middle } = await page({ last: 3, before: pageInfo.startCursor });
    expect(middle).toEqual(ids.slice(1, 4));
  });

  it('keeps its position while new instances are added', async () => {
    const other = await service.renter('1000');
    const mine = [await rent(other), await rent(other)].reverse();
    const { pageInfo } = await page({ first: 1 }, other);
    await rent(other);
    expect((await page({ first: 5, after: pageInfo.endCursor }, other)).ids).toEqual(mine.slice(1));
  });

  it.each([
    [{ first: 101 }, 'first must be a whole number from 1 to 100'],
    [{ first: 0 }, 'first must be a whole number from 1 to 100'],
    [{ last: 1000 }, 'last must be a whole number from 1 to 100'],
    [{ after: 'nonsense' }, 'after must be a cursor from this list'],
    [{ before: '' }, 'before must be a cursor from this list'],
    [{ after: forged('S:i-00000000') }, 'after must be a cursor from this list'],
    [{ after: forged('N:7') }, 'after must be a cursor from this list'],
    [{ after: forged('O:{"accountId_sequence":{}}') }, 'after must be a cursor from this list'],
    [{ after: forged('T:["S:acc-0000000000000000","N:1"]') }, 'after must be a cursor from this list'],
    [{ first: -1 }, /first/],
    [{ last: -1 }, /last/],
    [{ after: 'a', before: 'b' }, /./],
    [{ first: 2 ** 31 }, /first/],
  ])('rejects %j', async (variables, message) => {
    const { status, body } = await renter.graphql(PAGE, variables);
    expect(status).toBeLessThan(500);
    expect(body.errors[0].message).toMatch(message);
    expect(body.errors[0].extensions?.code).not.toBe('internal');
  });

  it("rejects other accounts' cursors and shows only the caller's instances", async () => {
    const stranger = await service.renter();
    const { cursors } = await page({});
    expect((await page({}, stranger)).ids).toEqual([]);
    const { body } = await stranger.graphql(PAGE, { after: cursors[0] });
    expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_request', status: 422, field: 'after' });
  });

  it('needs a key regardless of its arguments', async () => {
    for (const variables of [{}, { after: 'nonsense' }, { first: 7 }]) {
      const { body } = await service.anyone.graphql(PAGE, variables);
      expect(body.errors[0].extensions.code).toBe('unauthorized');
    }
  });
});

function forged(chunk: string): string {
  return Buffer.from(`GPC:${chunk}`).toString('base64');
}

describe('the instance query', () => {
  const DETAILS = `query ($id: ID!) { instance(id: $id) {
    diskPriceHr destroyedAt stopReason reservedUntil earlyExitCost
    usage { gpuSeconds diskSeconds gpuCost diskCost earlyExitCost total }
    usageIntervals(first: 10) { edges { node { resource ratePerHour startedAt endedAt } } pageInfo { hasNextPage } }
    machine { id gpu numGpus region cpu diskGb gpuModel { slug name } regionInfo { code country } } } }`;

  it("includes the machine's model and region", async () => {
    const renter = await service.renter();
    const machineId = await service.machine({ numGpus: 2, region: 'us-va', diskGb: 777 });
    const { body } = await renter.rest('POST', '/instances', { machine_id: machineId });
    const { instance } = (await renter.graphql(DETAILS, { id: body.id })).body.data;
    expect(instance.machine).toEqual({
      id: machineId,
      gpu: 'h100-sxm',
      numGpus: 2,
      region: 'us-va',
      cpu: 'AMD EPYC 9354',
      diskGb: 777,
      gpuModel: { slug: 'h100-sxm', name: 'NVIDIA H100 SXM5' },
      regionInfo: { code: 'us-va', country: 'US' },
    });
    expect(instance).toMatchObject({ diskPriceHr: 0.007, destroyedAt: null, reservedUntil: null, earlyExitCost: 0 });
  });

  it("shows usage that adds up to the total and to the account's spend", async () => {
    const renter = await service.renter();
    const id = await rent(renter, { disk_gb: 33 });
    const start = service.clock.now();
    const act = (action: string) => renter.rest('POST', `/instances/${id}/actions`, { action });
    service.clock.advance(1001);
    await act('stop');
    service.clock.advance(57);
    await act('start');
    service.clock.advance(7);
    const { usage, usageIntervals, stopReason } = (await renter.graphql(DETAILS, { id })).body.data.instance;
    expect(usage).toEqual({
      gpuSeconds: 1008,
      diskSeconds: 1065,
      gpuCost: 0.6132,
      diskCost: 0.001366,
      earlyExitCost: 0,
      total: 0.614566,
    });
    const { month_spend } = (await renter.rest('GET', '/balance')).body;
    expect(month_spend).toBe(usage.total);
    expect(stopReason).toBeNull();
    const at = (seconds: number) => new Date((Number(start) + seconds) * 1000).toISOString().replace('.000Z', 'Z');
    expect(usageIntervals.edges.map(({ node }: { node: unknown }) => node)).toEqual([
      { resource: 'GPU', ratePerHour: 2.19, startedAt: at(0), endedAt: at(1001) },
      { resource: 'DISK', ratePerHour: 0.00462, startedAt: at(0), endedAt: null },
      { resource: 'GPU', ratePerHour: 2.19, startedAt: at(1058), endedAt: null },
    ]);
    expect(usageIntervals.pageInfo.hasNextPage).toBe(false);
    await act('destroy');
    service.clock.advance(500);
    const ended = (await renter.graphql(DETAILS, { id })).body.data.instance;
    expect(ended).toMatchObject({ usage, destroyedAt: at(1065), stopReason: 'USER' });
  });

  it('pages usage intervals and rejects cursors from other lists', async () => {
    const renter = await service.renter();
    const id = await rent(renter);
    const PAGE = `query ($id: ID!, $first: Int, $after: String) { instance(id: $id) {
      usageIntervals(first: $first, after: $after) { edges { cursor node { resource } } pageInfo { endCursor hasNextPage } } } }`;
    const first = (await renter.graphql(PAGE, { id, first: 1 })).body.data.instance.usageIntervals;
    expect(first.pageInfo.hasNextPage).toBe(true);
    const second = await renter.graphql(PAGE, { id, first: 1, after: first.pageInfo.endCursor });
    expect(second.body.data.instance.usageIntervals.edges).toHaveLength(1);
    for (const variables of [
      { after: 'nonsense' },
      { after: forged('T:["S:i-00000000","S:WATER","N:1"]') },
      { after: forged('T:["S:i-00000000","S:GPU"]') },
      { after: forged('Z:') },
      { first: 101 },
      { first: -1 },
    ]) {
      const { status, body } = await renter.graphql(PAGE, { id, ...variables });
      expect(status).toBeLessThan(500);
      expect(body.errors[0].extensions).toMatchObject({ code: 'invalid_request', status: 422 });
    }
  });
});

describe('the catalogue', () => {
  it('lists all models, regions and templates without a key', async () => {
    const { body } = await service.anyone.graphql(
      '{ gpuModels { slug tier } regions { code } templates { slug image } gpuModel(slug: "l40s") { name vramGb } }',
    );
    expect(body.data.gpuModels).toHaveLength(83);
    expect(body.data.regions).toHaveLength(32);
    expect(body.data.templates[0].slug).toBe('pytorch');
    expect(body.data.gpuModel).toEqual({ name: 'NVIDIA L40S', vramGb: 48 });
    const unknown = await service.anyone.graphql(
      '{ a: gpuModel(slug: "nothing") { slug } b: gpuModel(slug: "") { slug } }',
    );
    expect(unknown.body).toEqual({ data: { a: null, b: null } });
  });

  it('is linked from offers and prices', async () => {
    const { body } = await service.anyone.graphql(
      `{ offers(limit: 100) { gpu region gpuModel { slug } regionInfo { code } }
         pricing { data { slug gpuModel { slug } } } }`,
    );
    for (const { gpu, region, gpuModel, regionInfo } of body.data.offers) {
      expect([gpuModel.slug, regionInfo.code]).toEqual([gpu, region]);
    }
    for (const { slug, gpuModel } of body.data.pricing.data) expect(gpuModel.slug).toBe(slug);
  });
});
