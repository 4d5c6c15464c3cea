import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ObservedInstance } from '../../../src/agent/protocol.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { enrol, forgetContainers, join, revokeHost } from '../../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../../src/domain/fleet/heartbeats.js';
import { takeReport } from '../../../src/domain/fleet/observations.js';
import { RUNTIME_SELECT, runtimeOf } from '../../../src/domain/fleet/runtime.js';
import { settleService } from '../../../src/domain/fleet/service-credits.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { changeMachine, findMachine } from '../../../src/domain/inventory/machines.js';
import { findOffers } from '../../../src/domain/inventory/offers.js';
import { instantOf } from '../../../src/domain/rules/time.js';
import { hardware, seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

const refused = (code: string) => expect.objectContaining({ code });
const anyMachine = { machineId: null, gpu: null, region: 'us-tx', online: false, demo: false };

async function isOffered(machineId: string): Promise<boolean> {
  const offers = await findOffers(domain, { gpu: 'rtx-4090', limit: 100 });
  const row = await domain.db.prisma.machine.findUniqueOrThrow({ where: { id: machineId } });
  // The cheapest hundred may not reach it: more reliable ones come first.
  expect(row.reliability).toBe(1);
  return offers.some((offer) => offer.machineId === machineId);
}

const phases = async (agent: TestAgent) => (await agent.fetch()).instances.map(({ id, phase }) => [id, phase]);
const credits = async (accountId: string) =>
  (
    await domain.db.prisma.ledgerEntry.findMany({
      where: { accountId, kind: 'SERVICE_CREDIT' },
      orderBy: { id: 'asc' },
    })
  ).map(({ id, units, note }) => [id.split('/').slice(1).join('/'), units, note]);

describe('joining', () => {
  test('makes a machine of what was found, once per code, within the hour', async () => {
    const { code, machineId } = await enrol(domain, anyMachine);
    const answer = await join(domain, code, hardware());
    expect(answer).toEqual({ machineId, token: expect.stringMatching(/^gpu_host_[0-9a-f]{40}$/), gpu: 'rtx-4090' });
    expect(await findMachine(domain, machineId)).toMatchObject({
      gpu: 'rtx-4090',
      numGpus: 1,
      diskGb: 1_000,
      state: 'OFFLINE',
      reachable: false,
    });
    await expect(join(domain, code, hardware())).rejects.toEqual(refused('unauthorized'));
    const late = await enrol(domain, anyMachine);
    domain.clock.advance(3_600);
    await expect(join(domain, late.code, hardware())).rejects.toEqual(refused('unauthorized'));
    await expect(join(domain, `gpu_join_${'0'.repeat(40)}`, hardware())).rejects.toEqual(refused('unauthorized'));
    expect(await domain.fleet.tokens.machineOf(answer.token)).toBe(machineId);
    const stored = inspect(await domain.db.prisma.machineHost.findMany(), { depth: 9 });
    expect(stored).not.toContain(answer.token);
  });

  test('refuses hardware that can not be offered and leaves the code good', async () => {
    const { code } = await enrol(domain, anyMachine);
    const [gpu] = hardware().gpus;
    for (const gpus of [
      [],
      Array.from({ length: 9 }, () => gpu!),
      [gpu!, { ...gpu!, name: 'NVIDIA L4' }],
      [{ ...gpu!, name: 'NVIDIA X1' }],
    ])
      await expect(join(domain, code, hardware({ gpus }))).rejects.toEqual(refused('invalid_request'));
    expect((await join(domain, code, hardware())).gpu).toBe('rtx-4090');
  });

  test('a name of no model needs the word of the operator', async () => {
    const { code } = await enrol(domain, { ...anyMachine, gpu: 'l40s' });
    const gpus = [{ ...hardware().gpus[0]!, name: 'Something' }];
    expect((await join(domain, code, hardware({ gpus }))).gpu).toBe('l40s');
    await expect(enrol(domain, { ...anyMachine, gpu: 'none-such' })).rejects.toEqual(refused('invalid_request'));
    await expect(enrol(domain, { ...anyMachine, region: null })).rejects.toEqual(refused('invalid_request'));
  });

  test('simulated GPUs are demo, and without demo data need the operator', async () => {
    const agent = await TestAgent.join(domain, { pretended: true });
    expect((await findMachine(domain, agent.machineId)).demo).toBe(true);
    await domain.db.prisma.installation.updateMany({ data: { seed: 'catalogue' } });
    try {
      await expect(TestAgent.join(domain, { pretended: true })).rejects.toEqual(refused('invalid_request'));
      const { code } = await enrol(domain, { ...anyMachine, demo: true });
      await join(domain, code, hardware({ pretended: true }));
    } finally {
      await domain.db.prisma.installation.updateMany({ data: { seed: 'demo' } });
    }
  });

  test('a new token replaces the old one, and a revoked one is refused', async () => {
    const agent = await TestAgent.join(domain);
    const again = await TestAgent.join(domain, {}, agent.machineId);
    await domain.db.notices.caughtUp();
    expect(await domain.fleet.tokens.machineOf(agent.token)).toBeNull();
    expect(await domain.fleet.tokens.machineOf(again.token)).toBe(agent.machineId);
    await revokeHost(domain, agent.machineId);
    expect(await domain.fleet.tokens.machineOf(again.token)).toBeNull();
  });

  test('a machine that is rented without an agent gets none', async () => {
    const machineId = await domain.machine();
    await deploy(domain, await domain.account(), { machineId });
    await expect(enrol(domain, { ...anyMachine, machineId })).rejects.toEqual(refused('action_failed'));
  });
});

describe('what the operator expects', () => {
  const expecting = (gpu: string | null, numGpus: number | null) => enrol(domain, { ...anyMachine, gpu, numGpus });
  const two = () => [...hardware().gpus, ...hardware().gpus];

  test('is what joins: another model or number is refused, and the code is still good', async () => {
    const { code } = await expecting('rtx-4090', 2);
    const [gpu, other] = two();
    for (const gpus of [[gpu!], [gpu!, other!, ...hardware().gpus]])
      await expect(join(domain, code, hardware({ gpus }))).rejects.toThrow(/expected to have 2 GPUs/);
    const l4 = two().map((each) => ({ ...each, name: 'NVIDIA L4' }));
    await expect(join(domain, code, hardware({ gpus: l4 }))).rejects.toThrow(/expected to have rtx-4090/);
    await join(domain, code, hardware({ gpus: [gpu!, other!] }));
    for (const count of [0, 9, 1.5, Number.NaN])
      await expect(expecting(null, count)).rejects.toThrow(/--count must be a whole number from 1 to 8/);
  });

  test('a GPU is in one machine, unless that one is retired or joined again without it', async () => {
    const [mine, spare] = [hardware().gpus, hardware().gpus];
    const first = await TestAgent.join(domain, { gpus: mine });
    const stolen = () => TestAgent.join(domain, { gpus: mine });
    await expect(stolen()).rejects.toThrow(/is in another machine/);
    await TestAgent.join(domain, { gpus: mine }, first.machineId);
    await expect(stolen()).rejects.toThrow(/is in another machine/);
    await TestAgent.join(domain, { gpus: spare }, first.machineId);
    const second = await stolen();
    await expect(TestAgent.join(domain, { gpus: spare })).rejects.toThrow(/is in another machine/);
    await changeMachine(domain, second.machineId, 'drain');
    await changeMachine(domain, second.machineId, 'retire');
    await stolen();
    await expect(TestAgent.join(domain, { gpus: [...spare, ...spare] })).rejects.toThrow(/same UUID/);
    await expect(TestAgent.join(domain, { gpus: [{ ...spare[0]!, uuid: '[N/A]' }] })).rejects.toThrow(/no UUID/);
  });

  test('two hosts that join at once: one code lets one in, one GPU is in one machine', async () => {
    const outcome = async (joins: Promise<unknown>[]) =>
      (await Promise.allSettled(joins)).filter(({ status }) => status === 'fulfilled').length;
    const { code } = await enrol(domain, anyMachine);
    expect(await outcome(Array.from({ length: 4 }, () => join(domain, code, hardware())))).toBe(1);
    const { gpus } = hardware();
    const codes = await Promise.all(Array.from({ length: 4 }, () => enrol(domain, anyMachine)));
    expect(await outcome(codes.map((each) => join(domain, each.code, hardware({ gpus }))))).toBe(1);
  });
});

describe('the document', () => {
  test('follows the rental, with a number that grows with each change and no other', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const before = await agent.fetch();
    expect((await agent.fetch()).generation).toBe(before.generation);
    const { instance } = await deploy(domain, account, { machineId: agent.machineId, template: 'pytorch', diskGb: 20 });
    const after = await agent.fetch();
    expect(after.generation).toBe(before.generation + 1);
    expect(after.instances).toEqual([
      expect.objectContaining({
        id: instance.id,
        phase: 'running',
        start: 1,
        image: expect.stringContaining('pytorch/pytorch'),
        gpus: 1,
        vcpus: 32,
        memoryMb: 128 * 1_024,
        diskGb: 20,
      }),
    ]);
    expect(after.instances[0]!.env).toEqual({ GPU_INSTANCE_ID: instance.id, GPU_COUNT: '1' });
    await act(domain, account, { id: instance.id, action: 'STOP' });
    expect(await phases(agent)).toEqual([[instance.id, 'stopped']]);
    await agent.report([seen(instance.id, 'STOPPED')]);
    await act(domain, account, { id: instance.id, action: 'START' });
    expect((await agent.fetch()).instances[0]).toMatchObject({ phase: 'running', start: 2 });
    await act(domain, account, { id: instance.id, action: 'DESTROY' });
    expect(await phases(agent)).toEqual([[instance.id, 'absent']]);
    await agent.report([seen(instance.id, 'ERASED', { start: 2 })]);
    expect(await phases(agent)).toEqual([]);
    // Told once more by a slow agent: nothing changes.
    await agent.report([seen(instance.id, 'ERASED', { start: 2 })]);
    expect(await phases(agent)).toEqual([]);
  });

  test('asked for many times at once it gets one number', async () => {
    const agent = await TestAgent.join(domain);
    const { instance } = await deploy(domain, await domain.account(), { machineId: agent.machineId });
    const states = await Promise.all(Array.from({ length: 20 }, () => domain.fleet.desired.current(agent.machineId)));
    expect(new Set(states.map((state) => state!.generation)).size).toBe(1);
    expect(states[0]!.instances[0]!.id).toBe(instance.id);
  });

  test('that was being read when something changed is not taken for the newest', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { pool } = domain.db;
    const query = pool.query.bind(pool) as (...values: unknown[]) => Promise<unknown>;
    const reading = vi.spyOn(pool, 'query').mockImplementationOnce(async (...values: unknown[]) => {
      const answer = await query(...values);
      await deploy(domain, account, { machineId: agent.machineId });
      await domain.db.notices.caughtUp();
      return answer;
    });
    expect((await domain.fleet.desired.current(agent.machineId))!.instances).toEqual([]);
    reading.mockRestore();
    expect((await domain.fleet.desired.current(agent.machineId))!.instances).toHaveLength(1);
  });

  test('holds the next back until the one before it is known to have ended', async () => {
    const agent = await TestAgent.join(domain);
    const [first, second] = [await domain.account(), await domain.account()];
    const { instance: old } = await deploy(domain, first, { machineId: agent.machineId, mode: 'INTERRUPTIBLE' });
    await agent.fetch();
    await agent.report([seen(old.id, 'RUNNING')]);
    const { instance: next } = await deploy(domain, second, { machineId: agent.machineId });
    expect(await phases(agent)).toEqual([[old.id, 'stopped']]);
    await agent.report([seen(old.id, 'STOPPING')]);
    expect(await phases(agent)).toEqual([[old.id, 'stopped']]);
    await agent.report([seen(old.id, 'STOPPED')]);
    expect(await phases(agent)).toEqual([
      [next.id, 'running'],
      [old.id, 'stopped'],
    ]);
  });

  test('a container sent to the agent that it does not list under the newest document is gone', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance: old } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await act(domain, account, { id: old.id, action: 'DESTROY' });
    const { instance: next } = await deploy(domain, account, { machineId: agent.machineId });
    // Of an old document: it may still come to it.
    await agent.report([], { generation: 0 });
    expect(await phases(agent)).toEqual([[old.id, 'absent']]);
    await agent.report([]);
    expect(await phases(agent)).toEqual([[next.id, 'running']]);
  });

  test('what was never sent to the agent needs no erasing', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await act(domain, account, { id: instance.id, action: 'DESTROY' });
    expect(await phases(agent)).toEqual([]);
  });

  test('an unknown container of a destroyed instance is erased after all', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await act(domain, account, { id: instance.id, action: 'DESTROY' });
    await agent.fetch();
    await agent.report([seen(instance.id, 'ERASED')]);
    expect(await phases(agent)).toEqual([]);
    await agent.report([], { unknown: [instance.id] });
    expect(await phases(agent)).toEqual([[instance.id, 'absent']]);
  });
});

describe('reports', () => {
  test('of what the machine was never given are refused, and change nothing', async () => {
    const agent = await TestAgent.join(domain);
    const other = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: other.machineId });
    await agent.fetch();
    await other.fetch();
    const state = () => domain.db.prisma.machineHost.findUniqueOrThrow({ where: { machineId: agent.machineId } });
    const before = await state();
    for (const id of [instance.id, 'i-00000000'])
      await expect(agent.report([seen(id, 'RUNNING')])).rejects.toEqual(refused('invalid_request'));
    await expect(other.report([seen(instance.id, 'RUNNING', { start: 2 })])).rejects.toEqual(
      refused('invalid_request'),
    );
    await expect(other.report([seen(instance.id, 'RUNNING'), seen(instance.id, 'FAILED')])).rejects.toEqual(
      refused('invalid_request'),
    );
    expect(await state()).toEqual(before);
    expect(await domain.db.prisma.container.findUnique({ where: { instanceId: instance.id } })).toMatchObject({
      phase: 'WAITING',
    });
  });

  test('that come late, of this run or a past one, change nothing', async () => {
    const agent = await TestAgent.join(domain);
    const { instance } = await deploy(domain, await domain.account(), { machineId: agent.machineId });
    await agent.fetch();
    const early = agent.say([seen(instance.id, 'PULLING')]);
    await agent.report([seen(instance.id, 'STARTING')]);
    const take = (report: typeof early) => takeReport(domain, agent.machineId, report);
    const phase = async () =>
      (await domain.db.prisma.container.findUniqueOrThrow({ where: { instanceId: instance.id } })).phase;
    await take(early);
    expect(await phase()).toBe('STARTING');
    const past = agent.say([seen(instance.id, 'PULLING')]);
    agent.session = 'another';
    agent.sequence = 0;
    await agent.report([seen(instance.id, 'RUNNING')]);
    await take(past);
    expect(await phase()).toBe('RUNNING');
  });

  test('one reported twice at once is taken once', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    domain.clock.advance(7);
    const report = agent.say([seen(instance.id, 'RUNNING')]);
    await Promise.all(Array.from({ length: 8 }, () => takeReport(domain, agent.machineId, report)));
    domain.clock.advance(7);
    await Promise.all(Array.from({ length: 4 }, () => settleService(domain)));
    expect(await credits(account)).toHaveLength(1);
    expect((await audit(domain)).findings).toEqual([]);
  });
});

describe('a machine that is away', () => {
  test('leaves the offers, refuses deploys and starts, and returns', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    expect(await isOffered(agent.machineId)).toBe(true);
    domain.clock.advance(30);
    await tick(domain);
    expect(await isOffered(agent.machineId)).toBe(true);
    domain.clock.advance(1);
    await tick(domain);
    expect(await isOffered(agent.machineId)).toBe(false);
    await expect(deploy(domain, account, { machineId: agent.machineId })).rejects.toEqual(refused('deploy_failed'));
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ state: 'LISTED', reachable: false });
    await agent.report();
    expect(await isOffered(agent.machineId)).toBe(true);
    await changeMachine(domain, agent.machineId, 'drain');
    await domain.db.notices.caughtUp();
    expect(await isOffered(agent.machineId)).toBe(false);
  });

  test('holds the next back for as long as what ran is not known to be gone, or the operator says so', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance: old } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await agent.report([seen(old.id, 'RUNNING')]);
    await expect(forgetContainers(domain, agent.machineId)).rejects.toEqual(refused('action_failed'));
    domain.clock.advance(100);
    await tick(domain);
    await act(domain, account, { id: old.id, action: 'DESTROY' });
    expect(await phases(agent)).toEqual([[old.id, 'absent']]);
    expect(await forgetContainers(domain, agent.machineId)).toBe(1);
    expect(await phases(agent)).toEqual([]);
    await tick(domain);
    expect((await audit(domain)).findings).toEqual([]);
  });
});

describe('money', () => {
  const RATE = async (id: string) => (await domain.db.prisma.instance.findUniqueOrThrow({ where: { id } })).gpuRate;

  /** A rental on a machine of its own. */
  async function rented(template?: string) {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, {
      machineId: agent.machineId,
      ...(template !== undefined && { template }),
    });
    await agent.fetch();
    return { agent, account, id: instance.id, rate: await RATE(instance.id) };
  }
  const HOSTILE = 'registry.example/miner';
  /** Time passes, with a report now and then, and the watch looks. */
  async function pass(seconds: number, agent: TestAgent, id: string, phase: ObservedInstance['phase'], more = {}) {
    for (let left = seconds; left > 0; left -= 25) {
      domain.clock.advance(Math.min(left, 25));
      await agent.report([seen(id, phase, more)]);
      await tick(domain);
    }
  }

  test('the seconds until it was first seen running are given back once it ran for as many', async () => {
    const { agent, account, id, rate } = await rented(HOSTILE);
    await pass(25, agent, id, 'PULLING');
    await pass(25, agent, id, 'RUNNING');
    // Seen running since second 50: it has earned the 50 at second 100.
    await pass(25, agent, id, 'RUNNING');
    await pass(24, agent, id, 'RUNNING');
    expect(await credits(account)).toEqual([]);
    await pass(1, agent, id, 'RUNNING');
    expect(await credits(account)).toEqual([['service/1', 50n * rate, 'GPU, 50 s: until the container ran']]);
    const from = domain.clock.now() - 1_000n;
    const { movements, openingBalance, closingBalance, lines } = await statement(domain, account, { from, to: null });
    expect(movements.map(({ kind, instanceId }) => [kind, instanceId])).toEqual([
      ['CREDIT', null],
      ['SERVICE_CREDIT', id],
    ]);
    const sum = (amounts: { amount: bigint }[]) => amounts.reduce((total, { amount }) => total + amount, 0n);
    expect(openingBalance + sum(movements) - sum(lines)).toBe(closingBalance);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('one that is stopped sooner gives back as much as it ran, and at most ten minutes are given back', async () => {
    const short = await rented(HOSTILE);
    await pass(100, short.agent, short.id, 'PULLING');
    await pass(1, short.agent, short.id, 'RUNNING');
    await pass(9, short.agent, short.id, 'RUNNING');
    await act(domain, short.account, { id: short.id, action: 'STOP' });
    domain.clock.advance(1);
    await tick(domain);
    expect(await credits(short.account)).toEqual([['service/1', 9n * short.rate, 'GPU, 9 s: until the container ran']]);
    const long = await rented(HOSTILE);
    await pass(750, long.agent, long.id, 'PULLING');
    await pass(700, long.agent, long.id, 'RUNNING');
    expect(await credits(long.account)).toEqual([
      ['service/1', 600n * long.rate, 'GPU, 600 s: until the container ran'],
    ]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('a process that ends at once was run, though it was never seen running', async () => {
    const { agent, account, id } = await rented(HOSTILE);
    await pass(50, agent, id, 'WAITING', { restarts: 1, message: 'it ended by itself' });
    await act(domain, account, { id, action: 'STOP' });
    domain.clock.advance(1);
    await tick(domain);
    const [start] = await domain.db.prisma.containerStart.findMany({ where: { instanceId: id } });
    expect(start!.runningAt).not.toBeNull();
    expect(await credits(account)).toHaveLength(1);
  });

  test("a start that fails by the host gives back all of it, one that fails by the renter's image nothing", async () => {
    for (const [fault, given] of [
      ['host', 20n],
      ['image', 0n],
      [undefined, 0n],
    ] as const) {
      const { agent, account, id, rate } = await rented(HOSTILE);
      await pass(20, agent, id, 'PULLING');
      await agent.report([seen(id, 'FAILED', { message: 'no such thing', ...(fault && { fault }) })]);
      const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id }, include: { container: true } });
      expect(row).toMatchObject({
        status: 'STOPPED',
        stopReason: 'START_FAILED',
        container: { message: 'no such thing' },
      });
      domain.clock.advance(1);
      await tick(domain);
      expect(await credits(account)).toEqual(
        given === 0n ? [] : [['service/1', given * rate, 'GPU, 20 s: the machine could not start it']],
      );
      expect(await phases(agent)).toEqual([[id, 'stopped']]);
      expect((await audit(domain)).findings).toEqual([]);
    }
  });

  test('a host can take back nothing of what it said: what ran is paid, what is booked stays', async () => {
    const ran = await rented(HOSTILE);
    await pass(30, ran.agent, ran.id, 'RUNNING');
    await pass(50, ran.agent, ran.id, 'RUNNING');
    await ran.agent.report([seen(ran.id, 'FAILED', { fault: 'host' })]);
    domain.clock.advance(1);
    await tick(domain);
    expect((await credits(ran.account)).map(([, units]) => units)).toEqual([25n * ran.rate]);
    // Told only after the end: it was not so.
    const over = await rented(HOSTILE);
    await pass(30, over.agent, over.id, 'PULLING');
    await act(domain, over.account, { id: over.id, action: 'STOP' });
    domain.clock.advance(2);
    await tick(domain);
    await over.agent.report([seen(over.id, 'FAILED', { fault: 'host' })]);
    domain.clock.advance(2);
    await tick(domain);
    expect(await credits(over.account)).toEqual([]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test("starts of the operator's templates that end before they ran give back 600 s a day of an account", async () => {
    const { agent, account, id, rate } = await rented('pytorch');
    const seconds = async () =>
      (await credits(account)).map(([, units, note]) => {
        expect(note).toContain('the template did not start in time');
        return (units as bigint) / rate;
      });
    let start = 1;
    const again = async (lasts: number) => {
      await pass(lasts, agent, id, 'PULLING', { start });
      await act(domain, account, { id, action: 'STOP' });
      await agent.fetch();
      await agent.report([seen(id, 'STOPPED', { start })]);
      domain.clock.advance(1);
      await tick(domain);
      await act(domain, account, { id, action: 'START' });
      await agent.fetch();
      start += 1;
    };
    await again(400);
    await again(300);
    await again(300);
    expect(await seconds()).toEqual([400n, 200n]);
    await act(domain, account, { id, action: 'STOP' });
    // A new day, in UTC.
    domain.clock.set((domain.clock.now() / 86_400n + 1n) * 86_400n);
    await agent.report([seen(id, 'STOPPED', { start })]);
    await act(domain, account, { id, action: 'START' });
    start += 1;
    await agent.fetch();
    await again(30);
    expect(await seconds()).toEqual([400n, 200n, 30n]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('what waits for a container of the same account waits for itself', async () => {
    const { agent, account, id, rate } = await rented(HOSTILE);
    await pass(25, agent, id, 'RUNNING');
    await pass(25, agent, id, 'RUNNING');
    await act(domain, account, { id, action: 'STOP' });
    await act(domain, account, { id, action: 'START' });
    // It ignores SIGTERM: 20 s, in which the agent is told nothing but to stop it.
    expect((await agent.fetch()).instances).toEqual([expect.objectContaining({ id, phase: 'stopped', start: 1 })]);
    await pass(20, agent, id, 'STOPPING');
    await agent.report([seen(id, 'STOPPED')]);
    expect((await agent.fetch()).instances).toEqual([expect.objectContaining({ id, phase: 'running', start: 2 })]);
    await pass(3, agent, id, 'RUNNING', { start: 2 });
    await pass(50, agent, id, 'RUNNING', { start: 2 });
    expect((await credits(account)).map(([, units]) => units)).toEqual([25n * rate, 3n * rate]);
    // Another's wait for it is the machine's.
    const other = await domain.account();
    await act(domain, account, { id, action: 'STOP' });
    const taken = await deploy(domain, other, { machineId: agent.machineId, template: HOSTILE });
    await agent.fetch();
    await pass(10, agent, id, 'STOPPING', { start: 2 });
    await agent.report([seen(id, 'STOPPED', { start: 2 })]);
    await agent.fetch();
    const both = async (seconds: number) => {
      domain.clock.advance(seconds);
      await agent.report([seen(id, 'STOPPED', { start: 2 }), seen(taken.instance.id, 'RUNNING')]);
      await tick(domain);
    };
    await both(2);
    await both(12);
    expect((await credits(other)).map(([, units]) => units)).toEqual([12n * rate]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test("what waits until another's container is erased gets the wait back", async () => {
    const { agent, account, id } = await rented(HOSTILE);
    await pass(25, agent, id, 'RUNNING');
    await act(domain, account, { id, action: 'DESTROY' });
    const other = await domain.account();
    const { instance } = await deploy(domain, other, { machineId: agent.machineId, template: HOSTILE });
    expect(await phases(agent)).toEqual([[id, 'absent']]);
    await pass(10, agent, id, 'STOPPING');
    await agent.report([seen(id, 'ERASED')]);
    expect(await phases(agent)).toEqual([[instance.id, 'running']]);
    await pass(3, agent, instance.id, 'RUNNING');
    await pass(25, agent, instance.id, 'RUNNING');
    expect((await credits(other)).map(([, units]) => units)).toEqual([13n * instance.gpuRate]);
  });

  test('a wait for one’s own container ends when the agent is asked, whatever else it is asked later', async () => {
    const agent = await TestAgent.join(domain);
    const [neighbour, account] = [await domain.account(), await domain.account()];
    const { instance: stopped } = await deploy(domain, neighbour, { machineId: agent.machineId });
    await agent.fetch();
    await act(domain, neighbour, { id: stopped.id, action: 'STOP' });
    await agent.fetch();
    await agent.report([seen(stopped.id, 'STOPPED')]);
    const { instance } = await deploy(domain, account, { machineId: agent.machineId, template: HOSTILE });
    const { id, gpuRate } = instance;
    await agent.fetch();
    await agent.report([seen(id, 'RUNNING')]);
    await act(domain, account, { id, action: 'STOP' });
    await act(domain, account, { id, action: 'START' });
    await agent.fetch();
    await pass(20, agent, id, 'STOPPING');
    await agent.report([seen(id, 'STOPPED')]);
    expect(await phases(agent)).toContainEqual([id, 'running']);
    await pass(10, agent, id, 'PULLING', { start: 2 });
    await act(domain, neighbour, { id: stopped.id, action: 'DESTROY' });
    expect(await phases(agent)).toContainEqual([stopped.id, 'absent']);
    await agent.report([seen(id, 'RUNNING', { start: 2 })]);
    await pass(25, agent, id, 'RUNNING', { start: 2 });
    expect((await credits(account)).map(([, units]) => units)).toEqual([10n * gpuRate]);
  });

  test('a stop leaves a container a sixtieth of the seconds that it ran in that start', async () => {
    const { agent, account, id } = await rented(HOSTILE);
    const graceAfter = async (lag: number, ran: number, start: number) => {
      await pass(lag, agent, id, 'PULLING', { start });
      if (ran > 0) await agent.report([seen(id, 'RUNNING', { start })]);
      await pass(ran, agent, id, 'RUNNING', { start });
      await act(domain, account, { id, action: 'STOP' });
      const { stopSeconds } = (await agent.fetch()).instances[0]!;
      await agent.report([seen(id, 'STOPPED', { start })]);
      await act(domain, account, { id, action: 'START' });
      await agent.fetch();
      return stopSeconds;
    };
    expect(await graceAfter(0, 59, 1)).toBe(0);
    expect(await graceAfter(100, 60, 2)).toBe(1);
    expect(await graceAfter(700, 0, 3)).toBe(0);
    expect(await graceAfter(0, 605, 4)).toBe(10);
  });

  test('what made a start fail stays to be read until the next start', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    const container = () => domain.db.prisma.container.findUniqueOrThrow({ where: { instanceId: instance.id } });
    await agent.fetch();
    await agent.report([seen(instance.id, 'FAILED', { message: 'manifest unknown', exitCode: 1 })]);
    await agent.fetch();
    const failed = { phase: 'FAILED', message: 'manifest unknown', exitCode: 1 };
    for (const phase of ['STOPPING', 'STOPPED'] as const) {
      await agent.report([seen(instance.id, phase)]);
      expect(await container()).toMatchObject(failed);
    }
    // An agent that was started anew and knows of no start.
    agent.session = 'another';
    await agent.report([seen(instance.id, 'STOPPED', { start: 0 })]);
    expect(await container()).toMatchObject(failed);
    await act(domain, account, { id: instance.id, action: 'START' });
    await agent.fetch();
    await agent.report([seen(instance.id, 'PULLING', { start: 2 })]);
    expect(await container()).toMatchObject({ phase: 'PULLING', start: 2, message: null, exitCode: null });
    await act(domain, account, { id: instance.id, action: 'STOP' });
    await agent.fetch();
    await agent.report([seen(instance.id, 'STOPPED', { start: 2 })]);
    expect(await container()).toMatchObject({ phase: 'STOPPED', message: null });
    await agent.report([seen(instance.id, 'FAILED', { start: 2, message: 'no space' })]);
    await act(domain, account, { id: instance.id, action: 'DESTROY' });
    await agent.fetch();
    await agent.report([seen(instance.id, 'STOPPING', { start: 2 })]);
    expect(await container()).toMatchObject({ phase: 'STOPPING' });
  });

  test('an outage gives back GPU and disk of what ran, from the last heartbeat to the return', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await agent.report([seen(instance.id, 'RUNNING')]);
    domain.clock.advance(30);
    await agent.report([seen(instance.id, 'RUNNING')]);
    await tick(domain);
    expect(await credits(account)).toEqual([]);
    domain.clock.advance(500);
    await tick(domain);
    expect(await credits(account)).toEqual([]);
    await agent.report([seen(instance.id, 'RUNNING')]);
    await tick(domain);
    await tick(domain);
    expect(await credits(account)).toEqual([
      ['service/1', 500n * instance.gpuRate, 'GPU, 500 s: the machine was away'],
      ['service/2', 500n * instance.diskRate, 'disk, 500 s: the machine was away'],
    ]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('an outage that was booked to the operator’s word, and goes on, gives back the rest too', async () => {
    const { agent, account, id, rate } = await rented(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(100);
    await tick(domain);
    await forgetContainers(domain, agent.machineId);
    await tick(domain);
    const given = async () => (await credits(account)).map(([, units]) => units);
    const away = (seconds: bigint) => [seconds * rate, seconds * 50n * 140n];
    expect(await given()).toEqual(away(100n));
    domain.clock.advance(50);
    await agent.report();
    await tick(domain);
    expect(await given()).toEqual([...away(100n), ...away(50n)]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('heartbeats that could not be written are written later', async () => {
    const { agent, account, id } = await rented(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    const { pool } = domain.db;
    await pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
       create trigger refuse before update on machine_heartbeat for each row execute function refuse()`,
    );
    domain.clock.advance(20);
    await expect(agent.report([seen(id, 'RUNNING')])).rejects.toThrow('refused');
    await pool.query('drop trigger refuse on machine_heartbeat; drop function refuse');
    domain.clock.advance(20);
    await domain.fleet.heartbeats.flush();
    await tick(domain);
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ reachable: true });
    expect(await credits(account)).toEqual([]);
  });

  test('a refused agent is an outage from its last heartbeat, whatever comes late, and the renter is told', async () => {
    const { agent, account, id, rate } = await rented(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(12);
    // Heard, but not written yet.
    await takeReport(domain, agent.machineId, agent.say([seen(id, 'RUNNING')]));
    domain.clock.advance(8);
    const { pool } = domain.db;
    const query = pool.query.bind(pool) as (...values: unknown[]) => Promise<{ rowCount: number }>;
    const isRefused = 'select from machine_host where machine_id = $1 and revoked_at is not null';
    const slow = vi.spyOn(pool, 'query').mockImplementationOnce(async (...values: unknown[]) => {
      // Time enough for a revocation that does not wait for what is being written.
      for (let look = 0; look < 20 && (await query(isRefused, [agent.machineId])).rowCount === 0; look += 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      return query(...values);
    });
    await revokeHost(domain, agent.machineId);
    slow.mockRestore();
    domain.fleet.heartbeats.note(agent.machineId, domain.clock.now());
    await domain.fleet.heartbeats.flush();
    await domain.db.notices.caughtUp();
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ reachable: false });
    const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id }, select: RUNTIME_SELECT });
    expect(runtimeOf(row)).toMatchObject({
      phase: 'UNREACHABLE',
      message: expect.stringContaining('refuses the agent'),
    });
    domain.clock.advance(10);
    const back = await TestAgent.join(domain, {}, agent.machineId);
    await back.fetch();
    await back.report([seen(id, 'RUNNING')]);
    await tick(domain);
    expect((await credits(account)).map(([, units]) => units)).toEqual([18n * rate, 18n * 50n * 140n]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('a heartbeat that comes late moves nothing back and pays for no outage', async () => {
    const { agent, account, id } = await rented(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    const early = domain.clock.now();
    domain.clock.advance(29);
    await agent.report([seen(id, 'RUNNING')]);
    const known = domain.clock.now();
    // Written by another gateway, which was slow.
    domain.fleet.heartbeats.note(agent.machineId, early);
    await domain.fleet.heartbeats.flush();
    const seenAt = async () =>
      (await domain.db.prisma.machineHeartbeat.findUniqueOrThrow({ where: { machineId: agent.machineId } })).seenAt;
    expect(instantOf((await seenAt())!)).toBe(known);
    domain.clock.advance(29);
    await agent.report([seen(id, 'RUNNING')]);
    await tick(domain);
    expect(await credits(account)).toEqual([]);
    // Nor does one bring a machine back that is away.
    domain.clock.advance(31);
    await tick(domain);
    domain.fleet.heartbeats.note(agent.machineId, known);
    await domain.fleet.heartbeats.flush();
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ reachable: false });
  });

  test('what is erased before its outage is booked is given back all the same', async () => {
    const { agent, account, id, rate } = await rented(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(100);
    await markUnreachable(domain.db, domain.clock.now());
    await act(domain, account, { id, action: 'DESTROY' });
    // The agent is back, erases and tells so before anybody looked at the outage.
    await agent.fetch();
    domain.clock.advance(1);
    await agent.report([seen(id, 'ERASED')]);
    const container = await domain.db.prisma.container.findUniqueOrThrow({ where: { instanceId: id } });
    expect(container.erasedAt).not.toBeNull();
    await tick(domain);
    expect((await credits(account)).map(([, units]) => units)).toEqual([100n * rate, 100n * 50n * 140n]);
  });

  test('the audit finds a credit that no gap explains', async () => {
    const account = await domain.account();
    await domain.db.pool.query(
      `insert into ledger_entry (id, account_id, kind, units, at) values ('i-00000000/service/1', $1, 'SERVICE_CREDIT', 5, '2026-11-20')`,
      [account],
    );
    const found = (await audit(domain)).findings.map(({ check }) => check);
    expect(found).toContain('what is given back was charged, once, at its rate and seconds');
  });
});
