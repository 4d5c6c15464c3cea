import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { audit } from '../../../src/domain/billing/audit.js';
import { enrol, join } from '../../../src/domain/fleet/enrolment.js';
import { listHosts, sellSlices } from '../../../src/domain/fleet/hosts.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { importMachines } from '../../../src/domain/inventory/machines.js';
import type { PricingMode } from '../../../src/domain/kernel/price-rule.js';
import { hardware, seen, TestAgent, tick } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

const MODEL = { name: 'NVIDIA GeForce RTX 4090', vramMb: 24_564, pcieGen: 4 };
const DISK_GB = 4_000;

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

function gpus(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    index,
    uuid: `GPU-${randomBytes(8).toString('hex')}`,
    ...MODEL,
  }));
}

async function hostOf(count: number) {
  // Only a few hosts per minute may join from one network.
  domain.clock.advance(61);
  const found = gpus(count);
  const agent = await TestAgent.join(domain, { gpus: found, vcpus: 64, ramGb: 512, diskGb: DISK_GB });
  const uuids = found.map(({ uuid }) => uuid);
  await agent.report([], { gpus: uuids });
  return { agent, id: agent.machineId, found, uuids };
}

async function rent(machineId: string, { who = ann, mode = 'ON_DEMAND' as PricingMode, diskGb = 10 } = {}) {
  return (await deploy(domain, who, { machineId, mode, diskGb })).instance;
}

/** Advances the clock by `seconds`, while the agent sends the same report every 10 s. */
async function pass(agent: TestAgent, seconds: number, running: ReturnType<typeof seen>[], present: string[]) {
  for (let left = seconds; left > 0; left -= 10) {
    domain.clock.advance(Math.min(left, 10));
    await agent.report(running, { gpus: present });
  }
  await tick(domain);
}

async function gpuSecondsCredited(id: string): Promise<number> {
  const { rows } = await domain.db.pool.query<{ seconds: bigint }>(
    `select coalesce(sum(extract(epoch from ended_at - started_at)), 0)::bigint as seconds from service_gap
     where reason = 'OUTAGE' and resource = 'GPU' and instance_id = $1`,
    [id],
  );
  return Number(rows[0]!.seconds);
}

describe('a GPU missing from a rental of the whole host', () => {
  it("doesn't entitle later renters of the other GPUs to credit", async () => {
    const { id, agent, uuids } = await hostOf(2);
    const whole = await rent(id);
    await agent.fetch();
    await agent.report([seen(whole.id, 'RUNNING')], { gpus: uuids });
    const without = uuids.slice(0, 1);
    await pass(agent, 100, [seen(whole.id, 'RUNNING')], without);
    await act(domain, ann, { id: whole.id, action: 'DESTROY' });
    await agent.fetch();
    await pass(agent, 20, [seen(whole.id, 'ERASED')], without);
    const healthy = await rent(`${id}.g0`, { who: bob });
    await agent.fetch();
    await pass(agent, 600, [seen(healthy.id, 'RUNNING')], without);
    await pass(agent, 100, [seen(healthy.id, 'RUNNING')], uuids);
    expect(await gpuSecondsCredited(whole.id)).toBe(90);
    expect(await gpuSecondsCredited(healthy.id)).toBe(0);
    await act(domain, bob, { id: healthy.id, action: 'DESTROY' });
  });

  it('is credited even if it disappeared while the host was unreachable', async () => {
    const { id, agent, uuids } = await hostOf(2);
    const whole = await rent(id);
    await agent.fetch();
    const running = [seen(whole.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    domain.clock.advance(100);
    await tick(domain);
    await pass(agent, 600, running, uuids.slice(0, 1));
    await pass(agent, 100, running, uuids);
    expect(await gpuSecondsCredited(whole.id)).toBe(710);
    await act(domain, ann, { id: whole.id, action: 'DESTROY' });
  });
});

/** Resolves once `count` transactions are waiting for a lock. */
async function waiting(count: number): Promise<void> {
  for (;;) {
    const { rows } = await domain.db.pool.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    if (rows.length >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('missing GPUs', () => {
  const gaps = async (id: string) => {
    const { rows } = await domain.db.pool.query<{ overlaps: bigint }>(
      `select count(*) as overlaps from service_gap one join service_gap other using (instance_id, resource)
       where one.ordinal < other.ordinal and one.started_at < other.ended_at and other.started_at < one.ended_at and instance_id = $1`,
      [id],
    );
    return { seconds: await gpuSecondsCredited(id), overlaps: Number(rows[0]!.overlaps) };
  };

  it("don't disconnect clients from the host's instances", async () => {
    const { id, agent, uuids } = await hostOf(2);
    const mine = await rent(`${id}.g0`);
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING')];
    await pass(agent, 10, running, uuids);
    const notices: string[] = [];
    const stop = domain.db.notices.subscribe({ onNotice: ({ table }) => notices.push(table), onLost: () => {} });
    await agent.report(running, { gpus: uuids.slice(0, 1) });
    stop();
    // Tunnels end on a host notice, since that means that the host's token changed (src/access/tunnels.ts).
    expect(notices).toContain('machine');
    expect(notices).not.toContain('host');
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
  });

  it('are credited only once if the host is unreachable too, and only to their renter', async () => {
    const { id, agent, uuids } = await hostOf(4);
    const [mine, other] = [await rent(`${id}.g0`), await rent(`${id}.g2-3`, { who: bob })];
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING'), seen(other.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    const without = uuids.slice(1);
    await pass(agent, 100, running, without);
    domain.clock.advance(190);
    await tick(domain);
    await pass(agent, 110, running, without);
    await pass(agent, 100, running, uuids);
    expect(await gaps(mine.id)).toEqual({ seconds: 400, overlaps: 0 });
    expect(await gaps(other.id)).toEqual({ seconds: 200, overlaps: 0 });
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
    await act(domain, bob, { id: other.id, action: 'DESTROY' });
  });

  it("block a stopped instance's start until they return, each time they go missing", async () => {
    const { id, agent, uuids } = await hostOf(2);
    const mine = await rent(`${id}.g0`);
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    const without = uuids.slice(1);
    await pass(agent, 60, running, without);
    await act(domain, ann, { id: mine.id, action: 'STOP' });
    await agent.fetch();
    await pass(agent, 100, [seen(mine.id, 'STOPPED')], without);
    await expect(act(domain, ann, { id: mine.id, action: 'START' })).rejects.toThrow(/no longer listed/);
    expect(await gaps(mine.id)).toEqual({ seconds: 50, overlaps: 0 });
    await pass(agent, 10, [seen(mine.id, 'STOPPED')], uuids);
    await act(domain, ann, { id: mine.id, action: 'START' });
    await agent.fetch();
    const again = [seen(mine.id, 'RUNNING', { start: 2 })];
    await pass(agent, 100, again, uuids);
    for (let times = 0; times < 5; times += 1) {
      await agent.report(again, { gpus: without });
      await agent.report(again, { gpus: uuids });
    }
    await pass(agent, 20, again, without);
    await pass(agent, 20, again, uuids);
    expect(await gaps(mine.id)).toEqual({ seconds: 70, overlaps: 0 });
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
  });
});

describe('a host that rejoins', () => {
  it('without a rented GPU reports it missing, which is credited until it returns', async () => {
    const { id, agent, found, uuids } = await hostOf(4);
    const mine = await rent(`${id}.g1`);
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    const { code } = await enrol(domain, { machineId: id, gpu: null, region: null, online: true, demo: false });
    const present = found.filter((_, place) => place !== 1);
    await join(domain, code, hardware({ gpus: present, diskGb: DISK_GB }));
    expect((await listHosts(domain, id))[0]).toMatchObject({ missing: [1] });
    await pass(
      agent,
      600,
      running,
      present.map(({ uuid }) => uuid),
    );
    await pass(agent, 100, running, uuids);
    expect(await gpuSecondsCredited(mine.id)).toBe(610);
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
  });

  it('keeps each GPU in its place during a rental', async () => {
    const { id, found, uuids } = await hostOf(2);
    const { code } = await enrol(domain, { machineId: id, gpu: null, region: null, online: true, demo: false });
    const reversed = [...found].reverse().map((gpu, index) => ({ ...gpu, index }));
    const client = await domain.db.pool.connect();
    try {
      await client.query('begin');
      await client.query('select from machine where id = $1 for no key update', [id]);
      const rented = rent(`${id}.g0`);
      await waiting(1);
      const joined = join(domain, code, hardware({ gpus: reversed, diskGb: DISK_GB }));
      await waiting(2);
      await client.query('commit');
      await Promise.all([rented, joined]);
      expect((await listHosts(domain, id))[0]!.gpus.map(({ uuid }) => uuid)).toEqual(uuids);
      await act(domain, ann, { id: (await rented).id, action: 'DESTROY' });
    } finally {
      client.release();
    }
  });

  it('with a replacement for a missing GPU ends the credit for the missing one', async () => {
    const { id, agent, found, uuids } = await hostOf(4);
    const mine = await rent(`${id}.g1`);
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    const present = found.filter((_, place) => place !== 1);
    await pass(
      agent,
      100,
      running,
      present.map(({ uuid }) => uuid),
    );
    const repaired = [...present, ...gpus(1)];
    const { code } = await enrol(domain, { machineId: id, gpu: null, region: null, online: true, demo: false });
    await join(domain, code, hardware({ gpus: repaired, diskGb: DISK_GB }));
    await pass(
      agent,
      600,
      running,
      repaired.map(({ uuid }) => uuid),
    );
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
    await tick(domain);
    expect(await gpuSecondsCredited(mine.id)).toBe(90);
  });
});

describe('a deploy that waits for its host', () => {
  for (const [title, change] of [
    [
      'is rejected if one of its GPUs is recorded as missing in the meantime',
      `update machine_host set missing = '{0}' where machine_id = $1`,
    ],
    [
      'is rejected if the host is sold in other block sizes in the meantime',
      `update machine set sold = false where host_id = $1 and id = $1 || '.g0'`,
    ],
  ] as const)
    it(title, async () => {
      const { id } = await hostOf(2);
      const client = await domain.db.pool.connect();
      try {
        await client.query('begin');
        await client.query('select from machine where id = $1 for no key update', [id]);
        await client.query(change, [id]);
        const outcome = rent(`${id}.g0`).then(
          () => 'rented',
          ({ reason }) => reason,
        );
        await waiting(1);
        await client.query('commit');
        expect(await outcome).toBe('not_listed');
      } finally {
        client.release();
      }
    });
});

it("a report delayed by a block size change doesn't restore the previous sizes", async () => {
  const { id, agent, uuids } = await hostOf(2);
  const client = await domain.db.pool.connect();
  try {
    await client.query('begin');
    await client.query('select from machine where id = $1 for no key update', [id]);
    const sold = sellSlices(domain, id, [0]);
    await waiting(1);
    const reported = agent.report([], { gpus: uuids.slice(1) });
    await waiting(2);
    await client.query('commit');
    await Promise.all([sold, reported]);
    const machines = await domain.db.prisma.machine.findMany({ where: { hostId: id, sold: true } });
    expect(machines.map((machine) => machine.id)).toEqual([]);
  } finally {
    client.release();
  }
});

describe("an agent's downgrade from protocol 2 to 1", () => {
  it('entitles renters to credit for parts that the agent can no longer run', async () => {
    const { id, agent, uuids } = await hostOf(2);
    const mine = await rent(`${id}.g1`);
    await agent.fetch();
    const running = [seen(mine.id, 'RUNNING')];
    await pass(agent, 100, running, uuids);
    await agent.report(running, { protocol: 1 });
    expect((await agent.fetch()).instances).toMatchObject([{ id: mine.id, phase: 'stopped' }]);
    for (let at = 0; at < 60; at += 1) {
      domain.clock.advance(10);
      await agent.report([seen(mine.id, 'STOPPED')], { protocol: 1 });
    }
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
    await tick(domain);
    expect(await gpuSecondsCredited(mine.id)).toBe(600);
  });
});

describe('a machine import', () => {
  const csv = (changes: Record<string, unknown>) => ({
    gpu: 'rtx-4090',
    num_gpus: 4,
    region: 'us-tx',
    cpu: 'AMD EPYC 9354',
    vcpus: 64,
    ram_gb: 512,
    disk_gb: DISK_GB,
    net_down_mbps: 8_000,
    net_up_mbps: 4_000,
    ports: 400,
    pcie: 4,
    nvlink: false,
    cuda_max: '12.8',
    reliability: 0.5,
    ...changes,
  });
  async function* lines(...rows: Record<string, unknown>[]) {
    for (const [index, fields] of rows.entries()) yield { line: index + 2, fields } as never;
  }
  const load = (...rows: Record<string, unknown>[]) => importMachines(domain, lines(...rows), { dryRun: false });

  it("also applies a host's operator-maintained properties to its parts", async () => {
    const { id } = await hostOf(4);
    await load(csv({ id }));
    const part = await domain.db.prisma.machine.findUniqueOrThrow({ where: { id: `${id}.g2-3` } });
    expect(part).toMatchObject({ netDownMbps: 4_000, netUpMbps: 2_000, ports: 200, reliability: 0.5 });
  });

  it("can't change the number or model of a host's GPUs", async () => {
    const { id } = await hostOf(4);
    await expect(load(csv({ id, num_gpus: 2 }))).rejects.toThrow(/GPUs/);
    await expect(load(csv({ id, gpu: 'l4' }))).rejects.toThrow(/GPUs/);
    await expect(load(csv({ id: `${id}.g0`, num_gpus: 1 }))).rejects.toThrow(/host/);
  });

  it('blocks a later join by a host whose part would have an imported id', async () => {
    const id = `m-${randomBytes(4).toString('hex')}`;
    await load(csv({ id: `${id}.g1`, num_gpus: 1 }));
    domain.clock.advance(61);
    await expect(TestAgent.join(domain, { gpus: gpus(2) }, id)).rejects.toThrow(/needs another id/);
  });

  it("can't reduce a host's disk below the disks in use on its parts", async () => {
    const { id } = await hostOf(4);
    const mine = await rent(`${id}.g0`, { diskGb: 500 });
    await expect(load(csv({ id, disk_gb: 400 }))).rejects.toThrow(/disk/);
    await act(domain, ann, { id: mine.id, action: 'DESTROY' });
  });
});

it("an instance's events name the rented part of the host as its machine", async () => {
  const { id, agent, uuids } = await hostOf(2);
  await domain.db.pool.query(
    `insert into webhook (id, account_id, url, events, created_at, sealed, key_id)
     values ('wh-1', $1, 'http://localhost/', null, now(), '\\x00', 'none')`,
    [bob],
  );
  const mine = await rent(`${id}.g1`, { who: bob });
  await agent.fetch();
  await agent.report([seen(mine.id, 'RUNNING')], { gpus: uuids });
  await act(domain, bob, { id: mine.id, action: 'DESTROY' });
  const { rows } = await domain.db.pool.query(
    `select type, data ->> 'machine' as machine from event where subject = $1 order by sequence`,
    [mine.id],
  );
  expect(rows).toEqual([
    { type: 'instance.running', machine: `${id}.g1` },
    { type: 'instance.destroyed', machine: `${id}.g1` },
  ]);
});

describe('a gateway running an earlier version on the same database', () => {
  it('can’t rent a part of a host', async () => {
    const { id } = await hostOf(2);
    const mine = await rent(`${id}.g0`);
    await act(domain, ann, { id: mine.id, action: 'STOP' });
    const insert = domain.db.pool.query(
      `insert into instance select (jsonb_populate_record(instance, jsonb_build_object('id', $2::text, 'machine_id', $3::text,
         'status', 'RUNNING', 'running_since', created_at, 'stopped_at', null, 'stop_reason', null, 'host_id', null, 'first_gpu', 0, 'sequence', 1000))).* from instance where id = $1`,
      [mine.id, `i-${randomBytes(4).toString('hex')}`, `${id}.g1`],
    );
    await expect(insert).rejects.toThrow(/part of a host/);
    await sellSlices(domain, id, [0]);
  });
});
