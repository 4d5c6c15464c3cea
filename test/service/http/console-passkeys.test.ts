import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApiKeyOnce } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { SoftwarePasskey } from '../../support/passkey.js';
import { type Service, startService } from '../../support/service.js';

const WITHIN = { timeout: 2_000, interval: 20 };
const ORIGIN = 'https://gateway.example';

/** A gateway behind a trusted proxy that terminates TLS for ORIGIN, and one without a proxy. */
let here: Service;
let direct: Service;

beforeAll(async () => {
  here = await startService({ publicUrl: ORIGIN, trustProxy: 1 });
  direct = await startService({ databaseUrl: here.databaseUrl });
});
afterAll(() => Promise.all([here.close(), direct.close()]));

type Headers = Record<string, string>;

/** Returns the headers of a request from ORIGIN's page. Each test has its own address, because attempts are limited. */
const page = (cookie?: string, address = '192.0.2.1'): Headers => ({
  origin: ORIGIN,
  'x-forwarded-proto': 'https',
  'x-forwarded-for': address,
  ...(cookie && { cookie }),
});

async function post(path: string, headers: Headers, body: unknown = {}, service = here) {
  const response = await fetch(`${service.address}/console/session${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const [cookie = ''] = response.headers.getSetCookie();
  return {
    status: response.status,
    headers: response.headers,
    cookie: cookie.split(';')[0]!,
    body: await response.json(),
  };
}

async function signedIn(scopes?: readonly ('read' | 'keys')[]) {
  const renter = await here.renter();
  const created =
    scopes && (await createApiKeyOnce(here.deps, { accountId: renter.accountId, ...UNRESTRICTED }, { scopes }));
  const { cookie } = await post('', page(), { key: created?.secret ?? renter.key });
  return { renter, cookie };
}

async function withPasskey(address?: string) {
  const { renter, cookie } = await signedIn();
  const passkey = new SoftwarePasskey();
  const options = await post('/passkeys/options', page(cookie, address));
  const credential = passkey.create(options.body, ORIGIN);
  const created = await post('/passkeys', page(cookie, address), { name: 'laptop', credential });
  const signed = async () => {
    const request = await post('/passkey/options', page(undefined, address));
    return { credential: passkey.get(request.body, ORIGIN) };
  };
  return { renter, cookie, passkey, created, signed };
}

const graphql = async (cookie: string, query: string) => {
  const response = await fetch(`${here.address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...page(cookie) },
    body: JSON.stringify({ query }),
  });
  return { status: response.status, body: await response.json() };
};

describe('a passkey', () => {
  it('opens a session of its key, until it is revoked', async () => {
    const { renter, created, signed } = await withPasskey();
    expect([created.status, created.body]).toEqual([
      201,
      { id: expect.stringMatching(/^pk-[0-9a-f]{16}$/), name: 'laptop', createdAt: '2026-11-20T12:00:00Z' },
    ]);
    const session = await post('/passkey', page(), await signed());
    expect([session.status, session.body]).toMatchObject([201, { signedIn: true }]);
    expect(session.headers.getSetCookie()[0]).toMatch(/^__Host-console=.*; HttpOnly; SameSite=Strict; .*Secure$/);
    const { id } = created.body;
    const shown = await fetch(`${here.address}/console/session`, { headers: page(session.cookie) });
    expect(await shown.json()).toMatchObject({
      account: { id: renter.accountId },
      key: { lastFour: renter.key.slice(-4) },
      passkey: { id, name: 'laptop' },
    });
    const query = '{ account { id } passkeys { id name keyId host isCurrent lastUsedAt } apiKeys { id isCurrent } }';
    const { data } = (await graphql(session.cookie, query)).body;
    expect(data).toEqual({
      account: { id: renter.accountId },
      passkeys: [
        {
          ...{ id, name: 'laptop', keyId: data.apiKeys[0].id, host: 'gateway.example', isCurrent: true },
          lastUsedAt: '2026-11-20T12:00:00Z',
        },
      ],
      apiKeys: [{ id: data.apiKeys[0].id, isCurrent: true }],
    });
    const revoked = await renter.graphql(`mutation { revokePasskey(id: "${id}") { id name keyId isCurrent } }`);
    expect(revoked.body.data.revokePasskey).toMatchObject({ id, name: 'laptop', isCurrent: false });
    await expect.poll(async () => (await graphql(session.cookie, query)).status, WITHIN).toBe(401);
    const late = await post('/passkey', page(), await signed());
    expect([late.status, late.body.error]).toEqual([
      401,
      { code: 'unauthorized', message: 'the passkey was not accepted' },
    ]);
    const entries = () =>
      renter
        .graphql('{ activity { edges { node { operation targets byConsole code } } } }')
        .then(({ body }) => body.data.activity.edges.map(({ node }: { node: object }) => node));
    expect(await entries()).toEqual([
      { operation: 'revokePasskey', targets: [id], byConsole: false, code: null },
      { operation: 'createPasskey', targets: [id], byConsole: true, code: null },
    ]);
  });

  it("replaces the browser's previous session, and its response works only once", async () => {
    const { cookie, signed } = await withPasskey();
    const body = await signed();
    const first = await post('/passkey', page(cookie), body);
    expect([first.status, (await graphql(cookie, '{ account { id } }')).status]).toEqual([201, 401]);
    expect((await post('/passkey', page(), body)).status).toBe(401);
  });

  it("can't be created by a session of a passkey or of a key without the scope keys", async () => {
    const { signed } = await withPasskey();
    const { cookie } = await post('/passkey', page(), await signed());
    const { renter, cookie: readOnly } = await signedIn(['read']);
    for (const each of [cookie, readOnly])
      for (const path of ['/passkeys', '/passkeys/options'])
        expect(await post(path, page(each))).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } });
    const refused = () => renter.graphql('{ activity { edges { node { operation code times } } } }');
    await expect
      .poll(async () => (await refused()).body.data.activity.edges, WITHIN)
      .toEqual([{ node: { operation: 'createPasskey', code: 'forbidden', times: 2 } }]);
  });
});

describe('passkey requests', () => {
  const PATHS = ['/passkey', '/passkey/options', '/passkeys', '/passkeys/options'];

  it("are accepted only from the gateway's own page, regardless of untrusted headers", async () => {
    const { cookie, signed } = await withPasskey('192.0.2.2');
    for (const origin of ['https://evil.example', 'https://i-0.gateway.example', 'null', undefined]) {
      const { origin: _own, ...others } = page(cookie, '192.0.2.2');
      for (const path of PATHS)
        expect((await post(path, { ...others, ...(origin && { origin }) })).status, `${path} ${origin}`).toBe(401);
    }
    // Without TLS there are no passkeys, even if the client claims that there is a proxy in front.
    const { host } = new URL(direct.address);
    const forged = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'gateway.example' };
    const claims = await post('/passkey', { ...forged, origin: ORIGIN }, await signed(), direct);
    expect(claims.status).toBe(401);
    const secure = await post('/passkey', { ...forged, origin: `https://${host}` }, await signed(), direct);
    expect(secure.status).toBe(401);
    const plain = await post('/passkey/options', { origin: `http://${host}` }, {}, direct);
    expect([plain.status, plain.body.error.message]).toEqual([422, expect.stringMatching(/^passkeys need a page/)]);
  });

  it('need a session to create one, an object as body, and the method POST', async () => {
    const { cookie } = await signedIn();
    for (const path of ['/passkeys', '/passkeys/options'])
      expect((await post(path, page(undefined, '192.0.2.3'))).status).toBe(401);
    for (const body of [[], 7, 'x', { credential: { id: 'AA', response: [] } }])
      expect((await post('/passkey', page(undefined, '192.0.2.3'), body)).status, JSON.stringify(body)).toBe(422);
    const huge = { name: 'laptop', credential: { id: 'A'.repeat(200_000) } };
    expect((await post('/passkeys', page(cookie, '192.0.2.3'), huge)).status).toBe(413);
    const nameless = await post('/passkeys', page(cookie, '192.0.2.3'), { credential: {} });
    expect(nameless.body.error.message).toMatch(/^name must be/);
    const read = await fetch(`${here.address}/console/session/passkey`, { headers: page() });
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });

  it('are limited per address', async () => {
    for (const path of ['/passkey', '/passkey/options']) {
      const statuses = [];
      for (let count = 0; count < 21; count += 1)
        statuses.push((await post(path, page(undefined, `2001:db8:0:9::${count}`))).status);
      expect(statuses).toEqual([...new Array(20).fill(path === '/passkey' ? 422 : 200), 429]);
    }
  });
});
