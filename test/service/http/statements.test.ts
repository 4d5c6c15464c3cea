import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { withoutTimers } from '../../support/background.js';
import type { Answer, Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';

withoutTimers();
let service: Service;

beforeAll(async () => {
  service = await startService();
});
afterAll(() => service?.close());
afterEach(() => void vi.restoreAllMocks());

/** Statements that don't belong to a request: background machine reads and each connection's one-time preparation. */
const BACKGROUND = /^(offered-|PREPARE )/;

/** Returns a request's database messages in order. Some of them contain several statements. */
async function statementsOf(request: () => Promise<Answer>): Promise<string[]> {
  const statements: string[] = [];
  const real = pg.Client.prototype.query;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (this: pg.Client, ...args: never[]) {
    const [query] = args as unknown as [string | { name?: string; text?: string }];
    const { name, text } = typeof query === 'string' ? { name: undefined, text: query } : query;
    const label = String(name ?? text);
    const { application_name } = (this as unknown as { connectionParameters: pg.ClientConfig }).connectionParameters;
    if (application_name === 'gpu-rental-gateway' && !BACKGROUND.test(label)) statements.push(label);
    return (real as unknown as (...args: never[]) => never).apply(this, args);
  } as never);
  const { status, body } = await request();
  spy.mockRestore();
  expect([status, body?.errors]).toEqual([expect.toBeOneOf([200, 201]), undefined]);
  return statements;
}

/**
 * Returns the shortest of several attempts, since other activity adds statements to some of them and never removes any.
 */
async function fewest(request: () => Promise<Answer>): Promise<string[]> {
  const tries: string[][] = [];
  for (let time = 0; time < 3; time += 1) tries.push(await statementsOf(request));
  return tries.sort((one, other) => one.length - other.length)[0]!;
}

async function renterWithMachines(count: number): Promise<{ renter: Renter; machines: string[] }> {
  const renter = await service.renter('1000');
  const first = await service.machine({ gpu: 'p4', region: 'sa-br-sao' });
  const rows = await service.sql(
    `insert into machine select (jsonb_populate_record(machine, jsonb_build_object('host_id', '', 'id', id || '-' || n))).*
     from machine, generate_series(1, $2) as n where id = $1 returning id`,
    [first, count],
  );
  // This caches the key.
  await renter.rest('GET', '/balance');
  return { renter, machines: rows.map(({ id }) => String(id)) };
}

it('a request waits up to 5 s for a connection, compared to 20 s during startup', () => {
  expect(service.deps.db.pool.options.connectionTimeoutMillis).toBe(5_000);
});

describe('a request with a cached key', () => {
  it.each([
    ['GET', '/offers'],
    // No client has requested this list before, but even a response that isn't cached needs no database.
    ['GET', '/offers?limit=97'],
    ['GET', '/offers?gpu=rtx-4090&region=us-tx&num_min=2&price_max=3&limit=100'],
    ['GET', '/gpus/pricing'],
  ])('sends no statement for %s %s', async (method, path) => {
    const { renter } = await renterWithMachines(0);
    for (const caller of [service.anyone, renter])
      expect(await statementsOf(() => caller.rest(method, path))).toEqual([]);
  });

  it.each([
    '{ pricing { count data { slug availableGpus gpuModel { name } } } }',
    '{ offers(limit: 100) { machineId gpuModel { name } regionInfo { name } } }',
    '{ offerSearch(last: 100, sort: RELIABILITY, filter: { vcpusMin: 8, tiers: [CONSUMER] }) { totalCount edges { cursor node { machineId } } } }',
    '{ gpuModels { slug } regions { code } templates { slug } gpuModel(slug: "l4") { name } }',
  ])('sends no statement for the public query %s', async (query) => {
    const { renter } = await renterWithMachines(0);
    for (const caller of [renter, service.anyone]) expect(await fewest(() => caller.graphql(query))).toEqual([]);
  });

  it("sends no statement after this process's own write, except for changed machines", async () => {
    const { renter, machines } = await renterWithMachines(1);
    await renter.rest('POST', '/instances', { machine_id: machines[0] });
    expect(await statementsOf(() => service.anyone.rest('GET', '/offers?limit=100'))).toEqual([]);
  });

  it('sends one statement for the balance', async () => {
    const { renter } = await renterWithMachines(0);
    expect(await fewest(() => renter.rest('GET', '/balance'))).toEqual(['read-accounts']);
    expect(await fewest(() => renter.graphql('{ balance { balance monthSpend } }'))).toEqual(['read-accounts']);
  });

  it('looks up a key only once', async () => {
    const renter = await service.renter();
    const first = await statementsOf(() => renter.rest('GET', '/balance'));
    expect(first).toEqual(['authenticate', 'read-accounts']);
    expect(await statementsOf(() => renter.rest('GET', '/balance'))).toEqual(['read-accounts']);
    // This process knows its own writes. Writes by others are read once.
    await creditAccount(service.deps, renter.accountId, { amountMicro: 1n });
    expect(await statementsOf(() => renter.rest('GET', '/balance'))).toEqual(['read-accounts']);
    await service.sql('update account set credit_units = credit_units + 1 where id = $1', [renter.accountId]);
    expect(await statementsOf(() => renter.rest('GET', '/balance'))).toEqual(['authenticate', 'read-accounts']);
    expect(await statementsOf(() => renter.rest('GET', '/balance'))).toEqual(['read-accounts']);
  });

  const NESTED = `{ instances {
    id status hostname priceHr usage { gpuSeconds total } reservedUntil earlyExitCost
    machine { id cpu gpuModel { name tier } regionInfo { name country } }
  } }`;

  it('sends at most three statements for nested instances, whether 10 or 100', {
    timeout: 120_000,
  }, async () => {
    const { renter, machines } = await renterWithMachines(100);
    const counts: Record<number, string[]> = {};
    for (const [index, machine_id] of machines.entries()) {
      const { status } = await renter.rest('POST', '/instances', { machine_id, disk_gb: 1 });
      expect(status).toBe(201);
      const held = index + 1;
      if (held !== 10 && held !== 100) continue;
      const { body } = await renter.graphql(NESTED);
      expect(body.data.instances).toHaveLength(held);
      expect(body.data.instances[0].machine.gpuModel.name).toMatch(/^NVIDIA /);
      counts[held] = await fewest(() => renter.graphql(NESTED));
      const both = await fewest(() => renter.graphql('{ balance { balance } instances { id } }'));
      expect(both.length).toBeLessThanOrEqual(2);
      expect((await fewest(() => renter.rest('GET', '/instances'))).length).toBeLessThanOrEqual(2);
    }
    expect(counts[10]!.length).toBeLessThanOrEqual(3);
    expect(counts[100]!.length).toBe(counts[10]!.length);
  });

  it('sends two statements for a write: locks and reads, then changes and COMMIT', async () => {
    const { renter, machines } = await renterWithMachines(4);
    const [one, two, three, four] = machines;
    const ids: string[] = [];
    const recordId = async (answer: Promise<Answer>) => {
      const got = await answer;
      ids.push(got.body.id ?? (got.body.data.deploy ?? got.body.data.deployBest).id);
      return got;
    };
    const BEST = 'mutation($input: DeployBestInput!) { deployBest(input: $input) { id } }';
    const DEPLOY = 'mutation($input: DeployInput!) { deploy(input: $input) { id status machine { id } } }';
    const counts = {
      deploy: await statementsOf(() => recordId(renter.rest('POST', '/instances', { machine_id: one }))),
      once: await statementsOf(() =>
        recordId(renter.rest('POST', '/instances', { machine_id: two }, { 'idempotency-key': 'k' })),
      ),
      replayed: await statementsOf(() =>
        renter.rest('POST', '/instances', { machine_id: two }, { 'idempotency-key': 'k' }),
      ),
      graphql: await statementsOf(() => recordId(renter.graphql(DEPLOY, { input: { machineId: three } }))),
      best: await statementsOf(() => recordId(renter.graphql(BEST, { input: {} }))),
      interruptible: await statementsOf(() =>
        recordId(renter.rest('POST', '/instances', { machine_id: four, type: 'interruptible' })),
      ),
      stop: await statementsOf(() => renter.rest('POST', `/instances/${ids[0]}/actions`, { action: 'stop' })),
      start: await statementsOf(() => renter.rest('POST', `/instances/${ids[0]}/actions`, { action: 'start' })),
      destroy: await statementsOf(() => renter.rest('DELETE', `/instances/${ids[0]}`)),
    };
    const atMost = {
      deploy: 2,
      once: 3,
      replayed: 2,
      graphql: 4,
      best: 8,
      interruptible: 2,
      stop: 2,
      // One statement reads the launch, since the agent may be too old for it or a secret may be deleted.
      start: 4,
      destroy: 2,
    };
    for (const [name, most] of Object.entries(atMost)) {
      const statements = counts[name as keyof typeof counts];
      expect([name, statements, statements.length <= most]).toEqual([name, statements, true]);
      expect(statements.filter((text) => text.endsWith('COMMIT'))).toHaveLength(1);
    }
  });
});
