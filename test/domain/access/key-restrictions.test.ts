import { afterAll, beforeAll, expect, it } from 'vitest';
import { createApiKey, createApiKeyOnce, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { type KeyRestrictions, UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { parseSshKey } from '../../../src/domain/accounts/rules/ssh-key.js';
import { addSshKey, findSshAccess } from '../../../src/domain/accounts/ssh-keys.js';
import { readReach } from '../../../src/domain/fleet/reach.js';
import { deploy } from '../../../src/domain/instances/instances.js';
import { formatInstant } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { newSshKey } from '../../support/ssh-key.js';

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

it('an SSH key is accepted only from addresses allowed by the API key that added it', async () => {
  const accountId = await domain.account();
  const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
  const now = domain.clock.now();
  const isAdmitted = async (text: string, address = '203.0.113.9') =>
    (await findSshAccess(domain, instance.id, parseSshKey(text).blob, address)) !== null;
  const addSshKeyBy = async (restrictions: Partial<KeyRestrictions>) => {
    const { apiKey } = await createApiKey(domain, accountId);
    await domain.db.pool.query('update api_key set expires_at = $2::timestamptz, networks = $3 where id = $1', [
      apiKey.id,
      restrictions.expiresAt == null ? null : formatInstant(restrictions.expiresAt),
      restrictions.networks ?? null,
    ]);
    const text = newSshKey();
    await addSshKey(domain, { accountId, keyId: apiKey.id, ...UNRESTRICTED, ...restrictions }, text);
    return text;
  };
  const [unrestricted, expiring, networkBound] = [
    await addSshKeyBy({}),
    await addSshKeyBy({ expiresAt: now + 60n }),
    await addSshKeyBy({ networks: ['203.0.113.0/24'] }),
  ];
  expect([await isAdmitted(unrestricted), await isAdmitted(expiring), await isAdmitted(networkBound)]).toEqual([
    true,
    true,
    true,
  ]);
  expect([await isAdmitted(unrestricted, '198.51.100.1'), await isAdmitted(networkBound, '198.51.100.1')]).toEqual([
    true,
    false,
  ]);
  domain.clock.advance(60);
  expect([await isAdmitted(unrestricted), await isAdmitted(expiring), await isAdmitted(networkBound)]).toEqual([
    true,
    false,
    true,
  ]);
});

it('access ends in the second in which the API key that granted it expires', async () => {
  const accountId = await domain.account();
  const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
  const { apiKey } = await createApiKey(domain, accountId);
  const end = domain.clock.now() + 60n;
  await domain.db.pool.query('update api_key set expires_at = $2::timestamptz where id = $1', [
    apiKey.id,
    formatInstant(end),
  ]);
  const opener = { accountId, apiKeyId: apiKey.id, sshKeyId: null };
  const state = async () => (await readReach(domain, opener, instance.id)).state;
  domain.clock.advance(59);
  expect(await state()).not.toBe('unknown');
  domain.clock.advance(1);
  expect(await state()).toBe('unknown');
});

it('no API or SSH key is added if the requesting key is revoked before the write', async () => {
  const accountId = await domain.account();
  const { apiKey } = await createApiKey(domain, accountId);
  const creator = { accountId, keyId: apiKey.id, ...UNRESTRICTED };
  const client = await domain.db.pool.connect();
  await client.query('begin');
  await client.query('select from account where id = $1 for no key update', [accountId]);
  const grants = Promise.allSettled([
    createApiKeyOnce(domain, creator, {}),
    createApiKeyOnce(domain, creator, { monthlyLimit: 5 }),
    addSshKey(domain, creator, newSshKey()),
  ]);
  const count = async () => {
    const { rows } = await domain.db.pool.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows[0]!.count;
  };
  await expect.poll(count).toBe(3);
  await revokeApiKey(domain, accountId, apiKey.id);
  await client.query('commit');
  client.release();
  const refused = { status: 'rejected', reason: { code: 'unauthorized' } };
  expect(await grants).toMatchObject([refused, refused, refused]);
});
