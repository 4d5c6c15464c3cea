import {
  type GraphQLField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeyOnce } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { OPERATION_SCOPES, PUBLIC, SCOPES, type Scope } from '../../../src/domain/kernel/scopes.js';
import { routes } from '../../../src/rest/routes.js';
import { buildSchema } from '../../../src/schema/index.js';
import { gpu } from '../../support/cli/command.js';
import { client, type Renter, startGateway, type TestGateway } from '../../support/gateway.js';

const schema = buildSchema();
const ROOTS = [schema.getQueryType()!, schema.getMutationType()!, schema.getSubscriptionType()!];
const OPERATIONS = ROOTS.flatMap((type) =>
  Object.values(type.getFields()).map((field) => ({ name: `${type.name}.${field.name}`, kind: type.name, field })),
);
const INSTANCE = 'i-00000000';

let gateway: TestGateway;
let owner: Renter;
const keys = {} as Record<Scope, { renter: Renter; cookie: string }>;

beforeAll(async () => {
  gateway = await startGateway();
  owner = await gateway.renter();
  for (const scope of SCOPES) {
    const creator = { accountId: owner.accountId, ...UNRESTRICTED };
    const { secret } = await createApiKeyOnce(gateway.deps, creator, { scopes: [scope] });
    keys[scope] = { renter: client(gateway.address, secret!, owner.accountId), cookie: await signIn(secret!) };
  }
});
afterAll(() => gateway.close());

async function signIn(key: string): Promise<string> {
  const response = await fetch(`${gateway.address}/console/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: gateway.address },
    body: JSON.stringify({ key }),
  });
  expect(response.status).toBe(201);
  return response.headers.getSetCookie()[0]!.split(';')[0]!;
}

/** Returns a value that the type accepts, even if the domain rejects it. */
function literal(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literal(type.ofType);
  if (isListType(type)) return '[]';
  if (isEnumType(type)) return type.getValues()[0]!.name;
  if (isInputObjectType(type)) return `{ ${required(Object.values(type.getFields()))} }`;
  const known: Record<string, string> = { Int: '1', Float: '1', Boolean: 'true', USD: '1', Date: '"2026-11-01"' };
  return known[type.name] ?? (type.name === 'DateTime' ? '"2026-11-01T00:00:00Z"' : '"x"');
}

function required(inputs: readonly { name: string; type: GraphQLInputType; defaultValue?: unknown }[]): string {
  return inputs
    .filter(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
    .map(({ name, type }) => `${name}: ${literal(type)}`)
    .join(' ');
}

function documentOf(kind: string, field: GraphQLField<unknown, unknown>): string {
  const given = required(field.args);
  const page = field.args.some(({ name }) => name === 'first') ? 'first: 1' : '';
  const args = `${given} ${page}`.trim();
  const isLeaf = !('getFields' in namedType(field));
  return `${kind.toLowerCase()} { ${field.name}${args && `(${args})`} ${isLeaf ? '' : '{ __typename }'} }`;
}

// biome-ignore lint/suspicious/noExplicitAny: wrapped types
function namedType(field: { type: any }): any {
  let type = field.type;
  while (type.ofType) type = type.ofType;
  return type;
}

/** Returns the code and scope of the first refusal. For a stream, it is taken from the first event. */
async function codeOf(response: Response): Promise<{ code: string | undefined; scope: string | undefined }> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const reader = response.body!.getReader();
    const first = new TextDecoder().decode((await reader.read()).value);
    const more = first.includes('data:') ? '' : await nextText(reader);
    await reader.cancel();
    const [, json] = /data: ?(\{.*\})/.exec(first + more) ?? [];
    const error = json === undefined ? undefined : JSON.parse(json).errors?.[0];
    return { code: error?.extensions.code, scope: error?.extensions.scope };
  }
  const { errors } = (await response.json()) as { errors?: { extensions: { code: string; scope?: string } }[] };
  return { code: errors?.[0]?.extensions.code, scope: errors?.[0]?.extensions.scope };
}

/**
 * Reads the next chunk of text, or nothing after 300 ms. A refused stream sends an event immediately, and others may be
 * silent.
 */
async function nextText(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const silence = new Promise<string>((resolve) => setTimeout(resolve, 300, ''));
  return Promise.race([silence, reader.read().then(({ value }) => new TextDecoder().decode(value))]);
}

const send = (query: string, headers: Record<string, string>) =>
  fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: query.startsWith('subscription') ? 'text/event-stream' : 'application/json',
      ...headers,
    },
    body: JSON.stringify({ query }),
  });

describe('a scope', () => {
  it('is defined for every operation in the schema and for no others', () => {
    const names = new Set(OPERATIONS.map(({ name }) => name));
    for (const { name, field } of OPERATIONS) {
      expect(OPERATION_SCOPES, name).toHaveProperty([name]);
      expect(OPERATION_SCOPES[name] !== PUBLIC, name).toBe(field.extensions.needsKey === true);
    }
    for (const name of Object.keys(OPERATION_SCOPES).filter((each) => each.includes('.')))
      expect(names).toContain(name);
  });

  /** Returns the scope that an operation needs, and a different scope that varies between operations. */
  function scopesFor(needed: string, index: number): [Scope, Scope] {
    const others = SCOPES.filter((scope) => scope !== needed);
    return [SCOPES.find((scope) => scope === needed) ?? others[0]!, others[index % others.length]!];
  }

  it.each(OPERATIONS.map((operation, index) => ({ ...operation, index })))(
    'is checked for $name, both with a key and with a console session',
    async ({ name, kind, field, index }) => {
      const query = documentOf(kind, field);
      const needed = OPERATION_SCOPES[name]!;
      for (const scope of scopesFor(needed, index)) {
        const isAllowed = needed === PUBLIC || needed === scope;
        const { renter, cookie } = keys[scope];
        const credentials: Record<string, string>[] = [
          { authorization: `Bearer ${renter.key}` },
          { cookie, origin: gateway.address },
        ];
        for (const headers of credentials) {
          const { code, scope: missing } = await codeOf(await send(query, headers));
          if (isAllowed) expect([scope, code]).not.toContain('forbidden');
          else expect({ code, missing }, `${query} by ${scope}`).toEqual({ code: 'forbidden', missing: needed });
          expect(code).not.toBe('internal');
        }
      }
    },
  );

  it.each(routes.map((route, index) => ({ ...route, index })))(
    'is checked for REST $method $path',
    async ({ method, path, document, index }) => {
      const [, fieldName] = /result: (\w+)/.exec(document)!;
      const kind = document.trimStart().startsWith('mutation') ? 'Mutation' : 'Query';
      const needed = OPERATION_SCOPES[`${kind}.${fieldName}`]!;
      for (const scope of scopesFor(needed, index)) {
        const { status, body } = await keys[scope].renter.rest(
          method,
          path.replace('{id}', INSTANCE),
          method === 'POST' ? {} : undefined,
        );
        const isAllowed = needed === PUBLIC || needed === scope;
        expect(status === 403, `${method} ${path} by ${scope}`).toBe(!isAllowed);
        if (!isAllowed)
          expect(body.error).toMatchObject({ code: 'forbidden', message: expect.stringContaining(`scope ${needed}`) });
      }
    },
  );

  it.each<[Scope, string[]]>([
    ['read', ['instances']],
    ['rent', ['stop', INSTANCE]],
    ['access', ['ssh-key', 'remove', 'ssh-0000000000000000']],
    ['money', ['topup', 'BTC', '5', '--no-wait']],
    ['keys', ['key', 'revoke', 'key-0000000000000000']],
  ])('named %s is reported as missing by gpu %j', async (needed, args) => {
    const results = await Promise.all(
      SCOPES.map(async (scope) => {
        const env = { GPU_API_KEY: keys[scope].renter.key, GPU_BASE_URL: `${gateway.address}/v1` };
        const { stderr } = await gpu(args, env);
        return { scope, forbidden: stderr.includes(`lacks the scope ${needed}`), stderr };
      }),
    );
    for (const { scope, forbidden, stderr } of results) expect(forbidden, `${scope}: ${stderr}`).toBe(scope !== needed);
  });

  it('is required for node and quote to show the account', async () => {
    const { rent, read } = keys;
    const node = `{ node(id: "${owner.accountId}") { id } }`;
    expect((await rent.renter.graphql(node)).body.errors[0].extensions).toMatchObject({
      code: 'forbidden',
      scope: 'read',
    });
    expect((await read.renter.graphql(node)).body.data.node.id).toBe(owner.accountId);
    const [offer] = (await owner.graphql('{ offers(limit: 1) { machineId } }')).body.data.offers;
    const quote = `{ quote(input: { machineId: "${offer.machineId}" }) { account { balance } } }`;
    expect((await rent.renter.graphql(quote)).body.data.quote.account).toBeNull();
    expect((await read.renter.graphql(quote)).body.data.quote.account).not.toBeNull();
  });

  it('named access is required to pass secrets to a container', async () => {
    const [offer] = (await owner.graphql('{ offers(limit: 1) { machineId } }')).body.data.offers;
    const launch = { machine_id: offer.machineId, secrets: [{ secret: 'hf', variable: 'HF' }] };
    const refused = await keys.rent.renter.rest('POST', '/instances', launch);
    expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden']);
    const login = await keys.rent.renter.rest('POST', '/instances', {
      machine_id: offer.machineId,
      registry_login: 'hub',
    });
    expect(login.status).toBe(403);
  });
});

const CREATE = `mutation ($scopes: [KeyScope!], $expiresAt: String, $networks: [String!]) {
  createApiKey(scopes: $scopes, expiresAt: $expiresAt, networks: $networks) {
    secret apiKey { id scopes expiresAt networks } } }`;

describe('a restricted key', () => {
  it('is refused once it expires, as are its streams and sessions', async () => {
    const { clock } = gateway;
    const created = (await owner.graphql(CREATE, { expiresAt: '90s' })).body.data.createApiKey;
    expect(created.apiKey.expiresAt).toBe('2026-11-20T12:01:30Z');
    const short = client(gateway.address, created.secret);
    const cookie = await signIn(created.secret);
    const stream = await send('subscription { balanceChanged { balance } }', {
      authorization: `Bearer ${created.secret}`,
    });
    clock.advance(89);
    expect((await short.rest('GET', '/balance')).status).toBe(200);
    expect((await send('{ balance { balance } }', { cookie, origin: gateway.address })).status).toBe(200);
    clock.advance(1);
    const { status, body } = await short.rest('GET', '/balance');
    expect([status, body.error]).toEqual([401, { code: 'unauthorized', message: 'the API key has expired' }]);
    expect((await short.graphql('{ balance { balance } }')).status).toBe(401);
    expect((await send('{ balance { balance } }', { cookie, origin: gateway.address })).status).toBe(401);
    expect(await stream.text()).toContain('no longer accepted');
    // Public operations need no key.
    expect((await short.rest('GET', '/offers')).status).toBe(200);
  });

  it('can’t grant more permissions than it has', async () => {
    const limited = { scopes: ['READ', 'KEYS'], expiresAt: '1d', networks: ['127.0.0.0/8'] };
    const created = (await owner.graphql(CREATE, limited)).body.data.createApiKey;
    const small = client(gateway.address, created.secret);
    const child = (await small.graphql(CREATE, {})).body.data.createApiKey;
    expect(child.apiKey).toMatchObject({
      scopes: ['READ', 'KEYS'],
      expiresAt: created.apiKey.expiresAt,
      networks: ['127.0.0.0/8'],
    });
    for (const more of [{ scopes: ['RENT'] }, { expiresAt: '2d' }, { networks: ['0.0.0.0/0'] }]) {
      const { body } = await small.graphql(CREATE, more);
      expect(body.data).toEqual({ createApiKey: null });
      expect(body.errors[0].extensions).toMatchObject({ code: 'forbidden', status: 403, field: Object.keys(more)[0] });
    }
  });

  it('is accepted only from its networks, as reported by trusted proxies', async () => {
    const other = await startGateway({ databaseUrl: gateway.databaseUrl, trustProxy: 1 });
    try {
      other.clock.set(gateway.clock.now());
      const { secret } = (await owner.graphql(CREATE, { networks: ['203.0.113.0/24', '2001:db8::/32'] })).body.data
        .createApiKey;
      const from = async (address: string, at: TestGateway) =>
        client(at.address, secret).rest('GET', '/balance', undefined, { 'x-forwarded-for': address });
      for (const address of ['203.0.113.9', '2001:db8::7', '198.51.100.1, 203.0.113.9'])
        expect((await from(address, other)).status, address).toBe(200);
      for (const address of ['198.51.100.1', '203.0.113.9, 198.51.100.1'])
        expect((await from(address, other)).body.error?.message).toBe('the API key is not accepted from this network');
      // This gateway trusts no proxy, so the header is ignored.
      expect((await from('203.0.113.9', gateway)).status).toBe(401);
    } finally {
      await other.close();
    }
  });

  it.each([
    [{ scopes: [] }, 'scopes'],
    [{ expiresAt: '0s' }, 'expiresAt'],
    [{ expiresAt: '367d' }, 'expiresAt'],
    [{ networks: ['10.0.0.0/33'] }, 'networks'],
    [{ networks: [] }, 'networks'],
  ])('can’t be created with %j', async (input, field) => {
    const { errors } = (await owner.graphql(CREATE, input)).body;
    expect(errors[0]).toMatchObject({
      message: expect.stringMatching(new RegExp(`^${field}(\\[0\\])? must be`)),
      extensions: { field },
    });
  });
});

it.each<[Scope, string]>([
  ['rent', `setDeadlines(id: "${INSTANCE}", stopAt: "1h") { id launch { env } }`],
  ['rent', `setDeadlines(id: "${INSTANCE}", stopAt: "1h") { ...on Node { id ...on Instance { ...T } } }`],
  ['access', `openPort(id: "${INSTANCE}", port: 80) { timeline { edges { cursor } } }`],
  ['money', 'setMonthlyLimit(monthlyLimit: 5) { monthlyLimit balance }'],
  ['money', 'setMonthlyLimit(monthlyLimit: 5) { monthSpend @skip(if: true) }'],
])("a key with the scope %s but not read can't read more than it writes: %s", async (scope, field) => {
  const fragment = field.includes('...T') ? 'fragment T on Instance { timeline { edges { cursor } } }' : '';
  for (const _ of [1, 2, 3, 4]) {
    const { body } = await keys[scope].renter.graphql(`mutation { ${field} } ${fragment}`);
    expect(body.errors[0].extensions).toMatchObject({ code: 'forbidden', scope: 'read' });
  }
});

it('a write with a key that lacks read returns the fields it wrote', async () => {
  const { body } = await keys.money.renter.graphql('mutation { setMonthlyLimit(monthlyLimit: 7) { id monthlyLimit } }');
  expect(body.data.setMonthlyLimit.monthlyLimit).toBe(7);
});
