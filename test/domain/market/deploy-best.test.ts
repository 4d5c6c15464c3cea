import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { suspendAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { type DeployBestInput, deployBest } from '../../../src/domain/inventory/deploy-best.js';
import type { PricingMode } from '../../../src/domain/kernel/price-rule.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { type Like, onlyMachines } from '../../support/market/only-machines.js';

describe('deployBest', () => {
  let domain: TestDomain;
  let ann: string;
  let testNumber = 0;

  beforeAll(async () => {
    domain = await openTestDomain();
  });
  afterAll(() => domain.close());
  beforeEach(async () => {
    testNumber += 1;
    ann = await domain.account('10000');
  });
  afterEach(() => vi.restoreAllMocks());

  /** Leaves only these machines on offer. Their names are unique to the test. */
  async function offer(...machines: Like[]): Promise<void> {
    await onlyMachines(
      domain,
      machines.map((machine) => ({ ...machine, id: named(machine.id) })),
    );
  }
  const named = (id: string) => `${id}-${String(testNumber).padStart(3, '0')}`;

  async function best(input: DeployBestInput = {}, account = ann): Promise<string> {
    const { instance } = await deployBest(domain, account, { diskGb: 10, ...input });
    return instance.machineId.replace(/-\d{3}$/, '');
  }
  async function refusal(work: Promise<unknown>): Promise<string> {
    return work.then(
      () => 'none',
      ({ code, message }) => `${code}: ${message}`,
    );
  }
  const hold = async (id: string, account: string, mode: PricingMode) =>
    (await deploy(domain, account, { machineId: named(id), diskGb: 10, mode })).instance.id;

  it('takes only machines whose host agent runs containers, if that is requested', async () => {
    await offer({ id: 'record', reliability: 0.999 }, { id: 'hosted' });
    expect(await refusal(best({ filter: { hasAgent: true } }))).toMatch(
      /^deploy_failed: no matching machine.*, hasAgent true$/,
    );
    await domain.db.pool.query('insert into machine_heartbeat (machine_id, reachable) values ($1, true)', [
      named('hosted'),
    ]);
    await domain.db.pool.query('update machine set cpu = $2 where id = $1', [named('hosted'), 'as its agent says']);
    await domain.db.notices.caughtUp();
    expect(await best({ filter: { hasAgent: true } })).toBe('hosted');
    expect(await refusal(best({ filter: { hasAgent: true } }))).toContain('deploy_failed');
    expect(await refusal(best({ filter: { hasAgent: false, regions: ['us-ca'] } }))).toContain('hasAgent false');
    expect(await best()).toBe('record');
  });

  it('takes machines in order of price, then reliability, then id, until none remain', async () => {
    await offer(
      { id: 'two', numGpus: 2, reliability: 0.999 },
      { id: 'c', reliability: 0.95 },
      { id: 'b' },
      { id: 'a' },
      { id: 'cheap', gpu: 'rtx-3060', numGpus: 1, reliability: 0.9 },
    );
    const taken = [await best(), await best(), await best(), await best(), await best()];
    expect(taken).toEqual(['cheap', 'a', 'b', 'c', 'two']);
    expect(await refusal(best({ gpus: ['rtx-4090'], filter: { regions: ['us-tx'], pricePerGpuMax: 2 } }))).toBe(
      'deploy_failed: no matching machine is free now: on_demand, 10 GB of disk, regions us-tx, numMin 1, pricePerGpuMax 2.00, preferredGpus rtx-4090',
    );
  });

  it('locks in the same price and terms as deploy', async () => {
    await offer({ id: 'a', numGpus: 2 }, { id: 'b', numGpus: 2 });
    const { instance } = await deployBest(domain, ann, { mode: 'RESERVED', diskGb: 70, template: 'vllm' });
    const { instance: named_ } = await deploy(domain, ann, {
      machineId: named('b'),
      mode: 'RESERVED',
      diskGb: 70,
      template: 'vllm',
    });
    const { id: _, machineId: __, sequence: ___, hostId: ____, ...terms } = instance;
    expect(named_).toMatchObject(terms);
    expect(instance.gpuRate).toBe(572_000n);
  });

  it('tries the other regions for the first model before trying the next model', async () => {
    const input = { gpus: ['h100-sxm', 'rtx-4090'], regions: ['us-tx', 'us-mo'] };
    await offer(
      { id: 'other-model', gpu: 'rtx-3060' },
      { id: 'other-region', gpu: 'h100-sxm', region: 'us-va' },
      { id: '4090-mo', region: 'us-mo' },
      { id: '4090-tx', region: 'us-tx', numGpus: 8 },
      { id: 'h100-mo', gpu: 'h100-sxm', region: 'us-mo' },
      { id: 'h100-tx-8', gpu: 'h100-sxm', numGpus: 8 },
      { id: 'h100-tx', gpu: 'h100-sxm' },
    );
    const taken: string[] = [];
    for (let count = 0; count < 5; count += 1) taken.push(await best(input));
    expect(taken).toEqual(['h100-tx', 'h100-tx-8', 'h100-mo', '4090-tx', '4090-mo']);
    expect(await refusal(best(input))).toMatch(/^deploy_failed: no matching machine is free now/);
    expect(await best({ filter: { regions: ['us-va'] } })).toBe('other-region');
  });

  it('applies the filter as well as the preferences', async () => {
    await offer({ id: 'a', reliability: 0.97 }, { id: 'b', reliability: 0.98, numGpus: 2 }, { id: 'c', gpu: 'l4' });
    expect(await best({ gpus: ['rtx-4090'], filter: { reliabilityMin: 0.98 } })).toBe('b');
    expect(await refusal(best({ gpus: ['rtx-4090'], filter: { gpus: ['l4'] } }))).toMatch(/^deploy_failed/);
  });

  it("compares the price cap with the whole machine's price in the chosen mode", async () => {
    await offer({ id: 'a', numGpus: 2 }, { id: 'b', numGpus: 2 }, { id: 'c', numGpus: 2 });
    const prices = { ON_DEMAND: 0.88, INTERRUPTIBLE: 0.44, RESERVED: 0.572 };
    for (const [mode, price] of Object.entries(prices) as [PricingMode, number][]) {
      const under = await refusal(best({ mode, maxPricePerHour: price - 0.000001 }));
      expect(under).toMatch(/^deploy_failed: no matching machine is free now: .*at most 0\.\d+ USD per hour/);
      await best({ mode, maxPricePerHour: price });
    }
  });

  it('takes only a machine with enough free disk', async () => {
    await offer({ id: 'a', diskGb: 100 }, { id: 'b', diskGb: 500 }, { id: 'c', diskGb: 55 });
    const bob = await domain.account();
    const stopped = await hold('b', bob, 'ON_DEMAND');
    await act(domain, bob, { id: stopped, action: 'STOP' });
    expect(await best({ diskGb: 490 })).toBe('b');
    expect(await refusal(best({ diskGb: 101 }))).toMatch(/^deploy_failed: .*101 GB of disk/);
    expect(await best({ diskGb: 100 })).toBe('a');
  });

  it('takes a machine with room for the requested disk even if the filter allows less', async () => {
    await offer({ id: 'a', diskGb: 300 }, { id: 'b', diskGb: 500 }, { id: 'c', diskGb: 900 });
    expect(await best({ diskGb: 400, filter: { diskGbMin: 100 } })).toBe('b');
    expect(await best({ diskGb: 100, filter: { diskGbMin: 400 } })).toBe('c');
  });

  it('preempts only on request, for a higher mode and if no free machine is as cheap', async () => {
    await offer({ id: 'a' }, { id: 'b', reliability: 0.95 }, { id: 'dear', numGpus: 2 });
    const bob = await domain.account();
    const bobs = await hold('a', bob, 'INTERRUPTIBLE');
    const input = { filter: { includePreemptible: true } };
    expect(await best(input)).toBe('b');
    const other = await domain.account();
    expect(await best({ ...input, mode: 'INTERRUPTIBLE' }, other)).toBe('dear');
    expect(await refusal(best({ ...input, mode: 'INTERRUPTIBLE' }))).toMatch(/^deploy_failed: no matching machine/);
    expect(await refusal(best())).toMatch(/^deploy_failed: no matching machine/);
    expect(await best({ ...input, mode: 'RESERVED' })).toBe('a');
    const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id: bobs } });
    expect(row).toMatchObject({ status: 'STOPPED', stopReason: 'PREEMPTED' });
    expect((await audit(domain)).findings).toEqual([]);
  });

  it("treats a machine as free once its holder's credit has run out", async () => {
    await offer({ id: 'a' });
    const bob = await domain.account('0.5');
    const bobs = await hold('a', bob, 'ON_DEMAND');
    expect(await refusal(best())).toMatch(/^deploy_failed/);
    domain.clock.advance(2 * 3600);
    expect(await best()).toBe('a');
    const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id: bobs } });
    expect(row.stopReason).toBe('BALANCE_EXHAUSTED');
  });

  it("applies deploy's rules on balance, number of instances and suspension", async () => {
    await offer({ id: 'a' });
    const poor = await domain.account('0.4');
    expect(await refusal(best({}, poor))).toMatch(/^deploy_failed: balance too low/);
    await domain.db.pool.query('update account set live_instances = 1000, deployed_instances = 1000 where id = $1', [
      poor,
    ]);
    expect(await refusal(best({}, poor))).toMatch(/^deploy_failed: the account has 1000 active instances, the maximum/);
    await domain.db.pool.query('update account set live_instances = 0 where id = $1', [poor]);
    await suspendAccount(domain, poor);
    expect(await refusal(best({}, poor))).toMatch(/^unauthorized/);
    expect(await best()).toBe('a');
  });

  it('repeats the stored response for the same request and rejects a different request', async () => {
    await offer({ id: 'a' }, { id: 'b' }, { id: 'c', gpu: 'l4' });
    const request = { idempotencyKey: 'one', filter: { gpus: ['rtx-4090', 'l4'] }, regions: ['us-tx', 'us-mo'] };
    const first = await deployBest(domain, ann, request);
    const same = { ...request, filter: { gpus: ['l4', 'rtx-4090', 'l4'], regions: [], numMin: 1 }, mode: 'ON_DEMAND' };
    const again = await deployBest(domain, ann, same as DeployBestInput);
    expect([first.replayed, again.replayed]).toEqual([false, true]);
    expect(again.instance).toEqual(first.instance);
    const others: DeployBestInput[] = [
      { ...request, regions: ['us-mo', 'us-tx'] },
      { ...request, gpus: ['rtx-4090'] },
      { ...request, maxPricePerHour: 5 },
      { ...request, mode: 'RESERVED' },
      { ...request, diskGb: 51 },
      { ...request, filter: { ...request.filter, vcpusMin: 1 } },
    ];
    for (const other of others) expect(await refusal(deployBest(domain, ann, other))).toMatch(/^idempotency_mismatch/);
    const named_ = deploy(domain, ann, { machineId: first.instance.machineId, idempotencyKey: 'one' });
    expect(await refusal(named_)).toMatch(/^idempotency_mismatch/);
    expect(await domain.db.prisma.instance.count({ where: { accountId: ann } })).toBe(1);
  });

  it('rejects invalid input and names the field', async () => {
    expect(await refusal(best({ maxPricePerHour: -1 }))).toMatch(/^invalid_request: maxPricePerHour/);
    expect(await refusal(best({ gpus: Array(101).fill('l4') }))).toMatch(/^invalid_request: gpus/);
    expect(await refusal(best({ regions: ['\u0000'] }))).toMatch(/^invalid_request: regions/);
    expect(await refusal(best({ diskGb: 0 }))).toMatch(/^invalid_request: diskGb/);
  });

  describe('with outdated offers', () => {
    /** Changes machines without sending a notice, as if the notice had not arrived yet. */
    async function changeUnnoticed(change: string, ...ids: string[]): Promise<void> {
      // Otherwise a read in progress might include the change.
      await domain.inventory.current();
      const client = await domain.db.pool.connect();
      await client.query('begin; set local session_replication_role = replica');
      await client.query(`update machine set ${change} where id = any($1)`, [ids.map(named)]);
      await client.query('commit');
      client.release();
    }

    it.each([
      ["state = 'OFFLINE'", {}],
      ['vcpus = 1', { vcpusMin: 2 }],
      ['reliability = 0.5', { reliabilityMin: 0.9 }],
      ["gpu = 'h100-sxm'", { vramGbMin: 1, tiers: ['CONSUMER_FLAGSHIP' as const] }],
      ['num_gpus = 8', { numMax: 4 }],
      ['disk_gb = 60', { diskGbMin: 61 }],
    ])('takes the first match according to the database: %s', async (change, filter) => {
      await offer({ id: 'a' }, { id: 'b' }, { id: 'c' });
      await changeUnnoticed(change, 'a', 'b');
      expect(await best({ filter })).toBe('c');
      expect(await refusal(best({ filter }))).toMatch(/^deploy_failed: no matching machine/);
    });

    it('ranks matches according to the database', async () => {
      await offer({ id: 'a' }, { id: 'b' }, { id: 'c' });
      await changeUnnoticed('reliability = 0.98', 'a');
      await changeUnnoticed('num_gpus = 2', 'b');
      expect([await best(), await best(), await best()]).toEqual(['c', 'a', 'b']);
    });

    it('tries the next candidate, no matter how many are gone', async () => {
      const ids = Array.from({ length: 130 }, (_, index) => `m${1000 + index}`);
      await offer(...ids.map((id) => ({ id })));
      await changeUnnoticed("state = 'DRAINED'", ...ids.slice(0, 120));
      expect([await best(), await best()]).toEqual(['m1120', 'm1121']);
      await changeUnnoticed("state = 'DRAINED'", ...ids);
      expect(await refusal(best())).toMatch(/^deploy_failed: no matching machine/);
    });
  });

  describe('during other transactions', () => {
    /** Locks machines until `end` is called, as a request in progress would. */
    async function lockMachines(...ids: string[]) {
      const client = await domain.db.pool.connect();
      await client.query('begin');
      await client.query('select 1 from machine where id = any($1) for no key update', [ids.map(named)]);
      return {
        end: async () => {
          await client.query('rollback');
          client.release();
        },
      };
    }
    const isSettled = async (work: Promise<unknown>) =>
      Promise.race([work.then(() => true), new Promise((resolve) => setTimeout(resolve, 150, false))]);

    it('skips machines locked by others without waiting', async () => {
      await offer({ id: 'a' }, { id: 'b' });
      const other = await lockMachines('a');
      try {
        expect(await best()).toBe('b');
      } finally {
        await other.end();
      }
    });

    it('waits if others have locked all matches, then takes one that they release', async () => {
      await offer({ id: 'a' }, { id: 'b' });
      const other = await lockMachines('a', 'b');
      // Connections that read the new offers are not counted.
      await domain.inventory.current();
      const connected = vi.spyOn(domain.db.pool, 'connect');
      const waiting = best();
      try {
        expect(await isSettled(waiting)).toBe(false);
        // Without pauses, there would be hundreds of connections. Normally there are 4 to 6, or 9 on a busy machine.
        expect(connected.mock.calls.length).toBeLessThan(20);
      } finally {
        await other.end();
      }
      expect(await waiting).toBe('a');
    });

    it('waits for a holder with a request in progress, then preempts it', async () => {
      await offer({ id: 'a' });
      const bob = await domain.account();
      const bobs = await hold('a', bob, 'INTERRUPTIBLE');
      const client = await domain.db.pool.connect();
      await client.query('begin');
      await client.query('select 1 from account where id = $1 for no key update', [bob]);
      const waiting = best({ filter: { includePreemptible: true } });
      expect(await isSettled(waiting)).toBe(false);
      await client.query('rollback');
      client.release();
      expect(await waiting).toBe('a');
      const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id: bobs } });
      expect(row.stopReason).toBe('PREEMPTED');
    });

    it('rechecks a machine once locked and releases it if it has been taken', async () => {
      await offer({ id: 'a' }, { id: 'b' });
      const bob = await domain.account();
      const connect = domain.db.pool.connect.bind(domain.db.pool) as (callback?: unknown) => Promise<pg.PoolClient>;
      let taken = false;
      vi.spyOn(domain.db.pool, 'connect').mockImplementation((async (callback?: unknown) => {
        // The pool's own queries have a callback.
        if (callback !== undefined) return connect(callback);
        const client = await connect();
        const query = client.query.bind(client) as (...args: unknown[]) => Promise<pg.QueryResult>;
        client.query = (async (...args: unknown[]) => {
          const { name } = args[0] as { name?: string };
          if (name !== 'lock-best-machine') return query(...args);
          if (taken) {
            await domain.db.pool.query('select 1 from machine where id = $1 for no key update nowait', [named('a')]);
            return query(...args);
          }
          // Simulates the statement's result if its snapshot is older than a rival's commit.
          taken = true;
          await hold('a', bob, 'ON_DEMAND');
          await query('select 1 from machine where id = $1 for no key update', [named('a')]);
          return { rows: [{ machineId: named('a'), holderId: null }] };
        }) as typeof client.query;
        return client;
      }) as typeof domain.db.pool.connect);
      expect(await best()).toBe('b');
      expect(taken).toBe(true);
    });

    it('never rents above the price cap, even if the price rises before the write', async () => {
      await offer({ id: 'a' });
      const set = (rate: number) =>
        domain.db.pool.query(`update gpu_price set on_demand_rate = $1 where gpu = 'rtx-4090'`, [rate]);
      const connect = domain.db.pool.connect.bind(domain.db.pool) as (callback?: unknown) => Promise<pg.PoolClient>;
      let rises = 0;
      vi.spyOn(domain.db.pool, 'connect').mockImplementation((async (callback?: unknown) => {
        if (callback !== undefined) return connect(callback);
        const client = await connect();
        const query = client.query.bind(client) as (...args: unknown[]) => Promise<pg.QueryResult>;
        client.query = (async (...args: unknown[]) => {
          // The price is read under the machine's lock, after a choice based on the previous price.
          const { text = '' } = args[0] as { text?: string };
          if (rises > 0 || !text.includes('EXECUTE "lock-machine"')) return query(...args);
          rises += 1;
          await set(900_000);
          const rows = await query(...args);
          await set(440_000);
          return rows;
        }) as typeof client.query;
        return client;
      }) as typeof domain.db.pool.connect);
      const { instance } = await deployBest(domain, ann, { diskGb: 10, maxPricePerHour: 0.44 });
      expect([instance.machineId, instance.gpuRate, rises]).toEqual([named('a'), 440_000n, 1]);
    });
  });
});
