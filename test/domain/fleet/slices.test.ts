import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { enrol, join } from '../../../src/domain/fleet/enrolment.js';
import { listHosts, sellSlices } from '../../../src/domain/fleet/hosts.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { quote } from '../../../src/domain/inventory/quote.js';
import type { PricingMode } from '../../../src/domain/kernel/price-rule.js';
import { hardware, seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const MODEL = { name: 'NVIDIA GeForce RTX 4090', vramMb: 24_564, pcieGen: 4 };

let domain: TestDomain;
let ann: string;
let bob: string;

beforeAll(async () => {
  domain = await openTestDomain();
  [ann, bob] = [await domain.account('10000'), await domain.account('10000')];
});
afterAll(async () => {
  expect((await audit(domain)).findings).toEqual([]);
  await domain.close();
});

function gpus(count: number, model = MODEL) {
  return Array.from({ length: count }, (_, index) => ({
    index,
    uuid: `GPU-${randomBytes(8).toString('hex')}`,
    ...model,
    cpus: [4 * index, 4 * index + 1],
  }));
}

async function hostOf(count: number, found = gpus(count)) {
  // Only a few hosts per minute may join from one network.
  domain.clock.advance(61);
  const agent = await TestAgent.join(domain, { gpus: found, vcpus: 64, ramGb: 512, diskGb: 4_000 });
  const report = (changes = {}) => agent.report([], { gpus: found.map(({ uuid }) => uuid), ...changes });
  await report();
  return { agent, id: agent.machineId, found, report };
}

async function rent(machineId: string, { who = ann, mode = 'ON_DEMAND' as PricingMode, diskGb = 10 } = {}) {
  return (await deploy(domain, who, { machineId, mode, diskGb })).instance;
}

async function outcome(work: Promise<{ id: string }>): Promise<string> {
  return work.then(
    () => 'rented',
    ({ code, reason, message }) => reason ?? code ?? message,
  );
}

async function offered(hostId: string): Promise<string[]> {
  const { offers } = await domain.inventory.current();
  return [...(await domain.db.prisma.machine.findMany({ where: { hostId }, orderBy: { id: 'asc' } }))]
    .map(({ id }) => id)
    .filter((id) => offers.offerOf(id) !== null)
    .map((id) => id.replace(hostId, ''));
}

const ALL = [
  '',
  '.g0',
  '.g0-1',
  '.g0-3',
  '.g1',
  '.g2',
  '.g2-3',
  '.g3',
  '.g4',
  '.g4-5',
  '.g4-7',
  '.g5',
  '.g6',
  '.g6-7',
  '.g7',
];

describe('a host with eight GPUs', () => {
  it('is offered as fifteen machines, each with its share', async () => {
    const { id } = await hostOf(8);
    expect(await offered(id)).toEqual(ALL);
    const row = (machineId: string) => domain.db.prisma.machine.findUniqueOrThrow({ where: { id: machineId } });
    expect(await row(`${id}.g4-5`)).toMatchObject({
      hostId: id,
      firstGpu: 4,
      numGpus: 2,
      vcpus: 16,
      ramGb: 128,
      diskGb: 1_000,
    });
    expect(await row(id)).toMatchObject({ hostId: id, firstGpu: 0, numGpus: 8, vcpus: 64, ramGb: 512, diskGb: 4_000 });
  });

  it('sells each GPU once, withdrawing all overlapping blocks from the offers', async () => {
    const { id } = await hostOf(8);
    const { id: one } = await rent(`${id}.g4-5`);
    expect(await offered(id)).toEqual(['.g0', '.g0-1', '.g0-3', '.g1', '.g2', '.g2-3', '.g3', '.g6', '.g6-7', '.g7']);
    for (const taken of ['', '.g4', '.g5', '.g4-5', '.g4-7'])
      expect([taken, await outcome(rent(`${id}${taken}`, { who: bob }))]).toEqual([taken, 'taken']);
    expect(await outcome(rent(`${id}.g6`, { who: bob }))).toBe('rented');
    await act(domain, ann, { id: one, action: 'DESTROY' });
    expect(await offered(id)).toContain('.g4-5');
    expect(await offered(id)).not.toContain('.g4-7');
  });

  it('is prevented by database constraints from running two instances on one GPU', async () => {
    const { id } = await hostOf(4);
    const { id: one } = await rent(`${id}.g1`);
    const copy = (machineId: string) =>
      domain.db.pool.query(
        `insert into instance select (jsonb_populate_record(instance, jsonb_build_object('id', $2::text, 'machine_id', $3::text,
           'host_id', (select host_id from machine where machine.id = $3), 'first_gpu', 9, 'num_gpus', (select num_gpus from machine where machine.id = $3), 'sequence', 1000))).* from instance where id = $1`,
        [one, `i-${randomBytes(4).toString('hex')}`, machineId],
      );
    for (const taken of ['.g0-1', '']) await expect(copy(`${id}${taken}`)).rejects.toThrow(/sold_gpu_pkey/);
    await act(domain, ann, { id: one, action: 'STOP' });
    const { id: other } = await rent(`${id}.g0-1`, { who: bob });
    await expect(
      domain.db.pool.query(
        `update instance set status = 'RUNNING', running_since = stopped_at, stopped_at = null, stop_reason = null where id = $1`,
        [one],
      ),
    ).rejects.toThrow(/sold_gpu_pkey/);
    await act(domain, bob, { id: other, action: 'DESTROY' });
  });

  it('rents each GPU exactly once despite many concurrent deploys', async () => {
    const { id } = await hostOf(8);
    const rents = ALL.map((suffix) => outcome(rent(`${id}${suffix}`, { who: Math.random() < 0.5 ? ann : bob })));
    const outcomes = await Promise.all(rents);
    const { rows } = await domain.db.pool.query<{ count: bigint }>('select count(*) from sold_gpu where host_id = $1', [
      id,
    ]);
    expect(Number(rows[0]!.count)).toBe(8);
    expect(new Set(outcomes)).toEqual(new Set(['rented', 'taken']));
    expect(await offered(id)).toEqual([]);
  });

  it('preempts all overlapping interruptible instances for a single 60 s minimum', async () => {
    const { id } = await hostOf(8);
    const yielding = [];
    for (const suffix of ['.g0', '.g1', '.g2-3'])
      yielding.push(await rent(`${id}${suffix}`, { who: suffix === '.g1' ? bob : ann, mode: 'INTERRUPTIBLE' }));
    const kept = await rent(`${id}.g4`, { who: bob, mode: 'INTERRUPTIBLE' });
    domain.clock.advance(100);
    const quoted = await quote(domain, ann, { machineId: `${id}.g0-3`, diskGb: 10 });
    expect(quoted).toMatchObject({ preempts: true, preemptedInstances: 3, minimumGpuSeconds: 60n, refusal: null });
    const preempting = await rent(`${id}.g0-3`, { who: ann });
    const rows = await domain.db.prisma.instance.findMany({ where: { id: { in: yielding.map((each) => each.id) } } });
    expect(rows.map(({ status, stopReason }) => `${status} ${stopReason}`)).toEqual(Array(3).fill('STOPPED PREEMPTED'));
    await act(domain, ann, { id: preempting.id, action: 'DESTROY' });
    const { rows: minimums } = await domain.db.pool.query(
      `select units from ledger_entry where kind = 'PREEMPTION_MINIMUM' and instance_id = $1`,
      [preempting.id],
    );
    expect(minimums).toEqual([{ units: -60n * preempting.gpuRate }]);
    const { status } = await domain.db.prisma.instance.findUniqueOrThrow({ where: { id: kept.id } });
    expect(status).toBe('RUNNING');
    // A single instance that is not interruptible is enough to keep the block.
    await rent(`${id}.g0`, { who: bob });
    await act(domain, ann, { id: yielding[2]!.id, action: 'START' });
    expect(await outcome(rent(`${id}.g0-3`))).toBe('taken');
  });

  it('counts each disk once for the whole host', async () => {
    const { id } = await hostOf(2);
    const { id: big } = await rent(`${id}.g0`, { diskGb: 2_000 });
    await act(domain, ann, { id: big, action: 'STOP' });
    await rent(`${id}.g1`, { diskGb: 1_900, who: bob });
    expect(await outcome(rent(`${id}.g0`, { diskGb: 101 }))).toBe('disk');
    expect(await outcome(rent(`${id}.g0`, { diskGb: 100 }))).toBe('rented');
  });

  it('assigns an instance its GPUs, CPUs and memory once the previous one is gone', async () => {
    const { id, agent, found, report } = await hostOf(4);
    const one = await rent(`${id}.g1`);
    const two = await rent(`${id}.g2-3`, { who: bob });
    const { instances } = await agent.fetch();
    const uuids = found.map(({ uuid }) => uuid);
    expect(instances.find((each) => each.id === one.id)).toMatchObject({
      ...{ gpus: 1, gpuUuids: [uuids[1]], cpus: [4, 5], vcpus: 16, memoryMb: 128 * 1_024, phase: 'running' },
    });
    expect(instances.find((each) => each.id === two.id)).toMatchObject({
      ...{ gpus: 2, gpuUuids: [uuids[2], uuids[3]], cpus: [8, 9, 12, 13], vcpus: 32, env: { GPU_COUNT: '2' } },
    });
    await agent.report([seen(one.id, 'RUNNING'), seen(two.id, 'RUNNING')], { gpus: uuids });
    await act(domain, ann, { id: one.id, action: 'DESTROY' });
    const whole = await rent(`${id}.g0-1`);
    // An instance waits for the previous one on its GPU, but not for its neighbours.
    const neighbour = { ...(await agent.fetch()) }.instances.find((each) => each.id === whole.id);
    expect(neighbour).toBeUndefined();
    await agent.report([seen(one.id, 'ERASED'), seen(two.id, 'RUNNING')], { gpus: uuids });
    expect((await agent.fetch()).instances.map((each) => [each.id, each.phase]).sort()).toEqual(
      [two.id, whole.id].map((each) => [each, 'running']).sort(),
    );
    await report({ instances: [] });
  });
});

describe('a host for sale', () => {
  it('adopts new block sizes immediately without ending or blocking current rentals', async () => {
    const { id } = await hostOf(4);
    const mine = await rent(`${id}.g0-1`);
    await sellSlices(domain, id, [1]);
    await domain.db.notices.caughtUp();
    expect(await offered(id)).toEqual(['.g2', '.g3']);
    expect(await outcome(rent(`${id}.g2-3`))).toBe('not_listed');
    await act(domain, ann, { id: mine.id, action: 'STOP' });
    await act(domain, ann, { id: mine.id, action: 'START' });
    await sellSlices(domain, id, [0]);
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
    expect(await offered(id)).toEqual(['']);
    await expect(sellSlices(domain, id, [8])).rejects.toThrow(/no block of these sizes fits/);
    await expect(sellSlices(domain, 'nothing', [1])).rejects.toThrow(/has no agent/);
  });

  it('never sells two GPU models in one block', async () => {
    const l4 = { name: 'NVIDIA L4', vramMb: 23_034, pcieGen: 4 };
    const mixed = [...gpus(2), ...gpus(2, l4)].map((gpu, index) => ({ ...gpu, index }));
    const { id } = await hostOf(4, [mixed[0]!, mixed[2]!, mixed[1]!, mixed[3]!]);
    expect(await offered(id)).toEqual(['.g0', '.g0-1', '.g1', '.g2', '.g2-3', '.g3']);
    const models = await domain.db.prisma.machine.findMany({
      where: { hostId: id, sold: true },
      orderBy: { id: 'asc' },
    });
    expect(models.map(({ gpu }) => gpu)).toEqual(['rtx-4090', 'rtx-4090', 'rtx-4090', 'l4', 'l4', 'l4']);
    expect(await outcome(rent(id))).toBe('not_listed');
    expect((await rent(`${id}.g2-3`)).gpu).toBe('l4');
  });

  it('with an agent on protocol 1 can be sold only whole until the agent is updated', async () => {
    const { code } = await enrol(domain, { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false });
    domain.clock.advance(61);
    const found = hardware({ gpus: gpus(2) });
    const { machineId } = await join(domain, code, found, 1);
    await domain.db.notices.caughtUp();
    expect(await offered(machineId)).toEqual([]);
    const { recordReport: takeReport } = await import('../../../src/domain/fleet/observations.js');
    const report = { session: 's', generation: 0, instances: [], unknown: [], engine: 'ok' as const };
    await takeReport(domain, machineId, { ...report, protocol: 1, sequence: 1 });
    await domain.fleet.heartbeats.flush();
    await domain.db.notices.caughtUp();
    expect(await offered(machineId)).toEqual(['']);
    const uuids = found.gpus.map(({ uuid }) => uuid);
    await takeReport(domain, machineId, { ...report, protocol: 2, sequence: 2, gpus: uuids });
    await domain.db.notices.caughtUp();
    expect(await offered(machineId)).toEqual(['', '.g0', '.g1']);
  });
});

describe('a GPU that disappears', () => {
  it("isn't offered, and earns its renter credit until it returns", async () => {
    const { id, agent, found } = await hostOf(4);
    const uuids = found.map(({ uuid }) => uuid);
    const [mine, other] = [await rent(`${id}.g0-1`), await rent(`${id}.g2`, { who: bob })];
    const running = [seen(mine.id, 'RUNNING'), seen(other.id, 'RUNNING')];
    await agent.fetch();
    await agent.report(running, { gpus: uuids });
    const pass = async (seconds: number, present: string[]) => {
      for (let left = seconds; left > 0; left -= 20) {
        domain.clock.advance(Math.min(left, 20));
        await agent.report(running, { gpus: present });
      }
      await tick(domain);
    };
    await pass(100, uuids);
    const without = uuids.filter((_, place) => place !== 1);
    await agent.report(running, { gpus: without });
    expect((await listHosts(domain, id))[0]).toMatchObject({ missing: [1], freeGpus: 1 });
    expect(await offered(id)).toEqual(['.g3']);
    await pass(600, without);
    await agent.report(running, { gpus: uuids });
    await pass(60, uuids);
    expect((await listHosts(domain, id))[0]).toMatchObject({ missing: [] });
    const { rows } = await domain.db.pool.query<{ instance_id: string; resource: string; seconds: bigint }>(
      `select instance_id, resource, sum(extract(epoch from ended_at - started_at))::bigint as seconds from service_gap
       where reason = 'OUTAGE' and instance_id = any($1) group by instance_id, resource order by resource`,
      [[mine.id, other.id]],
    );
    expect(rows).toEqual([
      { instance_id: mine.id, resource: 'GPU', seconds: 600n },
      { instance_id: mine.id, resource: 'DISK', seconds: 600n },
    ]);
    await act(domain, ann, { id: mine.id, action: 'STOP' });
    await act(domain, bob, { id: other.id, action: 'STOP' });
  });

  it('can be replaced when the host rejoins, without moving reordered GPUs', async () => {
    const { id, agent, found } = await hostOf(4);
    const mine = await rent(`${id}.g1`);
    const { code } = await enrol(domain, { machineId: id, gpu: null, region: null, online: true, demo: false });
    const reversed = [...found].reverse().map((gpu, index) => ({ ...gpu, index }));
    domain.clock.advance(61);
    await join(domain, code, hardware({ gpus: reversed, diskGb: 4_000 }));
    await domain.db.notices.caughtUp();
    const desired = (await agent.fetch()).instances.find((each) => each.id === mine.id);
    expect(desired).toMatchObject({ gpuUuids: [found[1]!.uuid] });
    // A missing GPU may be replaced by one of its model, but any other change is rejected.
    const [spare] = gpus(1);
    const replaced = [found[0]!, found[1]!, spare!, found[3]!];
    const again = await enrol(domain, { machineId: id, gpu: null, region: null, online: true, demo: false });
    domain.clock.advance(61);
    await expect(join(domain, again.code, hardware({ gpus: [...found, spare!], diskGb: 4_000 }))).rejects.toThrow(
      /has instances on 4 x rtx-4090, but found 5 x rtx-4090/,
    );
    await join(domain, again.code, hardware({ gpus: replaced, diskGb: 4_000 }));
    expect((await listHosts(domain, id))[0]!.gpus.map(({ uuid }) => uuid)).toEqual(replaced.map(({ uuid }) => uuid));
  });
});
