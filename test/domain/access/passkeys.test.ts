import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKey, isAccepted, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import {
  beginPasskeySession,
  createPasskey,
  listPasskeys,
  passkeyCreationOptions,
  revokePasskey,
} from '../../../src/domain/accounts/passkeys.js';
import type { KeyRestrictions } from '../../../src/domain/accounts/rules/key-restrictions.js';
import {
  authenticateSession,
  beginSession,
  endSession,
  type SessionCaller,
} from '../../../src/domain/accounts/sessions.js';
import { passkeySite, signInOptions } from '../../../src/domain/accounts/webauthn.js';
import { formatInstant } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { base64url, encode, type Response, SoftwarePasskey } from '../../support/passkey.js';

const SITE = passkeySite('https://gateway.example');
const { origin: ORIGIN } = SITE;
const ADDRESS = '203.0.113.9';
const NOT_ACCEPTED = { code: 'unauthorized', message: 'the passkey was not accepted' };
const NOT_CREATED = { code: 'invalid_request', message: expect.stringMatching('must be a new passkey') };

let domain: TestDomain;
/** Another gateway on the same database. */
let other: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
  other = await openTestDomain({}, undefined, { url: domain.db.pool.options.connectionString!, clock: domain.clock });
});
afterAll(() => Promise.all([domain.close(), other.close()]));

/** Returns a session opened by a new key of a new account. */
async function keySession(restrictions: Partial<KeyRestrictions> = {}): Promise<SessionCaller> {
  const accountId = await domain.account();
  const { apiKey, secret } = await createApiKey(domain, accountId);
  await domain.db.pool.query(
    'update api_key set scopes = $2, expires_at = $3::timestamptz, networks = $4 where id = $1',
    [
      apiKey.id,
      restrictions.scopes ?? null,
      restrictions.expiresAt == null ? null : formatInstant(restrictions.expiresAt),
      restrictions.networks ?? null,
    ],
  );
  return sessionOf(await beginSession(domain, secret, ADDRESS));
}

async function sessionOf(token: string, address = ADDRESS): Promise<SessionCaller> {
  const { caller } = await authenticateSession(domain, token, address);
  if (caller === null) throw new Error('the session has ended');
  return caller;
}

const options = (caller: SessionCaller) => passkeyCreationOptions(domain, caller, SITE);
const create = (caller: SessionCaller, credential: unknown, site = SITE) =>
  createPasskey(domain, caller, site, { name: 'laptop', credential });
const signIn = (credential: unknown, address = ADDRESS, site = SITE) =>
  beginPasskeySession(other, site, credential, address);

async function withPasskey(restrictions?: Partial<KeyRestrictions>) {
  const caller = await keySession(restrictions);
  const passkey = new SoftwarePasskey();
  const { id } = await create(caller, passkey.create(await options(caller), ORIGIN));
  const assertion = async (forged: Partial<Response> = {}) =>
    passkey.get(await signInOptions(domain, SITE), ORIGIN, forged);
  return { caller, passkey, id, assertion };
}

describe('a session opened with a passkey', () => {
  it('has the rights, networks and end of the key whose session created the passkey', async () => {
    const end = domain.clock.now() + 3_600n;
    const restrictions = { scopes: ['read' as const], expiresAt: end, networks: ['203.0.113.0/24'] };
    const { caller, id, assertion } = await withPasskey(restrictions);
    const token = await signIn(await assertion());
    const session = await sessionOf(token);
    expect(session).toMatchObject({ accountId: caller.accountId, keyId: caller.keyId, passkeyId: id, ...restrictions });
    expect((await authenticateSession(domain, token, '198.51.100.1')).caller).toBeNull();
    await expect(signIn(await assertion(), '198.51.100.1')).rejects.toMatchObject({
      message: 'the API key is not accepted from this network',
    });
    domain.clock.advance(3_600);
    expect(await authenticateSession(domain, token, ADDRESS)).toEqual({ caller: null, fault: null });
    await expect(signIn(await assertion())).rejects.toMatchObject({ message: 'the API key has expired' });
    expect(await listPasskeys(domain, caller.accountId)).toEqual([]);
  });

  it("can't add another passkey", async () => {
    const { caller, assertion } = await withPasskey();
    const made = new SoftwarePasskey().create(await options(caller), ORIGIN);
    const session = await sessionOf(await signIn(await assertion()));
    await expect(options(session)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(create(session, made)).rejects.toMatchObject({ code: 'forbidden' });
  });

  it.each([
    ['its passkey is revoked', ({ caller, id }) => revokePasskey(domain, caller.accountId, id)],
    ['its key is revoked', ({ caller }) => revokeApiKey(domain, caller.accountId, caller.keyId)],
    ['the account is suspended', ({ caller }) => suspendAccount(domain, caller.accountId)],
  ] satisfies [string, (made: Awaited<ReturnType<typeof withPasskey>>) => Promise<unknown>][])(
    'ends when %s, after which the passkey is rejected',
    async (_what, end) => {
      const made = await withPasskey();
      const session = await sessionOf(await signIn(await made.assertion()));
      expect(await isAccepted(domain, session)).toBe(true);
      const signed = await made.assertion();
      await end(made);
      expect(await isAccepted(domain, session)).toBe(false);
      await expect(signIn(signed)).rejects.toMatchObject(NOT_ACCEPTED);
    },
  );

  it('never outlives a revocation at the same time', async () => {
    let sessions = 0;
    // The revocation comes first in the first rounds, and last in the last one.
    for (const laterMs of [0, 0, 5, 10, 15, 200]) {
      const { caller, id, assertion } = await withPasskey();
      const signed = await assertion();
      const revoked = sleep(laterMs).then(() => revokePasskey(domain, caller.accountId, id));
      const [begun] = await Promise.allSettled([signIn(signed), revoked]);
      if (begun.status === 'fulfilled') {
        sessions += 1;
        await expect.poll(async () => (await authenticateSession(other, begun.value, ADDRESS)).caller).toBeNull();
      }
      const { rows } = await domain.db.pool.query('select from console_session where key_id = $1 and passkey_id = $2', [
        caller.keyId,
        id,
      ]);
      expect(rows).toEqual([]);
    }
    expect(sessions).toBeGreaterThan(0);
  });
});

describe('signing in', () => {
  it('uses a challenge only once, even if two gateways receive the response at the same time', async () => {
    const { assertion } = await withPasskey();
    const signed = await assertion();
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => signIn(signed)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await expect(signIn(signed)).rejects.toMatchObject(NOT_ACCEPTED);
  });

  it('accepts a challenge for less than five minutes', async () => {
    const { assertion } = await withPasskey();
    const [early, late] = [await assertion(), await assertion()];
    domain.clock.advance(299);
    await signIn(early);
    domain.clock.advance(1);
    await expect(signIn(late)).rejects.toMatchObject(NOT_ACCEPTED);
  });

  it('forgets used challenges after a day', async () => {
    const { assertion } = await withPasskey();
    await signIn(await assertion());
    domain.clock.advance(86_401);
    await signIn(await assertion());
    const { rows } = await domain.db.pool.query('select from used_challenge');
    expect(rows).toHaveLength(1);
  });

  it.each([
    ['another origin', { origin: 'https://i-0.gateway.example' }],
    ['the same host over HTTP', { origin: 'http://gateway.example' }],
    ['another host', { host: 'evil.example' }],
    ['a ceremony to create a passkey', { type: 'webauthn.create' }],
    ['no user verification', { isVerified: false }],
    ["another key's handle", { userHandle: base64url(Buffer.from('key-0000000000000000')) }],
    ['a challenge of someone else', { challenge: base64url(Buffer.alloc(56, 7)) }],
    ['a short challenge', { challenge: 'AAAA' }],
  ])('rejects a signature for %s', async (_what, forged: Partial<Response>) => {
    const { assertion } = await withPasskey();
    await expect(signIn(await assertion(forged))).rejects.toMatchObject(NOT_ACCEPTED);
    await signIn(await assertion());
  });

  it('rejects a challenge for adding a passkey', async () => {
    const { caller, passkey } = await withPasskey();
    const { challenge } = await options(caller);
    const signed = passkey.get({ challenge, rpId: SITE.host }, ORIGIN);
    await expect(signIn(signed)).rejects.toMatchObject(NOT_ACCEPTED);
  });

  it('rejects changed bytes, an unknown passkey, and a known one at another host', async () => {
    const { passkey, assertion } = await withPasskey();
    const signed = await assertion();
    const changed = (member: keyof typeof signed.response) => {
      const bytes = Buffer.from(signed.response[member], 'base64url');
      bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
      return { ...signed, response: { ...signed.response, [member]: base64url(bytes) } };
    };
    for (const member of ['clientDataJSON', 'authenticatorData', 'signature'] as const)
      await expect(signIn(changed(member))).rejects.toMatchObject(NOT_ACCEPTED);
    await expect(signIn({ ...signed, id: base64url(Buffer.alloc(16)) })).rejects.toMatchObject(NOT_ACCEPTED);
    // Another passkey with the same id, as if its owner had copied it.
    const twin = new SoftwarePasskey(passkey.id);
    const forged = twin.get(await signInOptions(domain, SITE), ORIGIN, { userHandle: signed.response.userHandle });
    await expect(signIn(forged)).rejects.toMatchObject(NOT_ACCEPTED);
    const site = passkeySite('https://other.example');
    const elsewhere = passkey.get(await signInOptions(domain, site), site.origin);
    await expect(signIn(elsewhere, ADDRESS, site)).rejects.toMatchObject(NOT_ACCEPTED);
    await signIn(signed);
  });

  it('rejects a signature count that falls back, unless the authenticator never counts', async () => {
    const { passkey, assertion } = await withPasskey();
    await signIn(await assertion());
    await signIn(await assertion({ count: 5 }));
    for (const count of [5, 4, 0]) await expect(signIn(await assertion({ count }))).rejects.toMatchObject(NOT_ACCEPTED);
    passkey.count = 6;
    const outcomes = await Promise.allSettled([signIn(await assertion()), signIn(await assertion())]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it.each([null, 7, 'x', {}, { id: 'AA' }, { id: 'AA', response: { signature: '!' } }])(
    'names the field of a malformed response: %j',
    async (credential) => {
      await expect(signIn(credential)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(/^credential/),
      });
    },
  );
});

describe('creating a passkey', () => {
  it.each([
    ['another origin', { origin: 'https://i-0.gateway.example' }],
    ['another host', { host: 'evil.example' }],
    ['no user verification', { isVerified: false }],
    ['a sign-in', { type: 'webauthn.get' }],
  ])('rejects a response for %s', async (_what, forged: Partial<Response>) => {
    const caller = await keySession();
    const made = new SoftwarePasskey().create(await options(caller), ORIGIN, forged);
    await expect(create(caller, made)).rejects.toMatchObject(NOT_CREATED);
  });

  it('rejects a challenge of another session, of a sign-in, that was used, or that expired', async () => {
    const [caller, stranger] = [await keySession(), await keySession()];
    const own = await options(caller);
    const of = (challenge: string) => new SoftwarePasskey().create({ ...own, challenge }, ORIGIN);
    for (const { challenge } of [await options(stranger), await signInOptions(domain, SITE)])
      await expect(create(caller, of(challenge))).rejects.toMatchObject(NOT_CREATED);
    await create(caller, of(own.challenge));
    await expect(create(caller, of(own.challenge))).rejects.toMatchObject(NOT_CREATED);
    const { challenge } = await options(caller);
    domain.clock.advance(300);
    await expect(create(caller, of(challenge))).rejects.toMatchObject(NOT_CREATED);
  });

  it("ignores the authenticator's statement about its make", async () => {
    const caller = await keySession();
    const made = new SoftwarePasskey().create(await options(caller), ORIGIN, { format: 'packed' });
    expect(await create(caller, made)).toMatchObject({ name: 'laptop' });
  });

  // Buffer.from would allocate and fill an object's `length`.
  it.each([null, 7, ['a'], { length: 300_000_000 }])('rejects the challenge %j without delay', async (challenge) => {
    const caller = await keySession();
    const client = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge, origin: ORIGIN }));
    const { attestationObject } = new SoftwarePasskey().create(await options(caller), ORIGIN).response;
    const made = new SoftwarePasskey().createdWith(Buffer.from(attestationObject, 'base64url'), client);
    const start = performance.now();
    await expect(create(caller, made)).rejects.toMatchObject(NOT_CREATED);
    // It would take 30 s.
    expect(performance.now() - start).toBeLessThan(5_000);
  });

  it('rejects malformed attestations of any kind', async () => {
    const caller = await keySession();
    const { challenge } = await options(caller);
    const client = Buffer.from(JSON.stringify({ type: 'webauthn.create', challenge, origin: ORIGIN }));
    const nested = Buffer.alloc(12_000, 0x81);
    const endless = Buffer.from([0x9b, 0, 0, 0, 1, 0, 0, 0, 0]);
    const empty = encode(new Map([['authData', Buffer.alloc(0)]]));
    const short = encode(new Map([['authData', Buffer.alloc(37, 0xff)]]));
    for (const attestation of [nested, endless, empty, short, Buffer.from([0xff])]) {
      const made = new SoftwarePasskey().createdWith(attestation, client);
      await expect(create(caller, made)).rejects.toMatchObject(NOT_CREATED);
    }
    const huge = new SoftwarePasskey().createdWith(Buffer.alloc(20_000), client);
    await expect(create(caller, huge)).rejects.toMatchObject({ code: 'invalid_request' });
  });

  it("gives the same error for another account's passkey as for an invalid one", async () => {
    const { passkey, assertion } = await withPasskey();
    const stranger = await keySession();
    const twin = new SoftwarePasskey(passkey.id).create(await options(stranger), ORIGIN);
    await expect(create(stranger, twin)).rejects.toMatchObject(NOT_CREATED);
    await signIn(await assertion());
  });

  it('adds at most 10 passkeys to a key, also at the same time', async () => {
    const caller = await keySession();
    const made = await Promise.all(
      Array.from({ length: 12 }, async () => new SoftwarePasskey().create(await options(caller), ORIGIN)),
    );
    const outcomes = await Promise.allSettled(made.map((each) => create(caller, each)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
    expect(outcomes.find(({ status }) => status === 'rejected')).toMatchObject({
      reason: { code: 'action_failed', message: 'the API key has 10 passkeys, the maximum; revoke one first' },
    });
    expect((await options(caller)).excludeCredentials).toHaveLength(10);
    const name = 'x'.repeat(61);
    await expect(createPasskey(domain, caller, SITE, { name, credential: made[0] })).rejects.toMatchObject({
      message: 'name must be a string of 1 to 60 characters',
    });
  });

  it('fails once the session has ended or its key is revoked', async () => {
    const accountId = await domain.account();
    const { secret, apiKey } = await createApiKey(domain, accountId);
    const token = await beginSession(domain, secret, ADDRESS);
    const ended = await sessionOf(token);
    const made = new SoftwarePasskey().create(await options(ended), ORIGIN);
    await endSession(domain, token);
    await expect(create(ended, made)).rejects.toMatchObject({ code: 'unauthorized' });
    const revoked = await sessionOf(await beginSession(domain, secret, ADDRESS));
    const late = new SoftwarePasskey().create(await options(revoked), ORIGIN);
    await revokeApiKey(domain, accountId, apiKey.id);
    await expect(create(revoked, late)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});

it('passkeys are listed and revoked only in their own account', async () => {
  const { caller, id } = await withPasskey();
  const stranger = await keySession();
  expect(await listPasskeys(domain, stranger.accountId)).toEqual([]);
  for (const unknown of [id, 'pk-0', ''])
    await expect(revokePasskey(domain, stranger.accountId, unknown)).rejects.toMatchObject({ code: 'not_found' });
  expect(await listPasskeys(domain, caller.accountId)).toMatchObject([{ id, name: 'laptop', keyId: caller.keyId }]);
});

it.each(['http://gateway.example', 'https://192.0.2.1', 'https://[2001:db8::1]', 'http://127.0.0.1:8080'])(
  "browsers don't offer passkeys at %s",
  (origin) => {
    expect(() => passkeySite(origin)).toThrow('passkeys need a page with a host name over HTTPS, or at localhost');
  },
);

it.each(['https://gateway.example:8443', 'http://localhost:8080', 'https://localhost'])(
  'browsers offer passkeys at %s',
  (origin) => {
    expect(passkeySite(origin)).toEqual({ origin, host: new URL(origin).hostname });
  },
);
