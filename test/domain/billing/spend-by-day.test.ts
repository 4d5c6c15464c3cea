import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { MAX_SPEND_DAYS, type SpendByDay, spendByDay } from '../../../src/domain/billing/spend-by-day.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { dateOf, dateOfDay, formatDay, instantOf, SECONDS_PER_DAY } from '../../../src/domain/kernel/time.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const HISTORIES = 12;
const STEPS = 14;
const MODELS = ['rtx-4090', 'l4', 'p4'];
const MODES = ['ON_DEMAND', 'INTERRUPTIBLE', 'RESERVED'] as const;

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain({}, '2027-10-28T21:13:07Z');
});
afterAll(() => domain.close());

const today = () => formatDay(dateOf(domain.clock.now()));
const sum = (amounts: readonly { amount: bigint }[]) => amounts.reduce((total, { amount }) => total + amount, 0n);

/** Returns a function that picks random entries reproducibly, so that a failure can be repeated. */
function chooser(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

/**
 * Deploys, stops, starts and destroys instances at odd seconds over more than two months, ignoring rejected actions.
 */
async function runHistory(seed: number): Promise<string> {
  const choose = chooser(seed);
  const account = await domain.account('900');
  const ids: string[] = [];
  for (let step = 0; step < STEPS; step += 1) {
    const what = choose(4);
    if (what === 0 || ids.length === 0) {
      const machineId = await domain.machine(MODELS[choose(3)]!);
      const input = { machineId, mode: MODES[choose(3)]!, diskGb: 1 + choose(97) };
      const { instance } = await deploy(domain, account, input);
      ids.push(instance.id);
    } else {
      const action = (['STOP', 'START', 'DESTROY'] as const)[what - 1]!;
      await act(domain, account, { id: ids[choose(ids.length)]!, action }).catch(() => {});
    }
    domain.clock.advance(choose(3) === 0 ? 1 + choose(5) : 1 + choose(9 * 86_400));
  }
  return account;
}

const descending = (one: bigint, other: bigint) => (one < other ? 1 : one > other ? -1 : 0);

/** Expects the days and the instances to add up to each other and to the total. */
function expectToAddUp({ days, instances, others, total, volumes, models, names }: SpendByDay): void {
  expect(days.reduce((all, day) => all + day.total, 0n)).toBe(total);
  expect(sum(instances) + others).toBe(total);
  expect(sum(models) + volumes).toBe(total);
  expect(new Set(models.map(({ gpu }) => gpu)).size).toBe(models.length);
  expect(models.map(({ amount }) => amount)).toEqual(models.map(({ amount }) => amount).toSorted(descending));
  // Instances without names are listed individually.
  expect(names).toEqual(instances.map(({ instanceId, amount }) => ({ name: instanceId, instances: 1, amount })));
  for (const day of days) expect(sum(day.instances) + day.others).toBe(day.total);
  for (const { instanceId, amount } of instances) {
    const cells = days.flatMap((day) => day.instances.filter((cell) => cell.instanceId === instanceId));
    expect([instanceId, sum(cells)]).toEqual([instanceId, amount]);
  }
}

test("daily spend adds up to the month's spend, the statements and the instances", async () => {
  for (let seed = 1; seed <= HISTORIES; seed += 1) {
    const account = await runHistory(seed);
    const month = `${today().slice(0, 7)}-01`;
    const { monthSpend, asOf } = await readBalance(domain, account);
    const ofMonth = await spendByDay(domain, account, { from: month, limit: 100 });
    expect([seed, ofMonth.total, ofMonth.asOf, ofMonth.to]).toEqual([seed, monthSpend, asOf, today()]);
    expect(ofMonth.days.map(({ date }) => date)).toHaveLength(Number(today().slice(8)));
    expectToAddUp(ofMonth);

    const from = formatDay(dateOf(asOf - 80n * SECONDS_PER_DAY));
    const some = await spendByDay(domain, account, { from, limit: 2 });
    const all = await spendByDay(domain, account, { from, limit: 100 });
    for (const answer of [some, all]) expectToAddUp(answer);
    expect(all.others).toBe(0n);
    expect(some.instances).toEqual(all.instances.slice(0, 2));
    expect(some.days.map(({ total }) => total)).toEqual(all.days.map(({ total }) => total));

    // Each day equals its own statement, regardless of the requested period.
    for (const { date, total } of all.days.filter((_, index) => index % 7 === 0)) {
      const start = instantOf(dateOfDay(date));
      const { lines } = await statement(domain, account, { from: start, to: start + SECONDS_PER_DAY });
      expect([seed, date, sum(lines)]).toEqual([seed, date, total]);
    }
    domain.clock.advance(86_399);
  }
});

describe('spend by day for a period', () => {
  test("has an entry for every UTC day and includes no other account's spend", async () => {
    domain.clock.set('2028-02-28T22:00:00Z');
    const [account, stranger] = [await domain.account(), await domain.account()];
    await deploy(domain, stranger, { machineId: await domain.machine() });
    const { instance } = await deploy(domain, account, { machineId: await domain.machine('l4'), diskGb: 10 });
    const rate = instance.gpuRate + instance.diskRate;
    domain.clock.advance(2 * 3_600 + 86_400 + 1);
    const { days, instances, asOf, to } = await spendByDay(domain, account, { from: '2028-02-27' });
    expect(days.map(({ date, total }) => [date, total])).toEqual([
      ['2028-02-27', 0n],
      ['2028-02-28', rate * 2n],
      ['2028-02-29', rate * 24n],
      ['2028-03-01', rate / 3_600n],
    ]);
    expect([to, asOf]).toEqual(['2028-03-01', domain.clock.now()]);
    expect(instances).toMatchObject([
      { instanceId: instance.id, gpu: 'l4', numGpus: 1, template: 'pytorch', status: 'RUNNING' },
    ]);
    const past = await spendByDay(domain, account, { from: '2028-02-28', to: '2028-02-28' });
    expect([past.total, past.days.length]).toEqual([rate * 2n, 1]);
  });

  test('is refused if the period is too long, reversed or in the future', async () => {
    const account = await domain.account();
    const refusal = (from: string, to?: string) =>
      spendByDay(domain, account, { from, to: to ?? null }).then(
        () => null,
        ({ code, field }) => [code, field],
      );
    const longest = formatDay(dateOf(domain.clock.now() - BigInt(MAX_SPEND_DAYS - 1) * SECONDS_PER_DAY));
    expect(await refusal(longest)).toBeNull();
    expect(await refusal(formatDay(dateOf(instantOf(dateOfDay(longest)) - 1n)))).toEqual(['invalid_request', 'from']);
    expect(await refusal('2028-02-28', '2028-02-27')).toEqual(['invalid_request', 'to']);
    expect(await refusal('2030-01-01')).toEqual(['invalid_request', 'from']);
    expect(await refusal('1969-12-31')).toEqual(['invalid_request', 'from']);
  });
});

test('spend is totaled by instance name and by GPU model', async () => {
  const account = await domain.account('900');
  const from = today();
  const ids: string[] = [];
  for (const [model, name] of [
    ['l4', 'train'],
    ['rtx-4090', 'train'],
    ['l4', null],
  ] as const) {
    const input = { machineId: await domain.machine(model), ...(name !== null && { launch: { name } }) };
    ids.push((await deploy(domain, account, input)).instance.id);
  }
  domain.clock.advance(600);
  const { instances, models, names, total } = await spendByDay(domain, account, { from });
  const of = (id: string | undefined) => instances.find(({ instanceId }) => instanceId === id)!.amount;
  expect(instances.map(({ name }) => name).toSorted()).toEqual([ids[2], 'train', 'train'].toSorted());
  expect(names.find(({ name }) => name === 'train')).toEqual({
    name: 'train',
    instances: 2,
    amount: of(ids[0]) + of(ids[1]),
  });
  expect(models.find(({ gpu }) => gpu === 'l4')).toEqual({ gpu: 'l4', amount: of(ids[0]) + of(ids[2]) });
  expect(sum(models)).toBe(total);
  expect((await spendByDay(domain, account, { from, limit: 1 })).names).toHaveLength(1);
});
