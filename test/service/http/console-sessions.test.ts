import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/compose/config.js';
import { openGateway } from '../../../src/compose/gateway.js';
import { resumeAccount, suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKey, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { TestClock } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { type EventStream, subscribe } from '../../support/events.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

const WITHIN = { timeout: 2_000, interval: 20 };
const BALANCE = '{ balance { balance } }';
const CHANGED = 'subscription { accountChanged { account { id } } }';

/** Two gateways on one database. */
let here: Service;
let there: Service;
const streams: EventStream[] = [];

beforeAll(async () => {
  here = await startService({ signup: 'open' });
  there = await startService({ databaseUrl: here.databaseUrl, trustProxy: 1 });
});
afterEach(() => {
  for (const stream of streams.splice(0)) stream.abort();
});
afterAll(() => Promise.all([here.close(), there.close()]));

type Headers = Record<string, string>;

const call = (service: Service, method: string, path: string, headers: Headers = {}, body?: unknown) =>
  fetch(service.address + path, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });

/** Returns the headers of a request from the service's own page. */
const own = (service: Service, cookie?: string): Headers => ({ origin: service.address, ...(cookie && { cookie }) });

function cookieOf(response: Response): string {
  const [cookie] = response.headers.getSetCookie();
  return cookie!.split(';')[0]!;
}

async function signIn(service: Service, key: string, headers: Headers = own(service)): Promise<string> {
  const response = await call(service, 'POST', '/console/session', headers, { key });
  expect(response.status).toBe(201);
  return cookieOf(response);
}

async function graphql(service: Service, headers: Headers, query = BALANCE) {
  const response = await call(service, 'POST', '/graphql', headers, { query });
  return { status: response.status, body: await response.json() };
}

async function follow(service: Service, headers: Headers): Promise<EventStream> {
  const stream = await subscribe(service.address, CHANGED, { headers });
  streams.push(stream);
  return stream;
}

async function hasEnded(service: Service, cookie: string): Promise<boolean> {
  return (await graphql(service, own(service, cookie))).status === 401;
}

describe('a console session', () => {
  it("represents its key on both gateways' /graphql and shows its account", async () => {
    const renter = await here.renter('7');
    const response = await call(here, 'POST', '/console/session', own(here), { key: renter.key });
    const [header] = response.headers.getSetCookie();
    expect(header).toMatch(/^console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({ signedIn: true, signup: 'open', expiresAt: '2026-11-21T00:00:00Z' });
    const cookie = cookieOf(response);
    for (const service of [here, there]) {
      const { body } = await graphql(service, own(service, cookie), '{ account { id balance } apiKeys { isCurrent } }');
      expect(body.data).toEqual({ account: { id: renter.accountId, balance: 7 }, apiKeys: [{ isCurrent: true }] });
    }
    const shown = await (await call(here, 'GET', '/console/session', { cookie })).json();
    expect(shown).toMatchObject({
      signedIn: true,
      account: { id: renter.accountId },
      key: { lastFour: renter.key.slice(-4) },
    });
    expect(JSON.stringify(shown)).not.toContain(renter.key);
    expect(await (await call(there, 'GET', '/console/session')).json()).toEqual({
      signedIn: false,
      signup: 'closed',
      contact: null,
      ssh: false,
    });
    // Mutations are executed, and streams open.
    const created = await graphql(
      here,
      own(here, cookie),
      'mutation { createApiKey(name: "laptop") { apiKey { name } secret } }',
    );
    expect(created.body.data.createApiKey).toMatchObject({ apiKey: { name: 'laptop' } });
    expect(await (await follow(there, own(there, cookie))).next()).toEqual({ account: { id: renter.accountId } });
  });

  it("is stored as a hash of a new token and replaces the browser's previous session", async () => {
    const { key } = await here.renter();
    const planted = `console=${randomBytes(32).toString('base64url')}`;
    const first = await signIn(here, key, own(here, planted));
    expect(first).not.toBe(planted);
    expect(await hasEnded(here, planted)).toBe(true);
    const second = await signIn(here, key, own(here, first));
    expect([await hasEnded(here, first), await hasEnded(here, second)]).toEqual([true, false]);
    const [token] = second.split('=').slice(1);
    const rows = await here.sql('select token_hash, console_session::text as text from console_session');
    expect(
      rows.some(({ token_hash }) =>
        createHash('sha256')
          .update(token!)
          .digest()
          .equals(token_hash as Buffer),
      ),
    ).toBe(true);
    for (const { text } of rows) expect(text).not.toContain(token);
    // There are two cookies with the same name, so one of them was planted.
    expect(await hasEnded(here, `${planted}; ${second}`)).toBe(true);
  });

  it('ends if it is the oldest of more than 20 for a key', async () => {
    const { key } = await here.renter();
    const cookies = [await signIn(there, key, { ...own(there), 'x-forwarded-for': '192.0.2.1' })];
    for (let count = 0; count < 20; count += 1) {
      here.clock.advance(1);
      there.clock.advance(1);
      cookies.push(await signIn(there, key, { ...own(there), 'x-forwarded-for': `192.0.2.${count}` }));
    }
    const oldest = () => Promise.all(cookies.slice(0, 2).map((cookie) => hasEnded(there, cookie)));
    await expect.poll(oldest, WITHIN).toEqual([true, false]);
  });

  it('is accepted only on /graphql', async () => {
    const { key } = await here.renter();
    const cookie = await signIn(here, key);
    for (const [method, path] of [
      ['GET', '/v1/balance'],
      ['GET', '/v1/instances'],
      ['POST', '/v1/instances'],
    ] as const) {
      expect((await call(here, method, path, own(here, cookie), method === 'POST' ? {} : undefined)).status).toBe(401);
    }
    const query = new URLSearchParams({ query: BALANCE });
    expect((await call(here, 'GET', `/graphql?${query}`, own(here, cookie))).status).toBe(401);
    // If a key is given, only the key counts.
    expect((await graphql(here, { ...own(here, cookie), authorization: 'Bearer gpu_live_0' })).status).toBe(401);
  });
});

describe('a page from another origin', () => {
  it('can neither use the cookie nor sign in, sign out or sign up', async () => {
    const { key } = await here.renter();
    const cookie = await signIn(here, key);
    const port = new URL(here.address).port;
    for (const origin of [
      'https://evil.example',
      'null',
      `http://localhost.evil.example:${port}`,
      `https://127.0.0.1:${port}`,
      undefined,
    ]) {
      const headers = { cookie, ...(origin && { origin }) };
      for (const query of [BALANCE, 'mutation { createApiKey { secret } }']) {
        const { status, body } = await graphql(here, headers, query);
        expect([origin, status, body.errors[0].extensions.code]).toEqual([origin, 401, 'unauthorized']);
      }
      expect(await (await follow(here, headers)).next()).toMatchObject({ code: 'unauthorized' });
      for (const [method, body] of [
        ['POST', { key }],
        ['DELETE', undefined],
      ] as const) {
        expect((await call(here, method, '/console/session', headers, body)).status).toBe(401);
      }
      expect((await call(here, 'POST', '/console/account', headers, {})).status).toBe(401);
    }
    expect(await hasEnded(here, cookie)).toBe(false);
    const session = await call(here, 'GET', '/console/session', { cookie, 'sec-fetch-site': 'same-site' });
    expect(await session.json()).toMatchObject({ signedIn: false });
    // No page of another origin may ever read the response to a request with cookies.
    const answer = await call(here, 'POST', '/graphql', own(here, cookie), { query: BALANCE });
    expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  });

  it('is recognized by the protocol reported by a trusted proxy', async () => {
    const { key } = await here.renter();
    const { host } = new URL(there.address);
    const behindTls = { 'x-forwarded-proto': 'https', origin: `https://${host}` };
    const response = await call(there, 'POST', '/console/session', behindTls, { key });
    expect(response.headers.getSetCookie()[0]).toMatch(
      /^__Host-console=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
    );
    const cookie = cookieOf(response);
    expect((await graphql(there, { ...behindTls, cookie })).status).toBe(200);
    expect((await graphql(there, { ...behindTls, origin: `http://${host}`, cookie })).status).toBe(401);
    // An untrusted proxy's header is ignored.
    const from = own(here);
    expect(
      (
        await call(here, 'POST', '/console/session', { ...from, 'x-forwarded-proto': 'https' }, { key })
      ).headers.getSetCookie()[0],
    ).toMatch(/^console=/);
  });
});

describe('a session and its streams', () => {
  async function signedIn(): Promise<{ renter: Renter; cookie: string; open: EventStream[] }> {
    const renter = await here.renter();
    const cookie = await signIn(here, renter.key);
    const open = [await follow(here, own(here, cookie)), await follow(there, own(there, cookie))];
    for (const stream of open) expect(await stream.next()).toEqual({ account: { id: renter.accountId } });
    return { renter, cookie, open };
  }

  /** Expects the session and its streams to end on both gateways within 2 s. */
  async function expectEnd({ cookie, open }: { cookie: string; open: EventStream[] }): Promise<void> {
    await expect
      .poll(() => Promise.all([hasEnded(here, cookie), hasEnded(there, cookie)]), WITHIN)
      .toEqual([true, true]);
    for (const stream of open) {
      await expect.poll(() => stream.text(), WITHIN).toContain('event: complete');
      expect(await stream.next()).toMatchObject({ code: 'unauthorized' });
    }
  }

  it("end when the user signs out, without affecting the key's other sessions", async () => {
    const session = await signedIn();
    const other = await signIn(there, session.renter.key, { ...own(there), 'x-forwarded-for': '192.0.2.77' });
    const otherStream = await follow(there, own(there, other));
    await otherStream.next();
    const response = await call(here, 'DELETE', '/console/session', own(here, session.cookie));
    expect([response.status, response.headers.getSetCookie()[0]]).toEqual([
      204,
      'console=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect(await hasEnded(here, session.cookie)).toBe(true);
    await expectEnd(session);
    expect(await hasEnded(there, other)).toBe(false);
    expect(otherStream.text()).not.toContain('errors');
    expect((await call(here, 'DELETE', '/console/session', own(here))).status).toBe(204);
  });

  it('end when their key is revoked', async () => {
    const session = await signedIn();
    const keys = await session.renter.graphql('{ apiKeys { id } }');
    await revokeApiKey(there.deps, session.renter.accountId, keys.body.data.apiKeys[0].id);
    await expectEnd(session);
  });

  it('end permanently when the account is suspended', async () => {
    const session = await signedIn();
    await suspendAccount(there.deps, session.renter.accountId);
    await expectEnd(session);
    await resumeAccount(there.deps, session.renter.accountId);
    await expect.poll(async () => (await session.renter.graphql(BALANCE)).status, WITHIN).toBe(200);
    expect(await hasEnded(here, session.cookie)).toBe(true);
  });

  it('end after exactly 12 hours', async () => {
    const session = await signedIn();
    const pass = (seconds: number) => {
      for (const { clock } of [here, there]) clock.advance(seconds);
    };
    pass(12 * 3_600 - 1);
    await sleep(1_200);
    expect([await hasEnded(here, session.cookie), await hasEnded(there, session.cookie)]).toEqual([false, false]);
    pass(1);
    expect(await hasEnded(there, session.cookie)).toBe(true);
    await expectEnd(session);
    const { key } = session.renter;
    expect(await here.sql('select count(*)::int as count from console_session where expires_at <= now()')).toEqual([
      { count: 0 },
    ]);
    await signIn(here, key);
  });
});

describe('session limits', () => {
  it('apply to sign-ins per address and to the size of the request body', async () => {
    const from = (address: string) => ({ ...own(there), 'x-forwarded-for': address });
    const attempt = async (address: string, body: unknown = { key: `gpu_live_${'0'.repeat(40)}` }) =>
      call(there, 'POST', '/console/session', from(address), body);
    const statuses = [];
    for (let count = 0; count < 21; count += 1) statuses.push((await attempt(`2001:db8:0:1::${count}`)).status);
    expect(statuses).toEqual([...new Array(20).fill(401), 429]);
    const refused = await attempt('2001:db8:0:1:ffff::1');
    expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([
      429,
      expect.toSatisfy((seconds) => seconds >= 1 && seconds <= 3),
    ]);
    expect((await attempt('2001:db8:0:2::1')).status).toBe(401);
    expect((await attempt('198.51.100.1', { key: 7 })).status).toBe(422);
    expect((await attempt('198.51.100.1', [])).status).toBe(422);
    expect((await attempt('198.51.100.1', { key: 'x'.repeat(200_000) })).status).toBe(413);
  });

  it('apply to sign-ups per address and in total, if the operator allows sign-ups', async () => {
    const create = (service: Service) => call(service, 'POST', '/console/account', own(service), {});
    const made = await create(here);
    const { account, key } = await made.json();
    expect([made.status, made.headers.get('cache-control')]).toEqual([201, 'no-store']);
    const { body } = await graphql(here, own(here, await signIn(here, key)), '{ account { id name balance demo } }');
    expect(body.data.account).toEqual({ id: account.id, name: 'Signed up', balance: 0, demo: false });
    expect([(await create(here)).status, (await create(here)).status, (await create(here)).status]).toEqual([
      201, 201, 429,
    ]);
    expect((await create(there)).status).toBe(404);

    const another = await startService({ databaseUrl: here.databaseUrl, signup: 'open' });
    try {
      another.clock.set(here.clock.now());
      await here.sql(
        `insert into account (id, name, created_at, settled_at, signed_up_at)
         select 'acc-' || lpad(to_hex(n), 16, 'f'), 'Signed up', $1, $1, $1 from generate_series(1, 196) n`,
        [new Date(Number(here.clock.now()) * 1_000)],
      );
      // The connections are opened first, so the requests count concurrently and each would see room for one.
      await Promise.all([1, 2, 3, 4].map(() => another.deps.db.pool.query('select pg_sleep(0.2)')));
      const last = await Promise.all([create(another), create(another), create(another)]);
      expect(last.map(({ status }) => status).sort()).toEqual([201, 429, 429]);
    } finally {
      await another.close();
    }
  });
});

describe('a gateway without a console', () => {
  it('offers no sessions', async () => {
    const without = await startService({ databaseUrl: here.databaseUrl, console: false });
    try {
      const { key } = await here.renter();
      const cookie = await signIn(here, key);
      expect((await graphql(without, own(without, cookie))).status).toBe(401);
      expect((await call(without, 'GET', '/console/session', { cookie })).status).toBe(404);
    } finally {
      await without.close();
    }
  });
});

it("the gateway's log contains neither keys nor session tokens", async () => {
  const lines: string[] = [];
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const config = {
    ...readConfig({}),
    port: 0,
    sshPort: null,
    databaseUrl: await createTestDatabase(),
    signup: 'open' as const,
  };
  const gateway = await openGateway(config, new TestClock(), log);
  try {
    const service = gateway as unknown as Service;
    const { key } = await (await call(service, 'POST', '/console/account', own(service), {})).json();
    const cookie = await signIn(service, key);
    const other = (
      await createApiKey(
        gateway.deps,
        (
          await graphql(service, own(service, cookie), '{ account { id } }')
        ).body.data.account.id,
      )
    ).secret;
    await call(service, 'POST', '/console/session', own(service), { key: `${other}x` });
    await call(service, 'POST', `/console/session/${key}`, own(service), { key });
    await call(service, 'POST', '/console/session', own(service), `{"key":"${key}`);
    await call(service, 'DELETE', '/console/session', own(service, cookie));
    await expect
      .poll(() => lines.filter((line) => line.includes('/console/session')).length, WITHIN)
      .toBeGreaterThan(3);
    const [, token] = cookie.split('=');
    for (const secret of [key, other, token!]) expect(lines.join('')).not.toContain(secret);
  } finally {
    await gateway.close();
  }
});
