import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { InstanceSample } from '../../../src/agent-protocol/protocol.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { metricRange, STEPS } from '../../../src/domain/samples/rules/samples.js';
import { SampleBuffer } from '../../../src/domain/samples/sample-buffer.js';
import { maintainSamples } from '../../../src/domain/samples/upkeep.js';
import { gpuSampled, hardware, sampled, seen, TestAgent } from '../../support/agent.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';

let domain: TestDomain;
let ann: string;
/** Another gateway on the same database. */
let other: TestDomain;

beforeAll(async () => {
  domain = await openTestDomain();
  other = await openTestDomain({}, undefined, { url: domain.db.pool.options.connectionString!, clock: domain.clock });
  ann = await domain.account('100000');
});
afterAll(async () => {
  await other.close();
  await domain.close();
});

/** Simulates a host with a running container. The test chooses what it reports. */
class SampledHost {
  readonly agent: TestAgent;
  readonly id: string;

  private constructor(agent: TestAgent, id: string) {
    this.agent = agent;
    this.id = id;
  }

  static async start(gpus = 1): Promise<SampledHost> {
    // Only a few hosts per minute may join from one network.
    domain.clock.advance(61);
    const gpu = hardware().gpus[0]!;
    const found = Array.from({ length: gpus }, (_, index) => ({ ...gpu, index, uuid: `GPU-${Math.random()}` }));
    const agent = await TestAgent.join(domain, { gpus: found });
    const { instance } = await deploy(domain, ann, { machineId: agent.machineId, diskGb: 10 });
    await agent.fetch();
    await agent.report([seen(instance.id, 'RUNNING')]);
    return new SampledHost(agent, instance.id);
  }

  async sendSamples(...samples: Partial<InstanceSample>[]): Promise<void> {
    await this.report(samples.map((changes) => sampled(this.id, changes)));
  }

  async report(samples: InstanceSample[], phase: 'RUNNING' | 'STOPPED' = 'RUNNING'): Promise<void> {
    await this.agent.report([seen(this.id, phase)], { samples });
    await domain.samples.flush();
  }

  /** Reports a sample every 10 s for `seconds`. `sample` receives its number. */
  async run(seconds: number, sample: (number: number) => Partial<InstanceSample>): Promise<void> {
    for (let number = 0; number < seconds / 10; number += 1) {
      domain.clock.advance(10);
      await this.agent.report([seen(this.id, 'RUNNING')], { samples: [sampled(this.id, sample(number))] });
      // Sends a minute's samples at a time, to use fewer statements.
      if (number % 6 === 5) await domain.samples.flush();
    }
    await domain.samples.flush();
  }

  rows(step = 10, table = 'instance_sample'): Promise<Record<string, unknown>[]> {
    return rows(table, step, this.id);
  }

  points(wanted: Partial<Parameters<typeof metricRange>[0]> = {}) {
    return domain.metricLoader.of(this.id, { from: null, to: null, points: 360, ...wanted });
  }
}

async function rows(table: string, step: number, id: string): Promise<Record<string, unknown>[]> {
  const order = table === 'gpu_sample' ? 'at, place' : 'at';
  const text = `select * from ${table} where step_seconds = $1 and instance_id = $2 order by ${order}`;
  return (await domain.db.pool.query(text, [step, id])).rows;
}

/** Advances the clock to 1 s after the start of a 15-minute step. */
function toNewQuarter(): void {
  domain.clock.advance(900n - (domain.clock.now() % 900n) + 1n);
}

beforeEach(toNewQuarter);

describe('a sample', () => {
  it('counts once, in the 10 s slot during which it was taken', async () => {
    const host = await SampledHost.start();
    toNewQuarter();
    const slot = domain.clock.now() - 1n;
    domain.clock.advance(20);
    await host.sendSamples({ age: 15, cpuPercent: 1 }, { age: 8, cpuPercent: 2 }, { age: 0, cpuPercent: 3 });
    domain.clock.advance(1);
    await host.sendSamples({ age: 0, cpuPercent: 4 }, { age: 2, cpuPercent: 5 });
    expect((await host.rows()).map((row) => [row.at, row.cpu_percent])).toEqual([
      [slot, 1],
      [slot + 10n, 2],
      [slot + 20n, 3],
    ]);
  });

  it('gets its own slot even if reports arrive just before or after a boundary', async () => {
    const host = await SampledHost.start();
    toNewQuarter();
    domain.clock.advance(19);
    const begin = domain.clock.now();
    const first = Number(begin / 10n);
    for (let round = 0; round < 12; round += 1) {
      // Each report is due at the boundary and arrives a second early, on time, or a second late.
      const late = [0, 1, -1, 0, 0, -1, 1, -1, 0, 1, 0, -1][round]!;
      const due = begin + BigInt(round) * 10n + BigInt(late);
      domain.clock.advance(due - domain.clock.now());
      await host.sendSamples({ slot: first + round - 1, age: round % 2, cpuPercent: round });
    }
    expect((await host.rows()).map((row) => [row.at, row.cpu_percent])).toEqual(
      Array.from({ length: 12 }, (_, round) => [(BigInt(first) + BigInt(round) - 1n) * 10n, round]),
    );
  });

  it('counts even if its report contains nothing else new', async () => {
    const host = await SampledHost.start();
    await host.sendSamples({ cpuPercent: 1 });
    domain.clock.advance(10);
    const waits = domain.fleet.writing;
    const written: unknown[] = [];
    const run = waits.run.bind(waits);
    waits.run = (work) => {
      written.push(work);
      return run(work);
    };
    await host.sendSamples({ cpuPercent: 2 });
    waits.run = run;
    expect(written).toEqual([]);
    expect((await host.rows()).map((row) => row.cpu_percent)).toEqual([1, 2]);
  });

  it('is ignored if its container is stopped, on another host or from another start', async () => {
    const [one, two] = [await SampledHost.start(), await SampledHost.start()];
    await two.report([sampled(one.id)]);
    await one.sendSamples({ start: 2 });
    await one.report([sampled('i-00000000')]);
    expect(await one.rows()).toEqual([]);
    domain.clock.advance(10);
    await act(domain, ann, { id: one.id, action: 'STOP' });
    await one.agent.fetch();
    domain.clock.advance(25);
    await one.report([sampled(one.id, { age: 30 }), sampled(one.id, { age: 5 })], 'STOPPED');
    expect(await one.rows()).toHaveLength(1);
    await act(domain, ann, { id: one.id, action: 'START' });
    await one.agent.fetch();
    domain.clock.advance(30);
    await one.agent.report([seen(one.id, 'PULLING', { start: 2 })], { samples: [sampled(one.id, { start: 2 })] });
    await domain.samples.flush();
    expect(await one.rows()).toHaveLength(1);
  });

  it('includes at most as many GPUs as its instance has', async () => {
    const host = await SampledHost.start(2);
    await host.sendSamples({ gpus: [0, 1, 2, 63].map((place) => gpuSampled({ place, busyPercent: place })) });
    expect((await host.rows(10, 'gpu_sample')).map((row) => row.place)).toEqual([0, 1]);
  });

  it('is rejected with its entire report if it lists a GPU twice or is one too many', async () => {
    const host = await SampledHost.start();
    domain.clock.advance(60);
    const seven = Array.from({ length: 7 }, (_, age) => ({ age }));
    await expect(host.sendSamples(...seven)).rejects.toMatchObject({ code: 'invalid_request', message: /6 at most/ });
    await expect(host.sendSamples({ gpus: [gpuSampled(), gpuSampled()] })).rejects.toThrow(
      'samples.0.gpus must not repeat a place',
    );
    await host.sendSamples(...seven.slice(1));
    expect(await host.rows()).toHaveLength(2);
  });

  it("is written in the same statement as other hosts' samples and later ones", async () => {
    const all = [await SampledHost.start(), await SampledHost.start()];
    const { pool } = domain.db;
    const query = pool.query;
    let writes = 0;
    // biome-ignore lint/suspicious/noExplicitAny: passes any arguments through
    pool.query = ((...args: any[]) => {
      if (args[0]?.name === 'samples') writes += 1;
      return (query as (...given: unknown[]) => unknown).apply(pool, args);
    }) as typeof pool.query;
    try {
      for (const age of [50, 40, 30, 20, 10, 0]) {
        for (const { agent, id } of all)
          domain.samples.add(agent.machineId, [sampled(id, { age })], domain.clock.now());
        await pool.query('select pg_sleep(0.05)');
      }
      await domain.samples.flush();
    } finally {
      pool.query = query;
    }
    // A second may end in the meantime.
    expect(writes).toBeLessThan(4);
    for (const host of all) expect((await host.rows()).length).toBeGreaterThan(0);
  });

  it("is dropped, and counted as dropped, if the gateway's buffer is full", async () => {
    const host = await SampledHost.start();
    const samples = new SampleBuffer(domain.db, () => {}, 50);
    for (let second = 0; second < 55; second += 1)
      samples.add(`m-0000${second % 20}`, [sampled(host.id)], BigInt(second * 10));
    expect(samples.dropped).toBe(5);
    await samples.flush();
    samples.add(host.agent.machineId, [sampled(host.id)], domain.clock.now());
    await samples.flush();
    expect(await host.rows()).toHaveLength(1);
  });
});

describe('a lying host', () => {
  it("can't place samples in the future or far in the past", async () => {
    const host = await SampledHost.start();
    toNewQuarter();
    domain.clock.advance(300);
    const now = domain.clock.now();
    const own = now / 10n;
    const written: unknown[] = [];
    for (const [slots, age] of [
      [1, 0],
      [1_000_000, 0],
      [-3, 0],
      [-1_000, 0],
      [2 - 3, 30],
    ] as const) {
      await domain.db.pool.query('delete from instance_sample where instance_id = $1', [host.id]);
      await host.sendSamples({ slot: Number(own) + slots, age });
      written.push((await host.rows()).map((row) => (row.at as bigint) / 10n - own));
    }
    expect(written).toEqual([[0n], [0n], [0n], [0n], [-3n]]);
    await host.agent.report([seen(host.id, 'RUNNING')], { samples: [sampled(host.id, { slot: 0 })] });
    await domain.samples.flush();
    expect((await host.rows()).every((row) => (row.at as bigint) <= now && (row.at as bigint) > now - 90n)).toBe(true);
  });

  it("can't invalidate another host's sample with numbers that no column can store", async () => {
    const [liar, other] = [await SampledHost.start(), await SampledHost.start()];
    const tiny = { cpuPercent: 5e-324, gpus: [gpuSampled({ powerWatts: 1e-300, celsius: 1e-50 })] };
    await liar.agent.report([seen(liar.id, 'RUNNING')], { samples: [sampled(liar.id, tiny)] });
    await other.sendSamples({ cpuPercent: 12.3456 });
    expect([(await other.rows()).length, (await liar.rows()).length]).toEqual([1, 1]);
    expect((await other.rows())[0]).toMatchObject({ cpu_percent: 12.346 });
  });

  it("can't displace other hosts’ samples by sending many reports", async () => {
    const [liar, other] = [await SampledHost.start(), await SampledHost.start()];
    const { samples } = domain;
    const before = samples.dropped;
    for (let report = 0; report < 2; report += 1) {
      const made = Array.from({ length: 1_200 }, (_, n) =>
        sampled(`i-${(report * 1_200 + n).toString(16).padStart(8, '0')}`),
      );
      samples.add(liar.agent.machineId, made, domain.clock.now());
    }
    await other.sendSamples({});
    expect(samples.dropped - before).toBe(1_200);
    expect(await other.rows()).toHaveLength(1);
  });

  it("can't make two gateways deadlock by reporting samples in a different order", async () => {
    const host = await SampledHost.start();
    domain.clock.advance(20);
    const now = domain.clock.now();
    const [early, late] = [now - 20n - (now % 10n), now - (now % 10n)];
    const insert = (at: bigint) => ({
      text: 'insert into instance_sample (step_seconds, instance_id, at) values (10, $1, to_timestamp($2)) on conflict do nothing',
      values: [host.id, String(at)],
    });
    const another = await domain.db.pool.connect();
    try {
      await another.query('begin');
      await another.query(insert(early));
      domain.samples.add(host.agent.machineId, [sampled(host.id), sampled(host.id, { age: 20 })], now);
      const written = domain.samples.flush();
      // Locks are listed for all databases, and other tests may be waiting in those.
      const waits = `select 1 from pg_locks join pg_stat_activity using (pid)
        where not granted and locktype = 'transactionid' and datname = current_database()`;
      await expect.poll(async () => (await domain.db.pool.query(waits)).rowCount, { timeout: 20_000 }).toBe(1);
      await another.query(insert(late));
      await another.query('commit');
      await written;
    } finally {
      another.release();
    }
    expect(await host.rows()).toHaveLength(2);
  });
});

describe('metric steps', () => {
  it('contain the means of their samples, excluding nulls, and the highest GPU load', async () => {
    const host = await SampledHost.start();
    toNewQuarter();
    const begin = domain.clock.now() - 1n;
    // The numbers in the second minute are 5 to 10, since the first slot starts 10 s after the beginning.
    await host.run(1_200, (number) => ({
      cpuPercent: number % 2 === 0 ? number % 100 : null,
      memoryUsedBytes: number * 1_000_000_000_000,
      gpus: [gpuSampled({ busyPercent: number % 100, memoryTotalMb: null })],
    }));
    await maintainSamples(domain);
    const minutes = await host.rows(60);
    // The gateway waits 120 s for late samples.
    expect(minutes.map((row) => row.at)).toEqual(
      Array.from({ length: 18 }, (_, minute) => begin + BigInt(minute) * 60n),
    );
    expect(minutes[1]).toMatchObject({ cpu_percent: 8, memory_used_bytes: 7_500_000_000_000n, disk_used_bytes: null });
    const [, gpu] = await host.rows(60, 'gpu_sample');
    expect(gpu).toMatchObject({ busy_percent: 7.5, busy_max_percent: 10, memory_total_mb: null, place: 0 });
    const quarters = await host.rows(900);
    expect(quarters.map((row) => row.at)).toEqual([begin]);
    expect(quarters[0]).toMatchObject({ cpu_percent: 44, memory_used_bytes: 44_000_000_000_000n });
  });

  it('are the same if computed repeatedly, concurrently or again after a crash', async () => {
    const host = await SampledHost.start();
    await host.run(1_500, (number) => ({ cpuPercent: number % 100 }));
    const { pool } = domain.db;
    await pool.query(
      `create function crashes() returns trigger language plpgsql as 'begin raise exception ''crashed''; end'`,
    );
    await pool.query('create trigger crashes before update on sample_rollup for each row execute function crashes()');
    await expect(maintainSamples(domain)).rejects.toThrow('crashed');
    expect(await host.rows(60)).toEqual([]);
    await pool.query('drop trigger crashes on sample_rollup');
    await Promise.all([maintainSamples(domain), maintainSamples(other), maintainSamples(domain)]);
    await maintainSamples(domain);
    const made = [await host.rows(60), await host.rows(900), await host.rows(900, 'gpu_sample')];
    expect(made.map((list) => list.length)).toEqual([23, 1, 1]);
    await pool.query(`update sample_rollup set rolled_to = 'epoch'`);
    await maintainSamples(other);
    expect([await host.rows(60), await host.rows(900), await host.rows(900, 'gpu_sample')]).toEqual(made);
  });

  it('are computed by one gateway at a time, which keeps samples until it is done', async () => {
    const host = await SampledHost.start();
    await host.run(900, () => ({}));
    domain.clock.advance(4_000);
    const { pool } = domain.db;
    const another = await pool.connect();
    let isDone = false;
    try {
      await another.query('begin');
      await another.query('select from sample_rollup for update');
      const kept = maintainSamples(domain).finally(() => {
        isDone = true;
      });
      // Locks are listed for all databases, and other tests may be waiting in those.
      const waits = `select 1 from pg_locks join pg_stat_activity using (pid)
        where not granted and locktype = 'transactionid' and datname = current_database()`;
      const hasEnded = async () => isDone || (await another.query(waits)).rowCount !== 0;
      await expect.poll(hasEnded, { timeout: 30_000 }).toBe(true);
      expect(isDone).toBe(true);
      await kept;
      expect([(await host.rows(10)).length, (await host.rows(60)).length]).toEqual([90, 0]);
    } finally {
      await another.query('rollback');
      another.release();
    }
    await maintainSamples(domain);
    expect([(await host.rows(10)).length, (await host.rows(60)).length]).toEqual([0, 16]);
  });

  it('are deleted by age, and their samples only once every step includes them', async () => {
    const host = await SampledHost.start();
    await host.run(900, () => ({}));
    domain.clock.advance(4_000);
    await maintainSamples(domain);
    expect([(await host.rows(10)).length, (await host.rows(60)).length, (await host.rows(900)).length]).toEqual([
      0, 16, 2,
    ]);
    domain.clock.advance(2n * 86_400n);
    await maintainSamples(domain);
    expect([(await host.rows(60)).length, (await host.rows(60, 'gpu_sample')).length]).toEqual([0, 0]);
    expect(await host.rows(900, 'gpu_sample')).toHaveLength(2);
    domain.clock.advance(90n * 86_400n);
    await maintainSamples(domain);
    expect([...(await host.rows(900)), ...(await host.rows(900, 'gpu_sample'))]).toEqual([]);
  });
});

describe('metrics', () => {
  it('are read in the finest step kept for the whole range and include recent samples', async () => {
    const host = await SampledHost.start();
    toNewQuarter();
    const begin = domain.clock.now() - 1n;
    await host.run(1_800, (number) => ({ cpuPercent: number % 100 }));
    const finest = await host.points();
    expect([finest.stepSeconds, finest.points.length]).toEqual([10, 180]);
    expect(finest.points[3]).toMatchObject({ cpuPercent: 3, gpus: [{ place: 0, celsius: 30 }] });
    for (const isRolledUp of [false, true]) {
      if (isRolledUp) await maintainSamples(domain);
      const minutes = await host.points({ from: begin - 7_200n });
      expect([isRolledUp, minutes.stepSeconds]).toEqual([isRolledUp, 60]);
      // The first slot starts 10 s after the beginning.
      expect(minutes.points.map(({ at }) => at)).toEqual(Array.from({ length: 31 }, (_, n) => begin + BigInt(n) * 60n));
      expect(minutes.points[2]).toMatchObject({ cpuPercent: 13.5, gpus: [{ busyMaxPercent: 0 }] });
      const quarters = await host.points({ from: begin - 3n * 86_400n });
      expect([quarters.stepSeconds, quarters.points.map(({ at }) => at)]).toEqual([
        900,
        [begin, begin + 900n, begin + 1_800n],
      ]);
    }
    const few = await host.points({ from: begin, to: begin + 1_800n, points: 7 });
    expect([few.stepSeconds, few.points.length]).toEqual([260, 7]);
    expect(few.points[0]).toMatchObject({ at: begin, cpuPercent: 12 });
  });

  it('are read for many instances with one statement', async () => {
    const all = [await SampledHost.start(), await SampledHost.start(), await SampledHost.start()];
    for (const [number, host] of all.entries()) await host.sendSamples({ cpuPercent: number });
    const { pool } = domain.db;
    const query = pool.query;
    let statements = 0;
    // biome-ignore lint/suspicious/noExplicitAny: passes any arguments through
    pool.query = ((...args: any[]) => {
      statements += 1;
      return (query as (...given: unknown[]) => unknown).apply(pool, args);
    }) as typeof pool.query;
    const metrics = await Promise.all(all.map((host) => host.points()));
    const loads = await Promise.all(all.map(({ id }) => domain.loadLoader.of(id)));
    pool.query = query;
    expect(statements).toBe(2);
    expect(metrics.map(({ points }) => points.map(({ cpuPercent }) => cpuPercent))).toEqual([[0], [1], [2]]);
    expect(loads.map((load) => load?.cpuPercent)).toEqual([0, 1, 2]);
    domain.clock.advance(71);
    expect(await domain.loadLoader.of(all[0]!.id)).toBeNull();
  });
});

describe("a metrics response's range", () => {
  const now = 1_800_000_000n + 7n;
  const range = (from: bigint | null, to: bigint | null, points = 360) => metricRange({ from, to, points }, now);

  it('is the last hour by default and includes the current slot', () => {
    expect(range(null, null)).toMatchObject({ step: STEPS[0], pointSeconds: 10, from: 1_799_996_410n, to: now + 1n });
    expect(range(null, null, 1_000)).toMatchObject({ pointSeconds: 10, from: 1_799_996_410n });
  });

  it.each([
    [3_600n, 10],
    [3_620n, 60],
    [172_800n, 60],
    [172_900n, 900],
    [7_776_000n, 900],
  ])('that begins %d s ago has steps of %d s', (seconds, step) => {
    expect(range(now - seconds, null, 1_000).step.seconds).toBe(step);
  });

  it('never contains more points than requested', () => {
    for (const points of [1, 2, 7, 100, 999, 1_000]) {
      for (const seconds of [1n, 9n, 10n, 59n, 3_600n, 86_399n, 7_776_000n]) {
        const { from, to, pointSeconds, step } = range(now - seconds, null, points);
        expect(Math.ceil(Number(to - from) / pointSeconds)).toBeLessThanOrEqual(points);
        expect(pointSeconds % step.seconds).toBe(0);
      }
    }
  });

  it('is rejected if it is reversed, begins in the future or exceeds the retention', () => {
    expect(() => range(now, now)).toThrow('from must be before to');
    expect(() => range(now + 10n, null)).toThrow('from must be before to');
    expect(() => range(now - 7_776_002n, null)).toThrow('at most 90 days before to');
  });
});
