import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { audit } from '../../src/domain/billing/audit.js';
import { statement } from '../../src/domain/billing/statement.js';
import { enrol, forgetContainers, join, revokeHost } from '../../src/domain/fleet/enrolment.js';
import { takeReport } from '../../src/domain/fleet/observations.js';
import { act, deploy } from '../../src/domain/instances/instances.js';
import { changeMachine, findMachine } from '../../src/domain/inventory/machines.js';
import { findOffers } from '../../src/domain/inventory/offers.js';
import { hardware, seen, TestAgent, tick } from '../support/agent.js';
import { openTestDomain, type TestDomain } from '../support/domain.js';

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

  test('the seconds until it was first seen running are given back', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    domain.clock.advance(12);
    await agent.report([seen(instance.id, 'PULLING')]);
    domain.clock.advance(13);
    await agent.report([seen(instance.id, 'RUNNING')]);
    domain.clock.advance(10);
    await agent.report([seen(instance.id, 'RUNNING')]);
    expect(await credits(account)).toEqual([
      ['service/1', 25n * (await RATE(instance.id)), 'GPU, 25 s: until the container ran'],
    ]);
    const from = domain.clock.now() - 1_000n;
    const { movements, openingBalance, closingBalance, lines } = await statement(domain, account, { from, to: null });
    expect(movements.map(({ kind, instanceId }) => [kind, instanceId])).toEqual([
      ['CREDIT', null],
      ['SERVICE_CREDIT', instance.id],
    ]);
    const sum = (amounts: { amount: bigint }[]) => amounts.reduce((total, { amount }) => total + amount, 0n);
    expect(openingBalance + sum(movements) - sum(lines)).toBe(closingBalance);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('at most ten minutes of them', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    for (let minute = 0; minute < 30; minute += 1) {
      domain.clock.advance(25);
      await agent.report([seen(instance.id, 'PULLING', { pulledBytes: minute })]);
    }
    await agent.report([seen(instance.id, 'RUNNING')]);
    expect(await credits(account)).toEqual([
      ['service/1', 600n * (await RATE(instance.id)), 'GPU, 600 s: until the container ran'],
    ]);
  });

  test('a start that fails for good stops the instance and costs no GPU second', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    domain.clock.advance(20);
    await agent.report([seen(instance.id, 'FAILED', { message: 'manifest unknown' })]);
    const row = await domain.db.prisma.instance.findUniqueOrThrow({
      where: { id: instance.id },
      include: { container: true },
    });
    expect(row).toMatchObject({
      status: 'STOPPED',
      stopReason: 'START_FAILED',
      container: { message: 'manifest unknown' },
    });
    expect(await credits(account)).toEqual([['service/1', 20n * row.gpuRate, 'GPU, 20 s: the start failed']]);
    expect(await phases(agent)).toEqual([[instance.id, 'stopped']]);
    expect((await audit(domain)).findings).toEqual([]);
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
