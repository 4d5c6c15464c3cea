import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Access, ReachWatch } from '../../../src/access/reach-watch.js';
import { createApiKey, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { deploy } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

it('what a key has opened ends with it, though the database fails just then', async () => {
  const accountId = await domain.account();
  const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
  const { apiKey } = await createApiKey(domain, accountId);
  const access: Access = {
    opener: { accountId, apiKeyId: apiKey.id, sshKeyId: null },
    instanceId: instance.id,
    outlivesStop: false,
  };
  // Each notice of the key asks once, so it may be told more than once.
  const over = new Set<Access>();
  const watch = new ReachWatch({
    deps: domain,
    open: new Set([access]),
    onOver: (those) => {
      for (const one of those) over.add(one);
    },
  });
  const { pool } = domain.db;
  await pool.query('alter table ssh_key rename to mislaid');
  const asked = vi.spyOn(pool, 'query');
  await revokeApiKey(domain, accountId, apiKey.id);
  const outcomes = () => asked.mock.settledResults.map(({ type }) => type);
  await expect.poll(outcomes, { timeout: 30_000 }).toContain('rejected');
  expect([...over]).toEqual([]);
  asked.mockRestore();
  await pool.query('alter table mislaid rename to ssh_key');
  await expect.poll(() => [...over], { timeout: 30_000 }).toEqual([access]);
  watch.close();
});
