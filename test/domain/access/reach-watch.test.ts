import { pino } from 'pino';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Access, ReachWatch } from '../../../src/access/reach-watch.js';
import { Tunnels } from '../../../src/access/tunnels.js';
import { createApiKey, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { deploy, operatorAct } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

it('access ends when its key is revoked, even if the database fails at that moment', async () => {
  const accountId = await domain.account();
  const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
  const { apiKey } = await createApiKey(domain, accountId);
  const access: Access = {
    opener: { accountId, apiKeyId: apiKey.id, sshKeyId: null },
    instanceId: instance.id,
    outlivesStop: false,
  };
  // Each notice about the key causes one query, so the same access may be reported more than once.
  const ended = new Set<Access>();
  const watch = new ReachWatch({
    deps: domain,
    open: new Set([access]),
    onOver: (accesses) => {
      for (const each of accesses) ended.add(each);
    },
  });
  const { pool } = domain.db;
  await pool.query('alter table ssh_key rename to mislaid');
  const queries = vi.spyOn(pool, 'query');
  await revokeApiKey(domain, accountId, apiKey.id);
  const outcomes = () => queries.mock.settledResults.map(({ type }) => type);
  await expect.poll(outcomes, { timeout: 30_000 }).toContain('rejected');
  expect([...ended]).toEqual([]);
  queries.mockRestore();
  await pool.query('alter table mislaid rename to ssh_key');
  await expect.poll(() => [...ended], { timeout: 30_000 }).toEqual([access]);
  watch.close();
});

it("a tunnel doesn't open if its key is revoked while its instance is looked up", async () => {
  const accountId = await domain.account();
  const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
  const { apiKey } = await createApiKey(domain, accountId);
  await operatorAct(domain, instance.id, 'STOP');
  const { pool } = domain.db;
  await pool.query(
    `insert into container (instance_id, machine_id, image, env, ports) values ($1, $2, 'busybox', '{}', '{}')`,
    [instance.id, instance.machineId],
  );
  const tunnels = new Tunnels({ deps: domain, log: pino({ level: 'silent' }), tunnelsUrl: null });
  const query = pool.query.bind(pool) as (request: { name: string }) => Promise<unknown>;
  let isLookedUp = false;
  vi.spyOn(pool, 'query').mockImplementation((async (request: { name: string }) => {
    const found = await query(request);
    if (request.name === 'reach' && !isLookedUp) {
      isLookedUp = true;
      await revokeApiKey(domain, accountId, apiKey.id);
    }
    return found;
  }) as never);
  const opener = { accountId, apiKeyId: apiKey.id, sshKeyId: null };
  const target = { kind: 'logs' as const, tail: null, since: null, follow: true };
  await expect(tunnels.open({ opener, instanceId: instance.id, target })).rejects.toMatchObject({ reason: 'stopped' });
  vi.restoreAllMocks();
  tunnels.close();
});
