import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adjustAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy, findInstance, operatorAct, usageOf } from '../../../src/domain/instances/instances.js';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { formatInstant, type Instant, instantOf } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { randomHistories } from '../../support/long.js';

/** Each second in which an instance ran or its disk existed is paid for exactly once. */

let domain: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());
beforeEach(() => domain.clock.set('2026-11-20T12:00:00Z'));

/** Advances the clock to the next moment whose second has this fraction. */
function at(fraction: number): void {
  const left = fraction - (domain.clock.nowMs() % 1_000) / 1_000;
  domain.clock.advance(left > 0 ? left : left + 1);
}

async function rent(account: string, machineId: string, mode: 'ON_DEMAND' | 'INTERRUPTIBLE' = 'ON_DEMAND') {
  const { instance } = await deploy(domain, account, { machineId, diskGb: 1, mode });
  return instance.id;
}

const start = (account: string, id: string) => act(domain, account, { id, action: 'START' });
const stop = (account: string, id: string) => act(domain, account, { id, action: 'STOP' });
const destroy = (account: string, id: string) => act(domain, account, { id, action: 'DESTROY' });

async function usage(account: string, id: string) {
  return usageOf((await findInstance(domain, account, id))!, domain.clock.now());
}

/** Returns how many GPU seconds were sold on the machine. All its intervals must have ended. */
async function soldOf(machineId: string): Promise<bigint> {
  const rows = await domain.db.prisma.usageInterval.findMany({ where: { resource: 'GPU', instance: { machineId } } });
  return rows.reduce((sum, { startedAt, endedAt }) => sum + instantOf(endedAt!) - instantOf(startedAt), 0n);
}

async function expectCleanAudit(): Promise<void> {
  expect((await audit(domain)).findings).toEqual([]);
}

describe('every touched second is paid for', () => {
  test('when runs last 0.92 s and each stay within one second', async () => {
    const account = await domain.account();
    const machineId = await domain.machine();
    at(0.01);
    const id = await rent(account, machineId);
    for (let turn = 1; turn <= 12; turn += 1) {
      at(0.93);
      await stop(account, id);
      if (turn === 12) break;
      at(0.01);
      await start(account, id);
    }
    expect(await usage(account, id)).toMatchObject({ gpuSeconds: 12n });
    await expectCleanAudit();
  });

  test('when runs last nearly two seconds', async () => {
    const account = await domain.account();
    const machineId = await domain.machine();
    at(0.01);
    const id = await rent(account, machineId);
    for (let turn = 1; turn <= 5; turn += 1) {
      domain.clock.advance(1);
      at(0.93);
      await stop(account, id);
      if (turn === 5) break;
      at(0.01);
      await start(account, id);
    }
    expect((await usage(account, id)).gpuSeconds).toBe(10n);
    await expectCleanAudit();
  });

  test('on each disk, no matter how briefly it existed', async () => {
    const account = await domain.account();
    const machineId = await domain.machine();
    at(0.1);
    const one = await rent(account, machineId);
    at(0.2);
    await destroy(account, one);
    at(0.3);
    const other = await rent(account, machineId);
    at(0.4);
    await destroy(account, other);
    expect(await usage(account, one)).toMatchObject({ gpuSeconds: 1n, diskSeconds: 1n });
    expect(await usage(account, other)).toMatchObject({ gpuSeconds: 0n, diskSeconds: 1n });
    await expectCleanAudit();
  });

  test('on both machines if the account moves from one to the other within it', async () => {
    const account = await domain.account();
    const [m1, m2] = [await domain.machine(), await domain.machine()];
    at(0.1);
    const one = await rent(account, m1);
    at(0.2);
    await stop(account, one);
    at(0.3);
    const other = await rent(account, m2);
    at(0.9);
    await stop(account, other);
    expect((await usage(account, one)).gpuSeconds).toBe(1n);
    expect((await usage(account, other)).gpuSeconds).toBe(1n);
    await expectCleanAudit();
  });
});

test('the example in docs/billing.md is billed as documented', async () => {
  const [ann, bob] = [await domain.account(), await domain.account()];
  const machineId = await domain.machine();
  const minute = domain.clock.now();
  const to = (second: number) => domain.clock.advance(second - (domain.clock.nowMs() / 1_000 - Number(minute)));
  to(10.4);
  const anns = await rent(ann, machineId);
  to(12.05);
  await stop(ann, anns);
  to(12.3);
  await start(ann, anns);
  to(12.8);
  await destroy(ann, anns);
  to(12.9);
  const bobs = await rent(bob, machineId);
  to(13.1);
  await stop(bob, bobs);
  const intervals = async (instanceId: string) =>
    (await domain.db.prisma.usageInterval.findMany({ where: { instanceId }, orderBy: { ordinal: 'asc' } })).map(
      ({ resource, startedAt, endedAt }) =>
        [resource, instantOf(startedAt) - minute, endedAt && instantOf(endedAt) - minute] as const,
    );
  expect(new Set(await intervals(anns))).toEqual(
    new Set([
      ['GPU', 10n, 13n],
      ['GPU', 13n, 13n],
      ['DISK', 10n, 13n],
    ]),
  );
  expect(new Set(await intervals(bobs))).toEqual(
    new Set([
      ['GPU', 13n, 14n],
      ['DISK', 12n, null],
    ]),
  );
  await expectCleanAudit();
});

describe('a second is sold once', () => {
  test('to one instance that stops and starts within it', async () => {
    const account = await domain.account();
    const machineId = await domain.machine();
    at(0.1);
    const id = await rent(account, machineId);
    for (const [stopped, started] of [
      [0.2, 0.3],
      [0.4, 0.5],
    ] as const) {
      at(stopped);
      await stop(account, id);
      at(started);
      await start(account, id);
    }
    const { runningSince } = (await findInstance(domain, account, id))!;
    expect(instantOf(runningSince!)).toBe(domain.clock.now() + 1n);
    expect((await usage(account, id)).gpuSeconds).toBe(1n);
    at(0.1);
    await stop(account, id);
    expect((await usage(account, id)).gpuSeconds).toBe(2n);
    await expectCleanAudit();
  });

  test('to the first of three renters within it', async () => {
    const machineId = await domain.machine();
    const accounts = [await domain.account(), await domain.account(), await domain.account()];
    const ids: string[] = [];
    at(0.05);
    for (const account of accounts) {
      ids.push(await rent(account, machineId));
      domain.clock.advance(0.1);
      await destroy(account, ids.at(-1)!);
      domain.clock.advance(0.1);
    }
    const seconds = await Promise.all(ids.map(async (id, i) => (await usage(accounts[i]!, id)).gpuSeconds));
    expect(seconds).toEqual([1n, 0n, 0n]);
    expect(await soldOf(machineId)).toBe(1n);
    await expectCleanAudit();
  });

  test('in a chain of preemptions within it', async () => {
    const machineId = await domain.machine();
    const [ann, bob] = [await domain.account(), await domain.account()];
    at(0.5);
    const anns = await rent(ann, machineId, 'INTERRUPTIBLE');
    domain.clock.advance(10);
    const bobs = await rent(bob, machineId);
    const from = domain.clock.now();
    const preempted = (await findInstance(domain, ann, anns))!;
    expect(preempted).toMatchObject({ status: 'STOPPED', stopReason: 'PREEMPTED' });
    expect(instantOf(preempted.stoppedAt!)).toBe(from + 1n);
    expect(instantOf((await findInstance(domain, bob, bobs))!.runningSince!)).toBe(from + 1n);
    at(0.6);
    await destroy(bob, bobs);
    at(0.7);
    await start(ann, anns);
    at(0.2);
    await stop(ann, anns);
    expect((await usage(ann, anns)).gpuSeconds).toBe(12n);
    expect((await usage(bob, bobs)).gpuSeconds).toBe(0n);
    await expectCleanAudit();
  });

  test('without any negative amount when the clock steps back', async () => {
    const machineId = await domain.machine();
    const [ann, bob] = [await domain.account(), await domain.account()];
    at(0.5);
    const anns = await rent(ann, machineId);
    domain.clock.advance(10);
    await stop(ann, anns);
    domain.clock.advance(-3_600);
    const bobs = await rent(bob, machineId);
    domain.clock.advance(1);
    expect((await usage(bob, bobs)).gpuSeconds).toBe(0n);
    await destroy(bob, bobs);
    expect((await usage(bob, bobs)).gpuSeconds).toBe(0n);
    await start(ann, anns);
    domain.clock.advance(-10);
    await stop(ann, anns);
    expect((await usage(ann, anns)).gpuSeconds).toBe(11n);
    await expectCleanAudit();
  });
});

test('on a boundary, a stop ends the old second and a start begins the new one', async () => {
  const account = await domain.account();
  const machineId = await domain.machine();
  const id = await rent(account, machineId);
  domain.clock.advance(1);
  const { instance } = await stop(account, id);
  expect(instantOf(instance.stoppedAt!)).toBe(domain.clock.now());
  await start(account, id);
  domain.clock.advance(0.001);
  await destroy(account, id);
  expect(await usage(account, id)).toMatchObject({ gpuSeconds: 2n, diskSeconds: 2n });
  await expectCleanAudit();
});

test('the response to a stop shows the end of its second and the amounts charged', async () => {
  const account = await domain.account('10');
  const machineId = await domain.machine();
  at(0.3);
  const from = domain.clock.now();
  const { instance: made } = await deploy(domain, account, { machineId, diskGb: 1 });
  expect(instantOf(made.createdAt)).toBe(from);
  at(0.2);
  const { instance } = await stop(account, made.id);
  expect(instantOf(instance.stoppedAt!)).toBe(from + 2n);
  const units = (made.gpuRate + made.diskRate) * 2n;
  const shown = { balance: 10_000_000n - units / 3_600n, monthSpend: units / 3_600n };
  expect(await readBalance(domain, account)).toMatchObject(shown);
  expect((await usage(account, made.id)).total).toBe(units / 3_600n);
  const { closingBalance, lines } = await statement(domain, account, { from, to: null });
  expect(closingBalance).toBe(shown.balance);
  expect(lines.map(({ kind, seconds }) => [kind, seconds])).toEqual([
    ['GPU', 2n],
    ['DISK', 2n],
  ]);
  at(0);
  expect(await readBalance(domain, account)).toMatchObject(shown);
});

test("a month's last second counts toward that month if an instance stops within it", async () => {
  domain.clock.set('2026-11-30T23:59:59Z');
  const account = await domain.account('10');
  const [m1, m2] = [await domain.machine(), await domain.machine()];
  domain.clock.advance(0.2);
  const one = await rent(account, m1);
  domain.clock.advance(0.2);
  await stop(account, one);
  domain.clock.advance(0.2);
  // The account is settled up to midnight, and this instance begins earlier.
  const other = await rent(account, m2);
  domain.clock.set('2026-12-01T00:00:00Z');
  expect((await readBalance(domain, account)).monthSpend).toBe(0n);
  domain.clock.advance(3_600);
  await destroy(account, other);
  const { monthSpend, balance } = await readBalance(domain, account);
  const december = [
    ...(await statement(domain, account, { from: instantOf(new Date('2026-12-01T00:00:00Z')), to: null })).lines,
  ];
  expect(december.map(({ instanceId, kind, seconds }) => [instanceId, kind, seconds])).toEqual([
    [one, 'DISK', 3_600n],
    [other, 'GPU', 3_600n],
    [other, 'DISK', 3_600n],
  ]);
  expect(december.reduce((sum, { amount }) => sum + amount, 0n)).toBe(monthSpend);
  expect(balance).toBeLessThan(10_000_000n - monthSpend);
  await expectCleanAudit();
});

describe('when credit runs out at T,', () => {
  /** Returns an instance whose credit runs out at T, with the clock set half a second before T. */
  async function almostExhausted(mode: 'ON_DEMAND' | 'INTERRUPTIBLE' = 'ON_DEMAND') {
    const account = await domain.account('0.5');
    const machineId = await domain.machine();
    const id = await rent(account, machineId, mode);
    const { dueAt } = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: account } });
    const exhaustsAt = instantOf(dueAt!);
    domain.clock.set(exhaustsAt - 1n);
    at(0.5);
    return { account, machineId, id, exhaustsAt };
  }
  const stoppedAt = async (id: string): Promise<Instant> =>
    instantOf((await domain.db.prisma.instance.findUniqueOrThrow({ where: { id } })).stoppedAt!);

  test('a stop in the second before T ends the instance at T', async () => {
    const { account, id, exhaustsAt } = await almostExhausted();
    await stop(account, id);
    expect(await stoppedAt(id)).toBe(exhaustsAt);
    await expectCleanAudit();
  });

  test.each([
    ['a stop', async (account: string, id: string) => void (await stop(account, id))],
    ['a destroy', async (account: string, id: string) => void (await destroy(account, id))],
    ["the operator's stop", async (_: string, id: string) => void (await operatorAct(domain, id, 'STOP'))],
  ])('%s during the second of T ends the instance at T and charges no later second', async (_name, end) => {
    const { account, id, exhaustsAt } = await almostExhausted();
    at(0.5);
    await end(account, id);
    expect(await stoppedAt(id)).toBe(exhaustsAt);
    const { balance } = await readBalance(domain, account);
    expect(balance).toBeLessThanOrEqual(0n);
    expect(balance).toBeGreaterThan(-200n);
    await expectCleanAudit();
  });

  test('a deploy that takes the machine during the second of T begins at T', async () => {
    const { machineId, id, exhaustsAt } = await almostExhausted('INTERRUPTIBLE');
    at(0.5);
    const bob = await domain.account();
    const bobs = await rent(bob, machineId);
    expect(await stoppedAt(id)).toBe(exhaustsAt);
    expect(instantOf((await findInstance(domain, bob, bobs))!.runningSince!)).toBe(exhaustsAt);
    await expectCleanAudit();
  });

  test('a credit in the second of T counts even if another account stops within it', async () => {
    const { account, id, exhaustsAt } = await almostExhausted();
    at(0.2);
    const bob = await domain.account();
    const bobs = await rent(bob, await domain.machine());
    at(0.3);
    await stop(bob, bobs);
    await adjustAccount(domain, account, { amountMicro: -1n });
    at(0.8);
    await creditAccount(domain, account, { amountMicro: 1_000_000n });
    at(0.1);
    expect((await findInstance(domain, account, id))!.status).toBe('RUNNING');
    expect(domain.clock.now()).toBe(exhaustsAt + 1n);
    await expectCleanAudit();
  });
});

test('the balance is the same no matter how often it is read', async () => {
  const [read, unread] = [await domain.account('10'), await domain.account('10')];
  const machines = [await domain.machine(), await domain.machine()];
  const ids = ['', ''];
  const each = async (work: (account: string, index: number) => Promise<unknown>) => {
    await work(read, 0);
    await work(unread, 1);
  };
  const pass = async (seconds: number) => {
    for (let i = 0; i < 5; i += 1) {
      domain.clock.advance(seconds / 5);
      await readBalance(domain, read);
      await usage(read, ids[0]!);
    }
  };
  at(0.4);
  await each(async (account, i) => {
    ids[i] = await rent(account, machines[i]!);
  });
  for (const turn of [0.3, 1.1, 0.25, 3.75]) {
    await pass(turn);
    await each((account, i) => stop(account, ids[i]!));
    await pass(turn);
    await each((account, i) => start(account, ids[i]!));
  }
  await pass(1.3);
  await each((account, i) => destroy(account, ids[i]!));
  expect(await readBalance(domain, read)).toEqual(await readBalance(domain, unread));
  const rows = await domain.db.prisma.account.findMany({ where: { id: { in: [read, unread] } } });
  expect(rows[0]!.spendUnits).toBe(rows[1]!.spendUnits);
  expect(formatInstant(instantOf(rows[0]!.settledAt))).toBe(formatInstant(instantOf(rows[1]!.settledAt)));
});

describe('in any order of actions,', () => {
  const RUNS = 25;
  const step = fc.record({
    account: fc.nat({ max: 2 }),
    machine: fc.nat({ max: 1 }),
    do: fc.constantFrom('deploy', 'deploy', 'START', 'STOP', 'STOP', 'DESTROY'),
    mode: fc.constantFrom('ON_DEMAND' as const, 'INTERRUPTIBLE' as const),
    pick: fc.nat({ max: 2 }),
    // Actions often fall within the same second, sometimes exactly on its boundary.
    passes: fc.oneof(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 3_000 }),
      fc.constant('edge' as const),
    ),
  });

  /** Span [from, to) in milliseconds during which an instance actually held its machine. */
  interface Hold {
    id: string;
    machineId: string;
    from: number;
    to: number | null;
  }

  test('a machine sells each touched second once, and no instance holds unpaid time', { timeout: 240_000 }, () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 12, maxLength: 30 }), async (steps) => {
        const accounts = [await domain.account('900'), await domain.account('900'), await domain.account('900')];
        const machines = [await domain.machine(), await domain.machine()];
        const mine: { id: string; machineId: string }[][] = [[], [], []];
        const holds: Hold[] = [];
        const begin = (id: string, machineId: string) => {
          const from = domain.clock.nowMs();
          // The previous holder has left.
          for (const each of holds) if (each.machineId === machineId) each.to ??= from;
          holds.push({ id, machineId, from, to: null });
        };
        const end = (id: string) => {
          for (const each of holds) if (each.id === id) each.to ??= domain.clock.nowMs();
        };
        for (const { account, machine, mode, pick, passes, do: what } of steps) {
          if (passes === 'edge') at(0);
          else domain.clock.advance(passes / 1_000);
          const [accountId, machineId] = [accounts[account]!, machines[machine]!];
          const chosen = mine[account]!.at(-1 - pick);
          try {
            if (what === 'deploy') {
              const { instance } = await deploy(domain, accountId, { machineId, diskGb: 1, mode });
              mine[account]!.push({ id: instance.id, machineId });
              begin(instance.id, machineId);
            } else if (chosen !== undefined) {
              await act(domain, accountId, { id: chosen.id, action: what as 'START' | 'STOP' | 'DESTROY' });
              if (what === 'START') begin(chosen.id, chosen.machineId);
              else end(chosen.id);
            }
          } catch (error) {
            if (!(error instanceof DomainError)) throw error;
          }
        }
        domain.clock.advance(0.4);
        for (const [index, instances] of mine.entries())
          for (const { id } of instances) {
            if ((await findInstance(domain, accounts[index]!, id))!.status !== 'RUNNING') continue;
            await stop(accounts[index]!, id);
            end(id);
          }
        for (const machineId of machines) {
          const spans = holds.filter((each) => each.machineId === machineId);
          const touched = new Set<number>();
          let heldMs = 0;
          for (const { from, to } of spans) {
            heldMs += to! - from;
            for (let second = Math.floor(from / 1_000); second * 1_000 < to!; second += 1) touched.add(second);
          }
          const sold = await soldOf(machineId);
          expect(sold).toBe(BigInt(touched.size));
          expect(heldMs).toBeLessThanOrEqual(Number(sold) * 1_000);
        }
        await expectCleanAudit();
      }),
      { ...randomHistories(RUNS), verbose: 1 },
    ),
  );
});
