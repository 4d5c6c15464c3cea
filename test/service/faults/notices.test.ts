import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDeps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { adjustAccount, creditAccount, resumeAccount, suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { authenticate, revokeApiKey } from '../../../src/domain/accounts/api-keys.js';
import { UNRESTRICTED } from '../../../src/domain/accounts/rules/key-restrictions.js';
import { deploy } from '../../../src/domain/instances/instances.js';
import { hashApiKey } from '../../../src/domain/kernel/api-key.js';
import { unitsOfMicro } from '../../../src/domain/kernel/money.js';
import { createTestDatabase } from '../../support/database.js';
import { type DatabaseWire, openWire } from '../../support/database-wire.js';
import type { Renter } from '../../support/gateway.js';
import { allCaughtUp, type Service, startService } from '../../support/service.js';

/** Two gateways on one database. The first gateway's change notices can be delayed or disconnected. */
let wire: DatabaseWire;
let first: Service;
let second: Service;
/** Another program that writes directly to the database. */
let another: pg.Client;

beforeAll(async () => {
  const database = await createTestDatabase();
  wire = await openWire(new URL(database));
  [first, second] = await Promise.all([
    startService({ databaseUrl: wire.url, rateLimitPerMinute: 1_000 }),
    startService({ databaseUrl: database, rateLimitPerMinute: 1_000 }),
  ]);
  another = new pg.Client({ connectionString: database });
  await another.connect();
});
afterAll(async () => {
  await another?.end();
  await second?.close();
  await first?.close();
  await wire?.close();
});
beforeEach(async () => {
  vi.restoreAllMocks();
  await bothCaughtUp();
});

const GPU = 'mi325x';
const PATIENCE = { timeout: 30_000, interval: 20 };

/** Waits repeatedly, since a previous test may have cut connections that are still being reopened. */
const bothCaughtUp = () => vi.waitFor(() => allCaughtUp([first, second]), PATIENCE);

async function offered(service: Service, id: string): Promise<boolean> {
  const { status, body } = await service.anyone.rest('GET', `/offers?gpu=${GPU}&limit=100`);
  expect(status).toBe(200);
  return body.data.some(({ machine_id }: { machine_id: string }) => machine_id === id);
}

async function available(service: Service): Promise<number> {
  const { body } = await service.anyone.graphql('{ pricing { data { slug availableGpus } } }');
  return body.data.pricing.data.find(({ slug }: { slug: string }) => slug === GPU).availableGpus;
}

const freeMachine = () => first.machine({ gpu: GPU, reliability: 1 });

const statusOf = async (renter: Renter) => (await renter.rest('GET', '/balance')).status;

async function keyOf({ accountId }: Renter): Promise<string> {
  const { rows } = await another.query('select id from api_key where account_id = $1 order by id limit 1', [accountId]);
  return rows[0].id;
}

/** Returns a renter whose key both gateways have cached. */
async function knownRenter(creditUsd = '100'): Promise<{ renter: Renter; elsewhere: Renter }> {
  const renter = await first.renter(creditUsd);
  const elsewhere = second.withKey(renter.key);
  await bothCaughtUp();
  for (const who of [renter, elsewhere]) for (let time = 0; time < 2; time += 1) expect(await statusOf(who)).toBe(200);
  return { renter, elsewhere };
}

const revoke = (id: string) => another.query('update api_key set revoked_at = now() where id = $1', [id]);
const setState = (id: string, state: string) =>
  another.query('update machine set state = $2::machine_state where id = $1', [id, state]);

/** Advances both clocks, which always show the same time. */
function advance(seconds: number): void {
  for (const { clock } of [first, second]) clock.advance(seconds);
}

/** Delays the result of the next query with this name, or its failure, until it is released. */
function holdQuery(pool: pg.Pool, name: string, fault?: Error): { reached: Promise<void>; release(): void } {
  let release = () => {};
  const free = new Promise<void>((resolve) => {
    release = resolve;
  });
  const real = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  const reached = new Promise<void>((resolve) => {
    const spy = vi.spyOn(pool, 'query').mockImplementation((async (...given: unknown[]) => {
      if ((given[0] as { name?: string }).name !== name) return real(...given);
      spy.mockRestore();
      const result = await real(...given);
      resolve();
      await free;
      if (fault !== undefined) throw fault;
      return result;
    }) as never);
  });
  return { reached, release };
}

/** Waits until the inventory has been reread. */
async function settled({ deps: { db, inventory } }: Service): Promise<void> {
  for (let seen = -1; seen !== inventory.version; ) {
    seen = inventory.version;
    for (let turn = 0; turn < 100; turn += 1) await db.pool.query('select 1');
  }
}

describe('a gateway reflects its own writes before any notice arrives', () => {
  /** Runs `work` while the first gateway receives no notices from the database. */
  async function withoutNotices(work: () => Promise<void>): Promise<void> {
    wire.holdNotices();
    try {
      await work();
    } finally {
      wire.releaseNotices();
    }
    await bothCaughtUp();
  }

  it('after a deploy, stop, start, preemption and destroy', async () => {
    const id = await first.machine({ gpu: GPU, numGpus: 3, reliability: 1 });
    const renter = await first.renter('1000');
    const other = await first.renter('1000');
    const free = await available(first);
    const expectFree = async (isFree: boolean) => {
      expect(await offered(first, id)).toBe(isFree);
      expect(await available(first)).toBe(isFree ? free : free - 3);
    };
    await withoutNotices(async () => {
      const rented = await renter.rest('POST', '/instances', { machine_id: id, type: 'interruptible', disk_gb: 1 });
      await expectFree(false);
      const path = `/instances/${rented.body.id}`;
      await renter.rest('POST', `${path}/actions`, { action: 'stop' });
      await expectFree(true);
      await renter.rest('POST', `${path}/actions`, { action: 'start' });
      await expectFree(false);
      const taken = await other.graphql('mutation($input: DeployInput!) { deploy(input: $input) { id } }', {
        input: { machineId: id, diskGb: 1 },
      });
      await expectFree(false);
      await other.rest('DELETE', `/instances/${taken.body.data.deploy.id}`);
      await expectFree(true);
    });
    await expectFree(true);
    await bothCaughtUp();
    expect(await offered(second, id)).toBe(true);
  });

  it('after a deployBest, a stop by suspension and a stop by exhausted credit', async () => {
    const id = await first.machine({ gpu: GPU, region: 'sa-br-sao', numGpus: 1, reliability: 1 });
    const renter = await first.renter('5');
    await withoutNotices(async () => {
      const input = { gpus: [GPU], regions: ['sa-br-sao'], diskGb: 1 };
      const query = 'mutation($input: DeployBestInput!) { deployBest(input: $input) { id machine { id } } }';
      const { body } = await renter.graphql(query, { input });
      expect(body.data.deployBest.machine.id).toBe(id);
      expect(await offered(first, id)).toBe(false);
      await suspendAccount(first.deps, renter.accountId);
      expect(await offered(first, id)).toBe(true);
      await resumeAccount(first.deps, renter.accountId);
      await renter.graphql('mutation($id: ID!) { action(id: $id, action: START) { id } }', {
        id: body.data.deployBest.id,
      });
      expect(await offered(first, id)).toBe(false);
      advance(86_400);
      // Reading settles everything that has fallen due.
      expect((await renter.rest('GET', '/instances')).body.data[0].status).toBe('stopped');
      expect(await offered(first, id)).toBe(true);
    });
  });

  it('after a key is revoked and after an account is suspended', async () => {
    const [revoked, suspended] = [await knownRenter(), await knownRenter()];
    await withoutNotices(async () => {
      const id = await keyOf(revoked.renter);
      await revoked.renter.graphql('mutation($id: ID!) { revokeApiKey(id: $id) { id } }', { id });
      expect(await statusOf(revoked.renter)).toBe(401);
      await suspendAccount(first.deps, suspended.renter.accountId);
      expect(await statusOf(suspended.renter)).toBe(401);
      await resumeAccount(first.deps, suspended.renter.accountId);
      expect(await statusOf(suspended.renter)).toBe(200);
    });
    expect(await statusOf(revoked.renter)).toBe(401);
    expect(await statusOf(suspended.renter)).toBe(200);
  });
});

describe('a cached key', () => {
  it('is refused immediately by the revoking gateway, and by others once notified', async () => {
    const { renter, elsewhere } = await knownRenter();
    const id = await keyOf(renter);
    await revokeApiKey(second.deps, renter.accountId, id);
    expect(await statusOf(elsewhere)).toBe(401);
    await bothCaughtUp();
    expect(await statusOf(renter)).toBe(401);
    expect((await renter.graphql('{ balance { balance } }')).status).toBe(401);
  });

  it('is refused by both gateways if another program revokes or removes it', async () => {
    for (const change of ['update api_key set revoked_at = now() where id = $1', 'delete from api_key where id = $1']) {
      const { renter, elsewhere } = await knownRenter();
      await another.query(change, [await keyOf(renter)]);
      await bothCaughtUp();
      expect([await statusOf(renter), await statusOf(elsewhere)]).toEqual([401, 401]);
    }
  });

  it('is refused while its account is suspended, without affecting other keys', async () => {
    const { renter, elsewhere } = await knownRenter();
    const bystander = await knownRenter();
    for (const [change, status] of [
      [suspendAccount, 401],
      [resumeAccount, 200],
      [suspendAccount, 401],
    ] as const) {
      await change(second.deps, renter.accountId);
      expect(await statusOf(elsewhere)).toBe(status);
      await bothCaughtUp();
      expect(await statusOf(renter)).toBe(status);
      expect([await statusOf(bystander.renter), await statusOf(bystander.elsewhere)]).toEqual([200, 200]);
    }
  });

  it('is dropped if notice of its revocation arrives during its lookup', async () => {
    const renter = await first.renter();
    const { apiKeyCache, db } = first.deps;
    const hash = hashApiKey(renter.key)!;
    const [{ id }] = (await another.query('select id from api_key where account_id = $1', [renter.accountId])).rows;
    const owner = {
      accountId: renter.accountId,
      keyId: id,
      ...UNRESTRICTED,
      spendUnits: 0n,
      burnRate: 0n,
      settledAt: 0n,
    };
    await apiKeyCache.get(hash, async () => {
      await revoke(id);
      await db.notices.caughtUp();
      // This is the state before the revocation.
      return owner;
    });
    expect(await statusOf(renter)).toBe(401);
  });

  it("has the current tier's rate limit despite passing time, stops and adjustments", async () => {
    const limits = async (who: Renter) => Number((await who.rest('GET', '/instances')).headers.get('ratelimit-limit'));
    const { renter, elsewhere } = await knownRenter('20000');
    // 8 × 5.95 USD per hour, and 0.07 for the disk.
    const machine_id = await first.machine({ gpu: 'gb200', numGpus: 8 });
    const { body } = await renter.rest('POST', '/instances', { machine_id, disk_gb: 500 });
    await bothCaughtUp();
    const both = async () => [await limits(renter), await limits(elsewhere)];
    expect(await both()).toEqual([1_000, 1_000]);
    // The spend is just below 100 USD and then above, without any write.
    advance(7_550);
    expect(await both()).toEqual([1_000, 1_000]);
    advance(2);
    expect(await both()).toEqual([2_000, 2_000]);
    advance(3_600 * 24);
    expect(await both()).toEqual([5_000, 5_000]);
    const stopped = await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'stop' });
    expect(stopped.status).toBe(200);
    await bothCaughtUp();
    // The spend no longer grows at that pace, since only the disk is charged.
    advance(3_600 * 24 * 300);
    expect(await both()).toEqual([5_000, 5_000]);
    await renter.rest('POST', `/instances/${body.id}/actions`, { action: 'start' });
    await bothCaughtUp();
    advance(3_600 * 200);
    expect(await both()).toEqual([10_000, 10_000]);
    // Credit does not count as spend.
    await creditAccount(first.deps, renter.accountId, { amountMicro: 1_000_000n });
    await adjustAccount(second.deps, renter.accountId, { amountMicro: -1_000_000n });
    await bothCaughtUp();
    expect(await both()).toEqual([10_000, 10_000]);
    for (const { deps } of [first, second]) {
      const { caller } = await authenticate(deps, renter.key, '');
      expect(caller?.requestsPerMinute).toBe(10_000);
    }
  });

  it("has the current tier's rate limit even if another program changes the spend", async () => {
    const { renter, elsewhere } = await knownRenter('20000');
    const limitOf = async (who: Renter) => (await who.rest('GET', '/instances')).headers.get('ratelimit-limit');
    expect([await limitOf(renter), await limitOf(elsewhere)]).toEqual(['1000', '1000']);
    const begin = 'update account set live_instances = 1, deployed_instances = 1 where id = $1';
    const end = 'update account set live_instances = 0, spend_units = $2 where id = $1';
    await another.query(begin, [renter.accountId]);
    await bothCaughtUp();
    expect([await limitOf(renter), await limitOf(elsewhere)]).toEqual(['1000', '1000']);
    await another.query(end, [renter.accountId, unitsOfMicro(600_000_000n)]);
    await bothCaughtUp();
    expect([await limitOf(renter), await limitOf(elsewhere)]).toEqual(['2000', '2000']);
  });
});

describe('missed notices', () => {
  it('are recovered if the server repeatedly ends the connection during writes', {
    timeout: 60_000,
  }, async () => {
    const id = await freeMachine();
    const keys = await Promise.all(Array.from({ length: 8 }, () => knownRenter()));
    for (const [round, { renter, elsewhere }] of keys.entries()) {
      const state = round % 2 === 0 ? 'DRAINED' : 'LISTED';
      expect(await offered(first, id)).toBe(round % 2 === 0);
      const keyId = await keyOf(renter);
      const { rowCount } = await another.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name = 'gpu-rental-gateway notices'`,
      );
      expect(rowCount).toBe(2);
      await setState(id, state);
      await revoke(keyId);
      for (const { deps } of [first, second]) {
        const isCaughtUp = async () =>
          deps.db.notices.caughtUp().then(
            () => true,
            () => false,
          );
        await expect.poll(isCaughtUp, PATIENCE).toBe(true);
      }
      expect([await offered(first, id), await offered(second, id)]).toEqual([state === 'LISTED', state === 'LISTED']);
      expect([await statusOf(renter), await statusOf(elsewhere)]).toEqual([401, 401]);
    }
  });

  it('about writes made while the connection is broken are sent on the next one', async () => {
    const id = await freeMachine();
    await bothCaughtUp();
    const renter = await first.renter();
    expect([await offered(first, id), await offered(second, id)]).toEqual([true, true]);
    wire.cutNotices();
    try {
      await expect.poll(() => first.deps.db.notices.isListening, PATIENCE).toBe(false);
      const query = 'mutation($input: DeployInput!) { deploy(input: $input) { id } }';
      expect((await renter.graphql(query, { input: { machineId: id } })).body.errors).toBeUndefined();
    } finally {
      wire.mendNotices();
    }
    await expect.poll(() => offered(second, id), PATIENCE).toBe(false);
    expect(await offered(first, id)).toBe(false);
  });

  it('about rentals are sent even while the connection is broken', async () => {
    const id = await freeMachine();
    await bothCaughtUp();
    const renter = await first.renter();
    expect([await offered(first, id), await offered(second, id)]).toEqual([true, true]);
    wire.cutNotices();
    try {
      await expect.poll(() => first.deps.db.notices.isListening, PATIENCE).toBe(false);
      // By now the other gateway has noticed the disconnection.
      await sleep(1_500);
      expect(await offered(second, id)).toBe(true);
      expect((await renter.rest('POST', '/instances', { machine_id: id })).status).toBe(201);
      await expect.poll(() => offered(second, id), PATIENCE).toBe(false);
      expect(first.deps.db.notices.isListening).toBe(false);
    } finally {
      wire.mendNotices();
    }
  });

  it('from a crashed gateway are recovered by the other gateways', async () => {
    const id = await freeMachine();
    const { renter, elsewhere } = await knownRenter();
    await bothCaughtUp();
    expect([await offered(first, id), await offered(second, id)]).toEqual([true, true]);
    // The crashed gateway's notification connection, and its rentals, which it never announces.
    const peer = new pg.Client({
      connectionString: second.databaseUrl,
      application_name: 'gpu-rental-gateway notices',
    });
    await peer.connect();
    const crashing = openDatabase(second.databaseUrl, 'after');
    try {
      await expect.poll(() => seenByAll(peer), PATIENCE).toBe(true);
      await deploy(createDeps(crashing, second.clock, second.deps.settings), renter.accountId, {
        machineId: id,
      });
    } finally {
      await peer.end();
      await crashing.close();
    }
    for (const service of [first, second]) await expect.poll(() => offered(service, id), PATIENCE).toBe(false);
    expect([await statusOf(renter), await statusOf(elsewhere)]).toEqual([200, 200]);
  });

  /** Whether both gateways have listed their peers since this one connected. */
  async function seenByAll(peer: pg.Client): Promise<boolean> {
    const { rows } = await another.query(
      `select count(*)::int as seen from pg_stat_activity gateway, pg_stat_activity peer
       where gateway.application_name = peer.application_name and gateway.datname = peer.datname
         and peer.pid = $1 and gateway.pid <> peer.pid
         and gateway.query like '%from pg_stat_activity%' and gateway.query_start > peer.backend_start`,
      [(peer as unknown as { processID: number }).processID],
    );
    return rows[0].seen === 2;
  }

  it('keep gateways from using anything cached until notices arrive again', async () => {
    const id = await freeMachine();
    const { renter } = await knownRenter();
    const bystander = await knownRenter();
    expect(await offered(first, id)).toBe(true);
    const query = '{ regions { code name } }';
    await first.anyone.graphql(query);
    wire.cutNotices();
    await expect.poll(() => first.deps.db.notices.isListening, PATIENCE).toBe(false);
    await setState(id, 'OFFLINE');
    await revoke(await keyOf(renter));
    await another.query(`update region set name = 'Elsewhere' where code = 'us-tx'`);
    // Keys are looked up again, and responses that might be outdated are refused.
    expect(await statusOf(renter)).toBe(401);
    expect(await statusOf(bystander.renter)).toBe(200);
    for (const path of ['/offers', `/offers?gpu=${GPU}&limit=100`, '/gpus/pricing']) {
      const { status, body, headers } = await first.anyone.rest('GET', path);
      expect([status, body.error.code]).toEqual([503, 'unavailable']);
      expect([headers.get('etag'), headers.get('cache-control')]).toEqual([null, null]);
      expect(headers.get('retry-after')).toBe('2');
    }
    expect((await first.anyone.graphql(query)).status).toBe(503);
    // Rentals continue.
    const machine_id = await second.machine({ gpu: GPU });
    expect((await bystander.renter.rest('POST', '/instances', { machine_id })).status).toBe(201);
    // Entries that are cached in the meantime don't outlast an unnoticed change either.
    await revoke(await keyOf(bystander.renter));
    wire.mendNotices();
    await expect.poll(() => first.deps.db.notices.isListening, PATIENCE).toBe(true);
    expect(await statusOf(bystander.renter)).toBe(401);
    expect(await offered(first, id)).toBe(false);
    expect(await offered(first, machine_id)).toBe(false);
    const { body } = await first.anyone.graphql(query);
    expect(body.data.regions.find(({ code }: { code: string }) => code === 'us-tx').name).toBe('Elsewhere');
  });

  it('keep gateways from caching a key that was looked up in the meantime', async () => {
    const renter = await first.renter();
    const { apiKeyCache, db } = first.deps;
    const id = await keyOf(renter);
    wire.cutNotices();
    await expect.poll(() => db.notices.isListening, PATIENCE).toBe(false);
    await apiKeyCache.get(hashApiKey(renter.key)!, async () => {
      // The key is revoked after it was read and before notices arrive again.
      await revoke(id);
      wire.mendNotices();
      await expect.poll(() => db.notices.isListening, PATIENCE).toBe(true);
      return { accountId: renter.accountId, keyId: id, ...UNRESTRICTED, spendUnits: 0n, burnRate: 0n, settledAt: 0n };
    });
    expect(await statusOf(renter)).toBe(401);
  });

  it('make gateways reread everything once notices arrive again', async () => {
    const [one, two, changed] = [await freeMachine(), await freeMachine(), await freeMachine()];
    const { db } = first.deps;
    expect(await offered(first, changed)).toBe(true);
    // When the connection is lost, one read is in progress and another is waiting for it.
    const held = holdQuery(db.pool, 'offered-some');
    db.notices.publish([{ table: 'machine', ids: [one] }]);
    await held.reached;
    db.notices.publish([{ table: 'machine', ids: [two] }]);
    wire.cutNotices();
    await expect.poll(() => db.notices.isListening, PATIENCE).toBe(false);
    held.release();
    await settled(first);
    await setState(changed, 'OFFLINE');
    wire.mendNotices();
    await expect.poll(() => db.notices.isListening, PATIENCE).toBe(true);
    expect(await offered(first, changed)).toBe(false);
  });

  it("don't result from a failed read, since the read is repeated", async () => {
    const id = await freeMachine();
    expect(await offered(first, id)).toBe(true);
    const { db } = first.deps;
    const held = holdQuery(db.pool, 'offered-some', Object.assign(new Error('away'), { code: 'ECONNREFUSED' }));
    await setState(id, 'DRAINED');
    await held.reached;
    held.release();
    await settled(first);
    expect(await offered(first, id)).toBe(false);
  });
});

describe('a temporary database outage', () => {
  it.each(['cut', 'refused'] as const)('with connections %s leads only to correct responses or 503s', async (how) => {
    const id = await freeMachine();
    const { renter } = await knownRenter();
    const bystander = await knownRenter();
    expect(await offered(first, id)).toBe(true);
    const seen: string[] = [];
    let isRequesting = true;
    const clients = ['/offers?limit=1', `/offers?gpu=${GPU}&limit=100`, '/gpus/pricing'].map(async (path) => {
      while (isRequesting) {
        const { status, body } = await first.anyone.rest('GET', path);
        seen.push(status === 200 ? 'ok' : `${status} ${body.error.code}`);
      }
    });
    if (how === 'cut') wire.cut();
    else {
      const refused = wire.refuse();
      wire.cut();
      await refused;
    }
    await expect.poll(() => first.deps.db.notices.isListening, PATIENCE).toBe(false);
    await setState(id, 'RETIRED');
    await revoke(await keyOf(renter));
    // Nothing is cached, and nothing can be looked up.
    expect([await statusOf(renter), await statusOf(bystander.renter)]).toEqual([503, 503]);
    await expect.poll(() => seen.at(-1), PATIENCE).toBe('503 unavailable');
    await wire.mend();
    await expect.poll(() => statusOf(bystander.renter), PATIENCE).toBe(200);
    await expect.poll(() => seen.at(-1), PATIENCE).toBe('ok');
    isRequesting = false;
    await Promise.all(clients);
    expect(new Set(seen)).toEqual(new Set(['ok', '503 unavailable']));
    expect(await offered(first, id)).toBe(false);
    expect(await statusOf(renter)).toBe(401);
  });
});
