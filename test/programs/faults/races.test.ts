import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDeps, type Deps } from '../../../src/compose/deps.js';
import { openDatabase } from '../../../src/database/database.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { systemClock } from '../../../src/std/system-clock.js';
import { whileBusy } from '../../support/busy.js';
import { testSettings } from '../../support/clock.js';
import { createTestDatabase } from '../../support/database.js';
import { type Answer, createRenter, type Renter } from '../../support/gateway.js';
import { isLong } from '../../support/long.js';
import { cleanUp, type GatewayProcess, startProcess } from '../../support/process.js';

/** Three times as many as a gateway has database connections. */
const ACCOUNTS = isLong ? 200 : 60;
/** Two real gateways on one PostgreSQL, and access to its data. */
let gateways: GatewayProcess[];
let deps: Deps;

beforeAll(async () => {
  const databaseUrl = await createTestDatabase();
  const env = { DATABASE_URL: databaseUrl, RATE_LIMIT_PER_MINUTE: '0', LOG_LEVEL: 'error' };
  gateways = await Promise.all([startProcess(env), startProcess(env)]);
  deps = createDeps(openDatabase(databaseUrl), systemClock, testSettings());
});
afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.end()));
  await deps.db.close();
  await cleanUp();
});

const at = (index: number) => gateways[index % gateways.length]!.address;

async function renters(count: number, creditUsd = '100'): Promise<Renter[]> {
  const made: Renter[] = [];
  for (let index = 0; index < count; index += 1) made.push(await createRenter(deps, at(index), creditUsd));
  return made;
}

/** Returns the same renter with calls to another gateway. */
function through(renter: Renter, index: number): Renter {
  const address = at(index);
  const call = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(address + path, init);
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const authorization = `Bearer ${renter.key}`;
  return {
    ...renter,
    rest: (method, path, body, headers) =>
      call(`/v1${path}`, {
        method,
        headers: { authorization, ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    graphql: (query, variables) =>
      call('/graphql', {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ query, variables }),
      }),
  };
}

async function freeMachines(count: number, gpu = 'rtx-3090'): Promise<string[]> {
  const { body } = await createRenter(deps, at(0)).then((renter) =>
    renter.rest('GET', `/offers?gpu=${gpu}&limit=${count}`),
  );
  return body.data.map(({ machine_id }: { machine_id: string }) => machine_id);
}

function tally(answers: Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = `${status} ${body?.error?.code ?? ''}`.trim();
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('concurrent requests to two gateways', () => {
  test('rent a machine to only one of many accounts that deploy it', async () => {
    const [machine_id] = await freeMachines(1);
    const all = await renters(ACCOUNTS);
    const answers = await Promise.all(all.map((renter) => renter.rest('POST', '/instances', { machine_id })));
    expect(tally(answers)).toEqual({ '201': 1, '409 deploy_failed': ACCOUNTS - 1 });
    expect((await audit(deps)).findings).toEqual([]);
  });

  test('rent only one of 20 machines if the credit suffices for only one', async () => {
    const machines = await freeMachines(20, 'rtx-4090');
    const offer = await deps.db.prisma.machine.findFirstOrThrow({ where: { id: machines[0]! } });
    // The credit suffices for an hour on one such machine but not on two.
    const [renter] = await renters(1, String(0.44 * offer.numGpus + 0.1));
    const answers = await Promise.all(
      machines.map((machine_id, index) => through(renter!, index).rest('POST', '/instances', { machine_id })),
    );
    expect(tally(answers)).toEqual({ '201': 1, '409 deploy_failed': 19 });
  });

  test('run only one of several deploys in different modes on the same machine', async () => {
    const [machine_id] = await freeMachines(1, 'l4');
    const all = await renters(40);
    const types = ['interruptible', 'interruptible', 'od', 'res'];
    const answers = await Promise.all(
      all.map((renter, index) => renter.rest('POST', '/instances', { machine_id, type: types[index % 4], disk_gb: 5 })),
    );
    const instances = await deps.db.prisma.instance.findMany({ where: { machineId: machine_id! } });
    expect(instances.filter(({ status }) => status === 'RUNNING')).toHaveLength(1);
    expect(
      instances.filter(({ status }) => status === 'STOPPED').every(({ stopReason }) => stopReason === 'PREEMPTED'),
    ).toBe(true);
    expect(instances).toHaveLength(answers.filter(({ status }) => status === 201).length);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
    expect((await audit(deps)).findings).toEqual([]);
  });

  test('let two accounts repeatedly preempt each other without a visible deadlock', async () => {
    const [first, second] = await freeMachines(2, 'a40');
    const [ann, bob] = await renters(2, '1000');
    const rent = async (renter: Renter, machine_id: string, type: string) =>
      (await renter.rest('POST', '/instances', { machine_id, type, disk_gb: 1 })).status;
    for (let round = 0; round < 8; round += 1) {
      await Promise.all([rent(ann!, first!, 'interruptible'), rent(bob!, second!, 'interruptible')]);
      // Both accounts preempt each other at the same time.
      const statuses = await Promise.all([rent(ann!, second!, 'od'), rent(bob!, first!, 'od')]);
      expect(statuses).toEqual([201, 201]);
      for (const renter of [ann!, bob!]) {
        const { body } = await renter.rest('GET', '/instances');
        await Promise.all(body.data.map(({ id }: { id: string }) => renter.rest('DELETE', `/instances/${id}`)));
      }
    }
    expect((await audit(deps)).findings).toEqual([]);
  });

  test('get valid responses and keep the books consistent when acting on one instance', async () => {
    const [renter] = await renters(1);
    const [machine_id] = await freeMachines(1);
    const { body } = await renter!.rest('POST', '/instances', { machine_id });
    const path = `/instances/${body.id}`;
    const answers: Answer[] = [];
    await Promise.all(
      Array.from({ length: 12 }, async (_, worker) => {
        const mine = through(renter!, worker);
        for (let round = 0; round < 12; round += 1) {
          const choice = (worker * 7 + round * 3) % 5;
          if (choice === 0) answers.push(await mine.rest('GET', path));
          else if (choice === 1) answers.push(await mine.rest('GET', '/balance'));
          else answers.push(await mine.rest('POST', `${path}/actions`, { action: choice === 2 ? 'start' : 'stop' }));
        }
      }),
    );
    expect(Object.keys(tally(answers)).sort()).toEqual(['200', '409 action_failed']);
    const last = await Promise.all(
      Array.from({ length: 10 }, (_, index) => through(renter!, index).rest('DELETE', path)),
    );
    expect(tally(last)).toEqual({ '200': 1, '409 action_failed': 9 });
    expect((await audit(deps)).findings).toEqual([]);
  });

  test('rent once for 50 requests with the same idempotency key on both APIs', async () => {
    const [renter] = await renters(1);
    const [machine_id] = await freeMachines(1);
    const query = `mutation($input: DeployInput!) { deploy(input: $input) { id } }`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const mine = through(renter!, index);
        if (index % 4 < 2) {
          const { status, body } = await mine.rest('POST', '/instances', { machine_id }, { 'idempotency-key': 'one' });
          return { status, id: body.id };
        }
        const { status, body } = await mine.graphql(query, { input: { machineId: machine_id, idempotencyKey: 'one' } });
        return { status: status + 1, id: body.data.deploy?.id };
      }),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(await deps.db.prisma.instance.count({ where: { accountId: renter!.accountId } })).toBe(1);
  });

  test('don’t wait for another account whose writes are blocked', async () => {
    const [stuck, free] = await renters(2);
    const machines = await freeMachines(2, 'rtx-3060');
    const client = await deps.db.pool.connect();
    try {
      await client.query('begin');
      await client.query('select 1 from account where id = $1 for update', [stuck!.accountId]);
      const held = Array.from({ length: 80 }, () =>
        through(stuck!, 0).rest('POST', '/instances', { machine_id: machines[0] }),
      );
      const startedAt = performance.now();
      const served = await through(free!, 0).rest('POST', '/instances', { machine_id: machines[1] });
      expect(served.status).toBe(201);
      expect(performance.now() - startedAt).toBeLessThan(whileBusy(3_000));
      const answers = await Promise.all(held);
      expect(tally(answers)).toEqual({ '503 unavailable': 80 });
      expect(answers.every(({ headers }) => Number(headers.get('retry-after')) > 0)).toBe(true);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });
});

describe('several gateways on one database', () => {
  /** Resolves once `look` returns true, which must happen within a second, or longer on a busy machine. */
  const within1s = (look: () => Promise<boolean>) =>
    expect.poll(look, { timeout: whileBusy(1_000), interval: 50 }).toBe(true);

  test('refuse a key that was revoked through another', async () => {
    const [renter] = await renters(1);
    const keys = await through(renter!, 0).graphql('{ apiKeys { id } }');
    await through(renter!, 0).graphql('mutation($id: ID!) { revokeApiKey(id: $id) { id } }', {
      id: keys.body.data.apiKeys[0].id,
    });
    await within1s(async () => (await through(renter!, 1).rest('GET', '/balance')).status === 401);
  });

  test('remove a machine from their offers while it is rented through another', async () => {
    const [renter] = await renters(1);
    const [machine_id] = await freeMachines(1, 'rtx-3080');
    const offered = async () =>
      (await through(renter!, 1).rest('GET', '/offers?gpu=rtx-3080&limit=100')).body.data.some(
        (offer: { machine_id: string }) => offer.machine_id === machine_id,
      );
    expect(await offered()).toBe(true);
    const { body } = await through(renter!, 0).rest('POST', '/instances', { machine_id });
    await within1s(async () => !(await offered()));
    await through(renter!, 0).rest('DELETE', `/instances/${body.id}`);
    await within1s(offered);
  });

  test('all show a new price', async () => {
    const publish = `
      insert into market_snapshot values ('2027-01-04', now());
      insert into gpu_price select '2027-01-04', gpu, on_demand_rate + 10000, median_micro, listings from gpu_price`;
    await deps.db.pool.query(publish);
    for (const index of [0, 1]) {
      await within1s(async () => {
        const response = await fetch(`${at(index)}/v1/gpus/pricing`);
        return ((await response.json()) as { market_snapshot: string }).market_snapshot === '2027-01-04';
      });
    }
  });
});
