import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { adjustAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { type Statement, statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import type { Instant } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
let account: string;
let from: Instant;
/** Balances read at certain seconds of the history. */
const seen = new Map<Instant, bigint>();

beforeAll(async () => {
  domain = await openTestDomain({}, '2027-10-30T22:00:00Z');
  account = await domain.account('500');
  from = domain.clock.now();
  const ids: string[] = [];
  const rent = async (gpu: string, mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED') => {
    const machineId = await domain.machine(gpu);
    ids.push((await deploy(domain, account, { machineId, mode, diskGb: 33 })).instance.id);
  };
  const wait = async (seconds: number) => {
    domain.clock.advance(seconds);
    seen.set(domain.clock.now(), (await readBalance(domain, account)).balance);
  };
  await rent('rtx-4090', 'RESERVED');
  await wait(1_234);
  await rent('l4', 'ON_DEMAND');
  await wait(40_007);
  await act(domain, account, { id: ids[1]!, action: 'STOP' });
  await wait(86_399);
  await wait(1);
  await creditAccount(domain, account, { amountMicro: 7_000_001n, reference: 'r-1', note: 'card, last' });
  await wait(17);
  await act(domain, account, { id: ids[0]!, action: 'DESTROY' });
  await wait(1);
  await adjustAccount(domain, account, { amountMicro: -123_456n, note: 'line "7"' });
  await act(domain, account, { id: ids[1]!, action: 'START' });
  await rent('p4', 'INTERRUPTIBLE');
  await wait(500_003);
});
afterAll(() => domain.close());

function change({ movements, lines }: Statement): bigint {
  return movements.reduce((sum, { amount }) => sum + amount, 0n) - lines.reduce((sum, { amount }) => sum + amount, 0n);
}

test('the lines in adjacent statements add up exactly to the changes in balance', async () => {
  const end = domain.clock.now();
  const instant = fc.bigInt({ min: from, max: end + 5n });
  await fc.assert(
    fc.asyncProperty(instant, instant, instant, async (...instants) => {
      const [a, b, c] = instants.sort((x, y) => Number(x - y)) as [bigint, bigint, bigint];
      if (a > end) return;
      const whole = await statement(domain, account, { from: a, to: c });
      expect(whole.openingBalance + change(whole)).toBe(whole.closingBalance);
      if (b > end) return;
      const [first, second] = [
        await statement(domain, account, { from: a, to: b }),
        await statement(domain, account, { from: b, to: c }),
      ];
      expect(first.openingBalance).toBe(whole.openingBalance);
      expect(first.closingBalance).toBe(second.openingBalance);
      expect(second.closingBalance).toBe(whole.closingBalance);
    }),
    { numRuns: 60 },
  );
});

test("a statement's closing balance equals the balance that was read at that time", async () => {
  for (const [at, balance] of seen) {
    expect((await statement(domain, account, { from, to: at })).closingBalance).toBe(balance);
  }
  const { closingBalance } = await statement(domain, account, { from, to: domain.clock.now() + 1_000n });
  expect(closingBalance).toBe((await readBalance(domain, account)).balance);
});

test('each usage line charges exactly its rate times its seconds', async () => {
  const { lines, movements } = await statement(domain, account, { from, to: domain.clock.now() });
  expect(lines.map(({ kind }) => kind)).toEqual(['GPU', 'DISK', 'EARLY_EXIT', 'GPU', 'DISK', 'GPU', 'DISK']);
  for (const { units, rate, seconds } of lines) expect(units).toBe(rate * seconds);
  expect(movements.map(({ kind, amount, reference }) => [kind, amount, reference])).toEqual([
    ['CREDIT', 500_000_000n, null],
    ['CREDIT', 7_000_001n, 'r-1'],
    ['ADJUSTMENT', -123_456n, null],
  ]);
});

test("each line begins and ends within the statement's period", async () => {
  const { lines } = await statement(domain, account, { from: from + 1_000n, to: from + 130_000n });
  // The first instance existed before the period. The second ran for a while, and its disk still exists.
  expect(lines.map((line) => [line.kind, line.from - from, line.to - from])).toEqual([
    ['GPU', 1_000n, 127_658n],
    ['DISK', 1_000n, 127_658n],
    ['EARLY_EXIT', 127_658n, 127_658n],
    ['GPU', 1_234n, 130_000n],
    ['DISK', 1_234n, 130_000n],
    ['GPU', 127_659n, 130_000n],
    ['DISK', 127_659n, 130_000n],
  ]);
});

test('a statement is refused for a reversed or future period or too many lines', async () => {
  const now = domain.clock.now();
  const refused = { code: 'invalid_request' };
  await expect(statement(domain, account, { from: now, to: now - 1n })).rejects.toMatchObject(refused);
  await expect(statement(domain, account, { from: now + 1n, to: now + 2n })).rejects.toMatchObject(refused);
  await expect(statement(domain, account, { from, to: now }, 3)).rejects.toMatchObject(refused);
});

test('a statement includes entries booked in the current second and usage up to now', async () => {
  const other = await domain.account('100');
  const since = domain.clock.now();
  const machineId = await domain.machine();
  const { instance } = await deploy(domain, other, { machineId, mode: 'RESERVED', diskGb: 10 });
  domain.clock.advance(3_600);
  await creditAccount(domain, other, { amountMicro: 5_000_000n });
  await act(domain, other, { id: instance.id, action: 'DESTROY' });
  for (const to of [null, domain.clock.now() + 100n]) {
    const { lines, movements, closingBalance } = await statement(domain, other, { from: since, to });
    expect(lines.map(({ kind, seconds }) => [kind, seconds])).toEqual([
      ['GPU', 3_600n],
      ['DISK', 3_600n],
      ['EARLY_EXIT', 3_600n],
    ]);
    expect(movements.map(({ amount }) => amount)).toEqual([100_000_000n, 5_000_000n]);
    expect(closingBalance).toBe((await readBalance(domain, other)).balance);
  }
});

test('an entry on the boundary between two statements appears only in the later one', async () => {
  const other = await domain.account('100');
  const since = domain.clock.now();
  const machineId = await domain.machine();
  const { instance } = await deploy(domain, other, { machineId, mode: 'RESERVED', diskGb: 10 });
  domain.clock.advance(3_600);
  await creditAccount(domain, other, { amountMicro: 5_000_000n });
  await act(domain, other, { id: instance.id, action: 'DESTROY' });
  const boundary = domain.clock.now();
  const read = async (later: number) => {
    domain.clock.advance(later);
    return [
      await statement(domain, other, { from: since, to: boundary }),
      await statement(domain, other, { from: boundary, to: null }),
    ] as const;
  };
  // Reads during that second and after it.
  for (const later of [0, 1, 86_400]) {
    const [first, second] = await read(later);
    expect(first.to).toBe(boundary);
    expect(first.movements.map(({ amount }) => amount)).toEqual([100_000_000n]);
    expect(first.lines.map(({ kind }) => kind)).toEqual(['GPU', 'DISK']);
    expect(second.movements.map(({ amount }) => amount)).toEqual([5_000_000n]);
    expect(second.lines.map(({ kind }) => kind)).toEqual(['EARLY_EXIT']);
    expect(first.closingBalance).toBe(second.openingBalance);
    expect(second.closingBalance).toBe((await readBalance(domain, other)).balance);
  }
});

test('a statement shows the books at one moment, even while entries are being booked', async () => {
  const other = await domain.account('100');
  const since = domain.clock.now();
  const machineId = await domain.machine();
  const { instance } = await deploy(domain, other, { machineId, mode: 'RESERVED', diskGb: 10 });
  domain.clock.advance(3_600);
  const { balance } = await readBalance(domain, other);
  let isBooked = false;
  const bookEntries = async () => {
    isBooked = true;
    await act(domain, other, { id: instance.id, action: 'DESTROY' });
    await creditAccount(domain, other, { amountMicro: 5_000_000n });
  };
  const { query } = pg.Client.prototype;
  const querySpy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const send = () => Reflect.apply(query, this, args);
    const isLast = (args[0] as pg.QueryConfig).text?.includes('order by at, id');
    return isLast && !isBooked ? bookEntries().then(send) : send();
  } as typeof query);
  const { lines, movements, closingBalance } = await statement(domain, other, { from: since, to: null });
  querySpy.mockRestore();
  expect(isBooked).toBe(true);
  expect(lines.map(({ kind }) => kind)).toEqual(['GPU', 'DISK']);
  expect(movements.map(({ amount }) => amount)).toEqual([100_000_000n]);
  expect(closingBalance).toBe(balance);
});
