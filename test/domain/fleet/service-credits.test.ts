import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { ObservedInstance } from '../../../src/agent-protocol/protocol.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { forgetContainers, revokeHost } from '../../../src/domain/fleet/enrolment.js';
import { markUnreachable } from '../../../src/domain/fleet/heartbeats.js';
import { recordReport } from '../../../src/domain/fleet/observations.js';
import { RUNTIME_SELECT, runtimeOf } from '../../../src/domain/fleet/runtime.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { findMachine } from '../../../src/domain/inventory/machines.js';
import { instantOf } from '../../../src/domain/kernel/time.js';
import { seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { creditsOf, phases } from '../../support/fleet/machine-state.js';

let domain: TestDomain;
beforeAll(async () => {
  domain = await openTestDomain();
});
afterAll(() => domain.close());

describe('service credits', () => {
  const RATE = async (id: string) => (await domain.db.prisma.instance.findUniqueOrThrow({ where: { id } })).gpuRate;

  /** Returns a rental on a dedicated machine. */
  async function rentMachine(template?: string) {
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
  /** Advances the clock by `seconds`, with a report and background work every 25 s. */
  async function pass(seconds: number, agent: TestAgent, id: string, phase: ObservedInstance['phase'], more = {}) {
    for (let left = seconds; left > 0; left -= 25) {
      domain.clock.advance(Math.min(left, 25));
      await agent.report([seen(id, phase, more)]);
      await tick(domain);
    }
  }

  test('seconds before the first run are credited once the instance has run that long', async () => {
    const { agent, account, id, rate } = await rentMachine(HOSTILE);
    await pass(25, agent, id, 'PULLING');
    await pass(25, agent, id, 'RUNNING');
    // The instance has been seen running since second 50, so by second 100 it has earned a credit for 50 s.
    await pass(25, agent, id, 'RUNNING');
    await pass(24, agent, id, 'RUNNING');
    expect(await creditsOf(domain, account)).toEqual([]);
    await pass(1, agent, id, 'RUNNING');
    expect(await creditsOf(domain, account)).toEqual([
      ['service/1', 50n * rate, 'GPU, 50 s: before the container was running'],
    ]);
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

  test('a slow start is credited for as long as the instance then ran, up to ten minutes', async () => {
    const short = await rentMachine(HOSTILE);
    await pass(100, short.agent, short.id, 'PULLING');
    await pass(1, short.agent, short.id, 'RUNNING');
    await pass(9, short.agent, short.id, 'RUNNING');
    await act(domain, short.account, { id: short.id, action: 'STOP' });
    domain.clock.advance(1);
    await tick(domain);
    expect(await creditsOf(domain, short.account)).toEqual([
      ['service/1', 9n * short.rate, 'GPU, 9 s: before the container was running'],
    ]);
    const long = await rentMachine(HOSTILE);
    await pass(750, long.agent, long.id, 'PULLING');
    await pass(700, long.agent, long.id, 'RUNNING');
    expect(await creditsOf(domain, long.account)).toEqual([
      ['service/1', 600n * long.rate, 'GPU, 600 s: before the container was running'],
    ]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('a process that exits immediately counts as run, though it was never seen running', async () => {
    const { agent, account, id } = await rentMachine(HOSTILE);
    await pass(50, agent, id, 'WAITING', { restarts: 1, message: 'it exited' });
    await act(domain, account, { id, action: 'STOP' });
    domain.clock.advance(1);
    await tick(domain);
    const [start] = await domain.db.prisma.containerStart.findMany({ where: { instanceId: id } });
    expect(start!.runningAt).not.toBeNull();
    expect(await creditsOf(domain, account)).toHaveLength(1);
  });

  test('a failed start is credited in full, but only if the host is at fault', async () => {
    for (const [fault, credited] of [
      ['host', 20n],
      ['image', 0n],
      [undefined, 0n],
    ] as const) {
      const { agent, account, id, rate } = await rentMachine(HOSTILE);
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
      expect(await creditsOf(domain, account)).toEqual(
        credited === 0n ? [] : [['service/1', credited * rate, 'GPU, 20 s: the machine failed to start it']],
      );
      expect(await phases(agent)).toEqual([[id, 'stopped']]);
      expect((await audit(domain)).findings).toEqual([]);
    }
  });

  test("a host can't retract reports, so running time stays charged", async () => {
    const ran = await rentMachine(HOSTILE);
    await pass(30, ran.agent, ran.id, 'RUNNING');
    await pass(50, ran.agent, ran.id, 'RUNNING');
    await ran.agent.report([seen(ran.id, 'FAILED', { fault: 'host' })]);
    domain.clock.advance(1);
    await tick(domain);
    expect((await creditsOf(domain, ran.account)).map(([, units]) => units)).toEqual([25n * ran.rate]);
    // These are reported only after the end, and ignored.
    const ended = await rentMachine(HOSTILE);
    await pass(30, ended.agent, ended.id, 'PULLING');
    await act(domain, ended.account, { id: ended.id, action: 'STOP' });
    domain.clock.advance(2);
    await tick(domain);
    await ended.agent.report([seen(ended.id, 'FAILED', { fault: 'host' })]);
    domain.clock.advance(2);
    await tick(domain);
    expect(await creditsOf(domain, ended.account)).toEqual([]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('template starts that end before running are credited for up to 600 s per day', async () => {
    const { agent, account, id, rate } = await rentMachine('pytorch');
    const seconds = async () =>
      (await creditsOf(domain, account)).map(([, units, note]) => {
        expect(note).toContain('the template did not start in time');
        return (units as bigint) / rate;
      });
    let start = 1;
    const runStart = async (lasts: number) => {
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
    await runStart(400);
    await runStart(300);
    await runStart(300);
    expect(await seconds()).toEqual([400n, 200n]);
    await act(domain, account, { id, action: 'STOP' });
    // The next day begins in UTC.
    domain.clock.set((domain.clock.now() / 86_400n + 1n) * 86_400n);
    await agent.report([seen(id, 'STOPPED', { start })]);
    await act(domain, account, { id, action: 'START' });
    start += 1;
    await agent.fetch();
    await runStart(30);
    expect(await seconds()).toEqual([400n, 200n, 30n]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test("waiting for the same account's previous container isn't credited", async () => {
    const { agent, account, id, rate } = await rentMachine(HOSTILE);
    await pass(25, agent, id, 'RUNNING');
    await pass(25, agent, id, 'RUNNING');
    await act(domain, account, { id, action: 'STOP' });
    await act(domain, account, { id, action: 'START' });
    // The container ignores SIGTERM for 20 s, during which the agent must only stop it.
    expect((await agent.fetch()).instances).toEqual([expect.objectContaining({ id, phase: 'stopped', start: 1 })]);
    await pass(20, agent, id, 'STOPPING');
    await agent.report([seen(id, 'STOPPED')]);
    expect((await agent.fetch()).instances).toEqual([expect.objectContaining({ id, phase: 'running', start: 2 })]);
    await pass(3, agent, id, 'RUNNING', { start: 2 });
    await pass(50, agent, id, 'RUNNING', { start: 2 });
    expect((await creditsOf(domain, account)).map(([, units]) => units)).toEqual([25n * rate, 3n * rate]);
    // Waiting for another account's container is credited.
    const other = await domain.account();
    await act(domain, account, { id, action: 'STOP' });
    const takeover = await deploy(domain, other, { machineId: agent.machineId, template: HOSTILE });
    await agent.fetch();
    await pass(10, agent, id, 'STOPPING', { start: 2 });
    await agent.report([seen(id, 'STOPPED', { start: 2 })]);
    await agent.fetch();
    const both = async (seconds: number) => {
      domain.clock.advance(seconds);
      await agent.report([seen(id, 'STOPPED', { start: 2 }), seen(takeover.instance.id, 'RUNNING')]);
      await tick(domain);
    };
    await both(2);
    await both(12);
    expect((await creditsOf(domain, other)).map(([, units]) => units)).toEqual([12n * rate]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test("waiting for another account's container to be erased is credited", async () => {
    const { agent, account, id } = await rentMachine(HOSTILE);
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
    expect((await creditsOf(domain, other)).map(([, units]) => units)).toEqual([13n * instance.gpuRate]);
  });

  test("an account's wait for its own container ends once the next one may start", async () => {
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
    expect((await creditsOf(domain, account)).map(([, units]) => units)).toEqual([10n * gpuRate]);
  });

  test("a container's grace period is a sixtieth of the time it ran since its last start", async () => {
    const { agent, account, id } = await rentMachine(HOSTILE);
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

  test('the reason for a failed start remains readable until the next start', async () => {
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
    // The agent was restarted and knows of no start.
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

  test('an outage credits running instances for GPU and disk from the last heartbeat', async () => {
    const agent = await TestAgent.join(domain);
    const account = await domain.account();
    const { instance } = await deploy(domain, account, { machineId: agent.machineId });
    await agent.fetch();
    await agent.report([seen(instance.id, 'RUNNING')]);
    domain.clock.advance(30);
    await agent.report([seen(instance.id, 'RUNNING')]);
    await tick(domain);
    expect(await creditsOf(domain, account)).toEqual([]);
    domain.clock.advance(500);
    await tick(domain);
    expect(await creditsOf(domain, account)).toEqual([]);
    await agent.report([seen(instance.id, 'RUNNING')]);
    await tick(domain);
    await tick(domain);
    expect(await creditsOf(domain, account)).toEqual([
      ['service/1', 500n * instance.gpuRate, 'GPU, 500 s: the machine was unreachable'],
      ['service/2', 500n * instance.diskRate, 'disk, 500 s: the machine was unreachable'],
    ]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('after the operator forgets containers, the rest of an outage is credited as well', async () => {
    const { agent, account, id, rate } = await rentMachine(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(100);
    await tick(domain);
    await forgetContainers(domain, agent.machineId);
    await tick(domain);
    const credited = async () => (await creditsOf(domain, account)).map(([, units]) => units);
    const creditOf = (seconds: bigint) => [seconds * rate, seconds * 50n * 140n];
    expect(await credited()).toEqual(creditOf(100n));
    domain.clock.advance(50);
    await agent.report();
    await tick(domain);
    expect(await credited()).toEqual([...creditOf(100n), ...creditOf(50n)]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('heartbeats that could not be written are written later', async () => {
    const { agent, account, id } = await rentMachine(HOSTILE);
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
    expect(await creditsOf(domain, account)).toEqual([]);
  });

  test('revoking an agent counts as an outage since its last heartbeat, shown to renters', async () => {
    const { agent, account, id, rate } = await rentMachine(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(12);
    // The heartbeat has been received but not written yet.
    await recordReport(domain, agent.machineId, agent.buildReport([seen(id, 'RUNNING')]));
    domain.clock.advance(8);
    const { pool } = domain.db;
    const query = pool.query.bind(pool) as (...values: unknown[]) => Promise<{ rowCount: number }>;
    const isRefused = 'select from machine_host where machine_id = $1 and revoked_at is not null';
    const querySpy = vi.spyOn(pool, 'query').mockImplementationOnce(async (...values: unknown[]) => {
      // This leaves enough time for a revocation that doesn't wait for the pending write.
      for (let attempt = 0; attempt < 20 && (await query(isRefused, [agent.machineId])).rowCount === 0; attempt += 1)
        await new Promise((resolve) => setTimeout(resolve, 10));
      return query(...values);
    });
    await revokeHost(domain, agent.machineId);
    querySpy.mockRestore();
    domain.fleet.heartbeats.record(agent.machineId, domain.clock.now());
    await domain.fleet.heartbeats.flush();
    await domain.db.notices.caughtUp();
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ reachable: false });
    const row = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id }, select: RUNTIME_SELECT });
    expect(runtimeOf(row)).toMatchObject({
      phase: 'UNREACHABLE',
      message: expect.stringContaining("revoked this machine's agent"),
    });
    domain.clock.advance(10);
    const back = await TestAgent.join(domain, {}, agent.machineId);
    await back.fetch();
    await back.report([seen(id, 'RUNNING')]);
    await tick(domain);
    expect((await creditsOf(domain, account)).map(([, units]) => units)).toEqual([18n * rate, 18n * 50n * 140n]);
    expect((await audit(domain)).findings).toEqual([]);
  });

  test('a late heartbeat neither moves time back nor credits an outage', async () => {
    const { agent, account, id } = await rentMachine(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    const early = domain.clock.now();
    domain.clock.advance(29);
    await agent.report([seen(id, 'RUNNING')]);
    const known = domain.clock.now();
    // Another gateway, which is slow, writes it late.
    domain.fleet.heartbeats.record(agent.machineId, early);
    await domain.fleet.heartbeats.flush();
    const seenAt = async () =>
      (await domain.db.prisma.machineHeartbeat.findUniqueOrThrow({ where: { machineId: agent.machineId } })).seenAt;
    expect(instantOf((await seenAt())!)).toBe(known);
    domain.clock.advance(29);
    await agent.report([seen(id, 'RUNNING')]);
    await tick(domain);
    expect(await creditsOf(domain, account)).toEqual([]);
    // A late heartbeat doesn't make an unreachable machine reachable either.
    domain.clock.advance(31);
    await tick(domain);
    domain.fleet.heartbeats.record(agent.machineId, known);
    await domain.fleet.heartbeats.flush();
    expect(await findMachine(domain, agent.machineId)).toMatchObject({ reachable: false });
  });

  test('a container erased before its outage is booked is still credited', async () => {
    const { agent, account, id, rate } = await rentMachine(HOSTILE);
    await agent.report([seen(id, 'RUNNING')]);
    domain.clock.advance(100);
    await markUnreachable(domain.db, domain.clock.now());
    await act(domain, account, { id, action: 'DESTROY' });
    // The agent returns, erases the container and reports that before the outage is processed.
    await agent.fetch();
    domain.clock.advance(1);
    await agent.report([seen(id, 'ERASED')]);
    const container = await domain.db.prisma.container.findUniqueOrThrow({ where: { instanceId: id } });
    expect(container.erasedAt).not.toBeNull();
    await tick(domain);
    expect((await creditsOf(domain, account)).map(([, units]) => units)).toEqual([100n * rate, 100n * 50n * 140n]);
  });

  test('the audit finds a credit without a service gap', async () => {
    const account = await domain.account();
    await domain.db.pool.query(
      `insert into ledger_entry (id, account_id, kind, units, at) values ('i-00000000/service/1', $1, 'SERVICE_CREDIT', 5, '2026-11-20')`,
      [account],
    );
    const found = (await audit(domain)).findings.map(({ check }) => check);
    expect(found).toContain('service credits refund charged seconds once, at their rate');
  });
});
