import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { enrol, forgetContainers, join, revokeHost } from '../../../src/domain/fleet/enrolment.js';
import { recordReport } from '../../../src/domain/fleet/observations.js';
import { settleService } from '../../../src/domain/fleet/service-credits.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { changeMachine, findMachine } from '../../../src/domain/inventory/machines.js';
import { findOffers } from '../../../src/domain/inventory/offers.js';
import { hardware, seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { creditsOf, phases } from '../../support/fleet/machine-state.js';

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
  // The list contains the 100 cheapest machines, the more reliable ones first, so this machine must be among the most
  // reliable.
  expect(row.reliability).toBe(1);
  return offers.some((offer) => offer.machineId === machineId);
}

describe("a host's join", () => {
  test('creates a machine from the reported hardware, once per code and within an hour', async () => {
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

  test("is rejected for hardware that can't be offered, without using up the code", async () => {
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

  test('requires the operator to name the model if the reported GPU name is unknown', async () => {
    const { code } = await enrol(domain, { ...anyMachine, gpu: 'l40s' });
    const gpus = [{ ...hardware().gpus[0]!, name: 'Something' }];
    expect((await join(domain, code, hardware({ gpus }))).gpu).toBe('l40s');
    await expect(enrol(domain, { ...anyMachine, gpu: 'none-such' })).rejects.toEqual(refused('invalid_request'));
    await expect(enrol(domain, { ...anyMachine, region: null })).rejects.toEqual(refused('invalid_request'));
  });

  test('with simulated GPUs creates a demo machine, but needs consent or demo data', async () => {
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

  test("replaces the machine's token with a new one, which the operator can revoke", async () => {
    const agent = await TestAgent.join(domain);
    const again = await TestAgent.join(domain, {}, agent.machineId);
    await domain.db.notices.caughtUp();
    expect(await domain.fleet.tokens.machineOf(agent.token)).toBeNull();
    expect(await domain.fleet.tokens.machineOf(again.token)).toBe(agent.machineId);
    await revokeHost(domain, agent.machineId);
    expect(await domain.fleet.tokens.machineOf(again.token)).toBeNull();
  });

  test('is refused for a machine that is rented without an agent', async () => {
    const machineId = await domain.machine();
    await deploy(domain, await domain.account(), { machineId });
    await expect(enrol(domain, { ...anyMachine, machineId })).rejects.toEqual(refused('action_failed'));
  });
});

describe('a join', () => {
  const enrolWith = (gpu: string | null, numGpus: number | null) => enrol(domain, { ...anyMachine, gpu, numGpus });
  const two = () => [...hardware().gpus, ...hardware().gpus];

  test('with an unexpected model or GPU count is rejected without using up the code', async () => {
    const { code } = await enrolWith('rtx-4090', 2);
    const [gpu, other] = two();
    for (const gpus of [[gpu!], [gpu!, other!, ...hardware().gpus]])
      await expect(join(domain, code, hardware({ gpus }))).rejects.toThrow(/must have 2 GPUs/);
    const l4 = two().map((each) => ({ ...each, name: 'NVIDIA L4' }));
    await expect(join(domain, code, hardware({ gpus: l4 }))).rejects.toThrow(/must have rtx-4090/);
    await join(domain, code, hardware({ gpus: [gpu!, other!] }));
    for (const count of [0, 9, 1.5, Number.NaN])
      await expect(enrolWith(null, count)).rejects.toThrow(/--count must be a whole number from 1 to 8/);
  });

  test("is rejected if another machine has one of its GPUs and hasn't given it up", async () => {
    const [mine, spare] = [hardware().gpus, hardware().gpus];
    const first = await TestAgent.join(domain, { gpus: mine });
    const joinWithSameGpus = () => TestAgent.join(domain, { gpus: mine });
    await expect(joinWithSameGpus()).rejects.toThrow(/is in another machine/);
    await TestAgent.join(domain, { gpus: mine }, first.machineId);
    await expect(joinWithSameGpus()).rejects.toThrow(/is in another machine/);
    await TestAgent.join(domain, { gpus: spare }, first.machineId);
    const second = await joinWithSameGpus();
    await expect(TestAgent.join(domain, { gpus: spare })).rejects.toThrow(/is in another machine/);
    await changeMachine(domain, second.machineId, 'drain');
    await changeMachine(domain, second.machineId, 'retire');
    await joinWithSameGpus();
    await expect(TestAgent.join(domain, { gpus: [...spare, ...spare] })).rejects.toThrow(/same UUID/);
    await expect(TestAgent.join(domain, { gpus: [{ ...spare[0]!, uuid: '[N/A]' }] })).rejects.toThrow(/no UUID/);
  });

  test('succeeds only once for concurrent attempts with the same code or GPU', async () => {
    const joined = async (joins: Promise<unknown>[]) =>
      (await Promise.allSettled(joins)).filter(({ status }) => status === 'fulfilled').length;
    const { code } = await enrol(domain, anyMachine);
    expect(await joined(Array.from({ length: 4 }, () => join(domain, code, hardware())))).toBe(1);
    const { gpus } = hardware();
    const codes = await Promise.all(Array.from({ length: 4 }, () => enrol(domain, anyMachine)));
    expect(await joined(codes.map((each) => join(domain, each.code, hardware({ gpus }))))).toBe(1);
  });
});

describe('the desired state', () => {
  test('follows the rental, increasing its generation only when something changes', async () => {
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
    // A slow agent reports again, which changes nothing.
    await agent.report([seen(instance.id, 'ERASED', { start: 2 })]);
    expect(await phases(agent)).toEqual([]);
  });

  test('gets only one generation even if it is requested many times concurrently', async () => {
    const agent = await TestAgent.join(domain);
    const { instance } = await deploy(domain, await domain.account(), { machineId: agent.machineId });
    const states = await Promise.all(Array.from({ length: 20 }, () => domain.fleet.desired.current(agent.machineId)));
    expect(new Set(states.map((state) => state!.generation)).size).toBe(1);
    expect(states[0]!.instances[0]!.id).toBe(instance.id);
  });

  test('is not considered current if something changed while it was read', async () => {
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

  test('excludes an instance until the previous one is known to have ended', async () => {
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

  test('treats a container as gone if a report on the latest generation omits it', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance: old } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await act(domain, account, { id: old.id, action: 'DESTROY' });
    const { instance: next } = await deploy(domain, account, { machineId: agent.machineId });
    // The report is on an old generation, so the container may still appear.
    await agent.report([], { generation: 0 });
    expect(await phases(agent)).toEqual([[old.id, 'absent']]);
    await agent.report([]);
    expect(await phases(agent)).toEqual([[next.id, 'running']]);
  });

  test('never asks the agent to erase a container that it has never been sent', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await act(domain, account, { id: instance.id, action: 'DESTROY' });
    expect(await phases(agent)).toEqual([]);
  });

  test("asks the agent to erase a destroyed instance's unknown container", async () => {
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
  test('about containers that the machine never received are rejected', async () => {
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

  test('that arrive late, from this run or an earlier one, change nothing', async () => {
    const agent = await TestAgent.join(domain);
    const { instance } = await deploy(domain, await domain.account(), { machineId: agent.machineId });
    await agent.fetch();
    const early = agent.buildReport([seen(instance.id, 'PULLING')]);
    await agent.report([seen(instance.id, 'STARTING')]);
    const record = (report: typeof early) => recordReport(domain, agent.machineId, report);
    const phase = async () =>
      (await domain.db.prisma.container.findUniqueOrThrow({ where: { instanceId: instance.id } })).phase;
    await record(early);
    expect(await phase()).toBe('STARTING');
    const past = agent.buildReport([seen(instance.id, 'PULLING')]);
    agent.session = 'another';
    agent.sequence = 0;
    await agent.report([seen(instance.id, 'RUNNING')]);
    await record(past);
    expect(await phase()).toBe('RUNNING');
  });

  test('that arrive several times concurrently count only once', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    domain.clock.advance(7);
    const report = agent.buildReport([seen(instance.id, 'RUNNING')]);
    await Promise.all(Array.from({ length: 8 }, () => recordReport(domain, agent.machineId, report)));
    domain.clock.advance(7);
    await Promise.all(Array.from({ length: 4 }, () => settleService(domain)));
    expect(await creditsOf(domain, account)).toHaveLength(1);
    expect((await audit(domain)).findings).toEqual([]);
  });
});

describe('an unreachable machine', () => {
  test("isn't offered and rejects deploys until it returns", async () => {
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

  test('runs no new instance until the operator forgets the previous container', async () => {
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
