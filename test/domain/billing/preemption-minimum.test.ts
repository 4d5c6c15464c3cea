import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { adjustAccount, rebuildAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy, findInstance, operatorAct, usageOf } from '../../../src/domain/instances/instances.js';
import { deployBest } from '../../../src/domain/inventory/deploy-best.js';
import { dateOf, instantOf } from '../../../src/domain/kernel/time.js';
import { seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

/** A start that preempts an interruptible instance pays for at least 60 GPU seconds. */

const RATE = 440_000n;
const RESERVED_RATE = (RATE * 65n) / 100n;
const MINUTE = 60n;

let domain: TestDomain;
let ann: string;
let bob: string;

beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());
beforeEach(async () => {
  domain.clock.set('2026-11-20T12:00:00Z');
  [ann, bob] = [await domain.account(), await domain.account()];
});

/** Returns a machine on which Ann's interruptible instance has run for 10.5 s. */
async function heldMachine(): Promise<{ machineId: string; anns: string }> {
  const machineId = await domain.machine();
  const { instance } = await deploy(domain, ann, { machineId, diskGb: 1, mode: 'INTERRUPTIBLE' });
  domain.clock.advance(10.5);
  return { machineId, anns: instance.id };
}

async function take(machineId: string, mode: 'ON_DEMAND' | 'RESERVED' = 'ON_DEMAND'): Promise<string> {
  return (await deploy(domain, bob, { machineId, diskGb: 1, mode })).instance.id;
}

const destroy = (account: string, id: string) => act(domain, account, { id, action: 'DESTROY' });

async function minimumsOf(id: string) {
  const where = { instanceId: id, kind: 'PREEMPTION_MINIMUM' as const };
  const entries = await domain.db.prisma.ledgerEntry.findMany({ where, orderBy: { id: 'asc' } });
  return entries.map((entry) => [entry.id, -entry.units]);
}

async function usage(account: string, id: string) {
  return usageOf((await findInstance(domain, account, id))!, domain.clock.now());
}

async function expectCleanAudit(): Promise<void> {
  expect((await audit(domain)).findings).toEqual([]);
}

test('a preempting instance costs a minute of GPU time even if destroyed immediately', async () => {
  const { machineId, anns } = await heldMachine();
  const id = await take(machineId);
  const from = domain.clock.now() + 1n;
  expect((await findInstance(domain, bob, id))!.minimumUntil).toEqual(dateOf(from + MINUTE));
  domain.clock.advance(0.2);
  const { instance } = await destroy(bob, id);
  expect(instance).toMatchObject({ minimumUntil: null, gpuSeconds: 0n, minimumUnits: MINUTE * RATE });
  expect(await minimumsOf(id)).toEqual([[`${id}/gpu/1/minimum`, MINUTE * RATE]]);

  const parts = await usage(bob, id);
  const spend = (MINUTE * RATE + instance.diskRate) / 3_600n;
  expect(parts).toMatchObject({
    gpuCost: 0n,
    diskSeconds: 1n,
    preemptionMinimum: spend - parts.diskCost,
    total: spend,
  });
  expect(await readBalance(domain, bob)).toMatchObject({ balance: 100_000_000n - spend, monthSpend: spend });
  const { lines, closingBalance } = await statement(domain, bob, { from: 0n, to: null });
  expect(closingBalance).toBe(100_000_000n - spend);
  expect(lines.map(({ kind, seconds, rate }) => [kind, seconds, rate])).toEqual([
    ['DISK', 1n, instance.diskRate],
    ['PREEMPTION_MINIMUM', MINUTE, RATE],
  ]);
  expect((await usage(ann, anns)).gpuSeconds).toBe(11n);
  await expectCleanAudit();
});

test.each([
  ['a stop after 25.3 seconds costs the rest of the minute', 25.3, 'STOP', MINUTE - 25n],
  ['a destroy after 59.6 seconds costs nothing more', 59.6, 'DESTROY', 0n],
  ['a stop after two minutes costs nothing more', 120, 'STOP', 0n],
] as const)('%s', async (_name, seconds, action, left) => {
  const { machineId } = await heldMachine();
  const id = await take(machineId);
  domain.clock.advance(seconds);
  await act(domain, bob, { id, action });
  expect(await minimumsOf(id)).toEqual(left === 0n ? [] : [[`${id}/gpu/1/minimum`, left * RATE]]);
  const { gpuSeconds } = await usage(bob, id);
  expect(gpuSeconds + left).toBe(left === 0n ? BigInt(Math.ceil(seconds + 0.5)) - 1n : MINUTE);
  await expectCleanAudit();
});

test('every preempting start costs the minimum, but a start on a free machine does not', async () => {
  const machineId = await domain.machine();
  const id = await take(machineId);
  domain.clock.advance(5);
  await act(domain, bob, { id, action: 'STOP' });
  expect(await minimumsOf(id)).toEqual([]);
  const anns = (await deploy(domain, ann, { machineId, diskGb: 1, mode: 'INTERRUPTIBLE' })).instance.id;
  for (const ordinal of [2, 4]) {
    domain.clock.advance(1);
    await act(domain, bob, { id, action: 'START' });
    domain.clock.advance(7);
    await act(domain, bob, { id, action: 'STOP' });
    expect(await minimumsOf(id)).toContainEqual([`${id}/gpu/${ordinal}/minimum`, (MINUTE - 7n) * RATE]);
    if (ordinal === 4) break;
    await act(domain, bob, { id, action: 'START' });
    await act(domain, bob, { id, action: 'STOP' });
    await act(domain, ann, { id: anns, action: 'START' });
  }
  expect(await minimumsOf(id)).toHaveLength(2);
  expect((await usage(bob, id)).preemptionMinimum).toBe((2n * (MINUTE - 7n) * RATE) / 3_600n);
  await expectCleanAudit();
});

test('a preempting deployBest also costs the minimum', async () => {
  const { machineId } = await heldMachine();
  // No other machine of this model is on offer.
  await domain.db.prisma.machine.updateMany({
    where: { gpu: 'rtx-4090', id: { not: machineId } },
    data: { state: 'OFFLINE' },
  });
  try {
    await domain.db.notices.caughtUp();
    const { instance } = await deployBest(domain, bob, {
      gpus: ['rtx-4090'],
      filter: { includePreemptible: true },
      diskGb: 1,
    });
    expect(instance.machineId).toBe(machineId);
    await destroy(bob, instance.id);
    expect(await minimumsOf(instance.id)).toEqual([[`${instance.id}/gpu/1/minimum`, MINUTE * RATE]]);
  } finally {
    await domain.db.prisma.machine.updateMany({ where: { gpu: 'rtx-4090' }, data: { state: 'LISTED' } });
  }
  await expectCleanAudit();
});

test('an early exit costs the discount on used seconds plus the locked minimum', async () => {
  const { machineId } = await heldMachine();
  const id = await take(machineId, 'RESERVED');
  domain.clock.advance(19.9);
  const { instance } = await destroy(bob, id);
  expect(instance.gpuSeconds).toBe(20n);
  expect(instance.earlyExitUnits).toBe(20n * (RATE - RESERVED_RATE));
  expect(instance.minimumUnits).toBe(40n * RESERVED_RATE);
  const { lines } = await statement(domain, bob, { from: 0n, to: null });
  expect(lines.map(({ kind }) => kind)).toEqual(['GPU', 'DISK', 'EARLY_EXIT', 'PREEMPTION_MINIMUM']);
  const { total, ...parts } = await usage(bob, id);
  expect(parts.gpuCost + parts.diskCost + parts.earlyExit + parts.preemptionMinimum).toBe(total);
  await expectCleanAudit();
});

test.each([
  ['when the operator stops the instance', async (id: string) => void (await operatorAct(domain, id, 'STOP'))],
  [
    'when credit runs out',
    async (id: string) => {
      const { balance } = await readBalance(domain, bob);
      await adjustAccount(domain, bob, { amountMicro: -balance, note: 'to nothing' });
      domain.clock.advance(1.5);
      expect((await findInstance(domain, bob, id))!.stopReason).toBe('BALANCE_EXHAUSTED');
    },
  ],
])('the minimum is charged %s', async (_name, end) => {
  const { machineId } = await heldMachine();
  const id = await take(machineId);
  domain.clock.advance(10);
  await end(id);
  const { gpuSeconds, minimumUnits, stoppedAt } = (await findInstance(domain, bob, id))!;
  expect(minimumUnits).toBe((MINUTE - gpuSeconds) * RATE);
  const entry = await domain.db.prisma.ledgerEntry.findFirstOrThrow({
    where: { kind: 'PREEMPTION_MINIMUM', instanceId: id },
  });
  expect(entry.at).toEqual(stoppedAt);
  const before = await domain.db.prisma.account.findUniqueOrThrow({ where: { id: bob } });
  await rebuildAccount(domain, bob);
  expect(await domain.db.prisma.account.findUniqueOrThrow({ where: { id: bob } })).toEqual(before);
  await expectCleanAudit();
});

test("the minimum counts toward the month in which the instance's run ended", async () => {
  domain.clock.set('2026-11-30T23:59:30Z');
  const { machineId } = await heldMachine();
  const id = await take(machineId);
  domain.clock.set('2026-11-30T23:59:58Z');
  domain.clock.advance(0.5);
  await destroy(bob, id);
  domain.clock.set('2026-12-01T00:00:01Z');
  expect((await readBalance(domain, bob)).monthSpend).toBe(0n);
  await expectCleanAudit();
});

describe('on a machine with an agent,', () => {
  /** Preempts Ann's instance with Bob's. Returns the machine's agent and Bob's instance. */
  async function preempted(): Promise<{ agent: TestAgent; id: string }> {
    const agent = await TestAgent.join(domain);
    const { machineId } = agent;
    const anns = (await deploy(domain, ann, { machineId, diskGb: 1, mode: 'INTERRUPTIBLE' })).instance.id;
    await agent.fetch();
    await agent.report([seen(anns, 'RUNNING')]);
    domain.clock.advance(10);
    const id = await take(machineId);
    await agent.fetch();
    await agent.report([seen(anns, 'STOPPED')]);
    await agent.fetch();
    return { agent, id };
  }
  /** Returns the units that were finally charged for GPU time. */
  async function unitsPaid(id: string): Promise<bigint> {
    const kind = { in: ['GPU_USAGE', 'PREEMPTION_MINIMUM', 'SERVICE_CREDIT'] as ('GPU_USAGE' | 'SERVICE_CREDIT')[] };
    const entries = await domain.db.prisma.ledgerEntry.findMany({ where: { instanceId: id, kind } });
    return entries.reduce((sum, { units }) => sum - units, 0n);
  }

  test('a preempting start costs the minimum even if its image can never run', async () => {
    const { agent, id } = await preempted();
    const anns = (
      await domain.db.prisma.instance.findFirstOrThrow({ where: { accountId: ann, machineId: agent.machineId } })
    ).id;
    domain.clock.advance(20);
    await agent.report([seen(anns, 'STOPPED'), seen(id, 'FAILED')]);
    await tick(domain);
    expect((await findInstance(domain, bob, id))!.stopReason).toBe('START_FAILED');
    expect(await unitsPaid(id)).toBe(MINUTE * RATE);
    await expectCleanAudit();
  });

  test('a slow start is credited beyond its first minute, but for at most its run time', async () => {
    const { agent, id } = await preempted();
    const anns = (
      await domain.db.prisma.instance.findFirstOrThrow({ where: { accountId: ann, machineId: agent.machineId } })
    ).id;
    for (let i = 0; i < 9; i += 1) {
      domain.clock.advance(10);
      await agent.report([seen(anns, 'STOPPED'), seen(id, i < 8 ? 'PULLING' : 'RUNNING')]);
      await domain.fleet.heartbeats.flush();
    }
    domain.clock.advance(10);
    await act(domain, bob, { id, action: 'STOP' });
    domain.clock.advance(1);
    await tick(domain);
    domain.clock.advance(-1);
    const { createdAt, gpuSeconds } = (await findInstance(domain, bob, id))!;
    expect(domain.clock.now() - instantOf(createdAt)).toBe(gpuSeconds);
    // 100 s are charged. The instance took 90 s to start, of which 60 are always paid, and then ran for 10 s.
    expect(await unitsPaid(id)).toBe((gpuSeconds - 10n) * RATE);
    await expectCleanAudit();
  });
});
