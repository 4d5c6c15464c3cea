import { afterAll, beforeAll, expect, test } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { act, activeInstances, deploy } from '../../../src/domain/instances/instances.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

const DAY = 86_400;

/** Reads something between two steps of a history. Reads must not change the outcome. */
type Look = (accountId: string) => Promise<unknown>;

/**
 * Runs a two-month history with every kind of event: exhaustion, a credit during the grace period, an early exit, and
 * the end of a grace period.
 */
async function runHistory(look: Look, looksPerWait = 0): Promise<unknown> {
  domain.clock.set('2027-11-30T23:59:57Z');
  const account = await domain.account('12');
  const other = await domain.account('50');
  const machines = [await domain.machine('rtx-4090'), await domain.machine('p4'), await domain.machine('l4')];
  const rent = async (
    owner: string,
    machine: number,
    mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED',
    diskGb: number,
  ) => (await deploy(domain, owner, { machineId: machines[machine]!, mode, diskGb })).instance.id;
  const wait = async (seconds: number) => {
    const end = domain.clock.now() + BigInt(seconds);
    for (let left = looksPerWait; left > 0; left -= 1) {
      domain.clock.set(end - (BigInt(seconds) * BigInt(left)) / BigInt(looksPerWait + 1));
      await look(account);
    }
    domain.clock.set(end);
    await look(account);
  };
  const spot = await rent(account, 0, 'INTERRUPTIBLE', 37);
  await wait(5);
  const reserved = await rent(account, 1, 'RESERVED', 13);
  await wait(7_001);
  await act(domain, account, { id: reserved, action: 'STOP' });
  await wait(3);
  await act(domain, account, { id: reserved, action: 'START' });
  await wait(4_999);
  const holder = await rent(other, 0, 'ON_DEMAND', 5);
  await wait(11);
  await act(domain, other, { id: holder, action: 'DESTROY' });
  await wait(1);
  await act(domain, account, { id: spot, action: 'START' });
  await wait(3 * DAY + 1);
  await wait(2 * DAY + 13);
  await creditAccount(domain, account, { amountMicro: 3_000_007n });
  await wait(DAY);
  await rent(account, 2, 'ON_DEMAND', 50);
  await wait(DAY);
  await wait(20 * DAY);
  await look(account);
  return historyOf(account);
}

/** Returns all records that were written, with instances named by the order of their creation. */
async function historyOf(accountId: string) {
  await readBalance(domain, accountId);
  const instances = await domain.db.prisma.instance.findMany({ where: { accountId }, orderBy: { sequence: 'asc' } });
  const order = new Map(instances.map(({ id, sequence }) => [id, `instance ${sequence}`]));
  const named = (text: string | null) =>
    text && [...order].reduce((renamed, [id, name]) => renamed.replace(id, name), text);
  const entries = await domain.db.prisma.ledgerEntry.findMany({ where: { accountId } });
  const ledger = entries.map(({ kind, units, at, id, instanceId }) => ({
    kind,
    units,
    at,
    of: named(instanceId),
    id: instanceId === null ? '' : named(id),
  }));
  const usage = await domain.db.prisma.usageInterval.findMany({ where: { instance: { accountId } } });
  return {
    ledger: sorted(ledger),
    usage: sorted(usage.map((interval) => ({ ...interval, instanceId: named(interval.instanceId) }))),
    states: instances.map(({ status, stopReason, stoppedAt, destroyedAt, gpuSeconds }) => ({
      status,
      stopReason,
      stoppedAt,
      destroyedAt,
      gpuSeconds,
    })),
    balance: await readBalance(domain, accountId),
  };
}

function sorted(rows: object[]): string[] {
  return rows
    .map((row) => JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value)))
    .sort();
}

test('the ledger is the same after 0, 1 or 1,000 reads, with early or late sweeps', {
  timeout: 120_000,
}, async () => {
  const read: Look = (account) => readBalance(domain, account);
  const list: Look = (account) => activeInstances(domain, account);
  const many: Look = async (account) => {
    for (let batch = 0; batch < 10; batch += 1) await Promise.all(Array.from({ length: 10 }, () => read(account)));
  };
  const never = await runHistory(async () => {});
  expect((never as { states: { status: string }[] }).states.every(({ status }) => status === 'DESTROYED')).toBe(true);
  expect(await runHistory(read)).toEqual(never);
  expect(await runHistory(many)).toEqual(never);
  expect(await runHistory(list)).toEqual(never);
  expect(await runHistory(() => settleDue(domain))).toEqual(never);
  expect(await runHistory(() => settleDue(domain), 17)).toEqual(never);
  expect(await runHistory(read, 60)).toEqual(never);
});
