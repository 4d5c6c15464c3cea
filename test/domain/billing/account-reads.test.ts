import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { activeInstances, deploy } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());
afterEach(() => void vi.restoreAllMocks());

/** Returns the names of the statements that `work` sends. */
async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await work();
  const names = query.mock.calls.map(([config]) => (config as unknown as pg.QueryConfig).name ?? '');
  query.mockRestore();
  return names.filter((name) => name.startsWith('read-'));
}

const accountsWith = (credits: readonly number[]) => Promise.all(credits.map((usd) => domain.account(String(usd))));

test('balances requested concurrently are read with one statement', async () => {
  const credits = Array.from({ length: 40 }, (_, index) => index + 1);
  const accounts = await accountsWith(credits);
  // One account is requested twice.
  const requested = [...accounts, accounts[7]!];
  let balances: bigint[] = [];
  const statements = await statementsOf(async () => {
    const first = requested.slice(0, 20).map((id) => readBalance(domain, id));
    // The other reads start some ticks later, as if a second request had arrived at the same time.
    for (let tick = 0; tick < 10; tick += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
    const second = requested.slice(20).map((id) => readBalance(domain, id));
    balances = (await Promise.all([...first, ...second])).map(({ balance }) => balance);
  });
  expect(balances).toEqual([...credits, 8].map((usd) => BigInt(usd) * 1_000_000n));
  expect(statements).toEqual(['read-accounts']);
});

test('each statement reads at most fifty accounts', async () => {
  const accounts = await accountsWith(Array.from({ length: 51 }, () => 1));
  const statements = await statementsOf(() => Promise.all(accounts.map((id) => readBalance(domain, id))));
  expect(statements).toEqual(['read-accounts', 'read-accounts']);
});

test('instances requested concurrently are read with one statement, newest first', async () => {
  const accounts = await accountsWith([100, 100, 100]);
  const own: string[][] = [];
  for (const [index, accountId] of accounts.entries()) {
    own[index] = [];
    for (let count = 0; count < index; count += 1) {
      const { instance } = await deploy(domain, accountId, { machineId: await domain.machine() });
      own[index].unshift(instance.id);
    }
  }
  let lists: string[][] = [];
  const statements = await statementsOf(async () => {
    const rows = await Promise.all(accounts.map((id) => activeInstances(domain, id)));
    lists = rows.map((list) => list.map(({ id }) => id));
  });
  expect(lists).toEqual(own);
  expect(statements).toEqual(['read-accounts', 'read-live']);
});

test("other accounts' balances are returned even if one account doesn't exist", async () => {
  const [account] = await accountsWith([5]);
  const [existing, absent] = await Promise.allSettled([
    readBalance(domain, account!),
    readBalance(domain, 'acc-0000000000000000'),
  ]);
  expect(existing).toMatchObject({ status: 'fulfilled', value: { balance: 5_000_000n } });
  expect(absent).toMatchObject({ status: 'rejected', reason: { code: 'not_found' } });
});

test('a read includes everything committed before it, even during other reads', async () => {
  const [account] = await accountsWith([1]);
  for (let round = 1; round <= 20; round += 1) {
    const earlier = readBalance(domain, account!);
    await creditAccount(domain, account!, { amountMicro: 1n });
    expect((await readBalance(domain, account!)).balance).toBe(1_000_000n + BigInt(round));
    await earlier;
  }
});
