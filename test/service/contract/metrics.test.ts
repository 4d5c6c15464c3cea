import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { gpuSampled, hardware, sampled, seen } from '../../support/agent.js';
import { subscribe } from '../../support/events.js';
import type { Renter } from '../../support/gateway.js';
import { type Service, startService } from '../../support/service.js';
import { WireAgent } from '../../support/wire-agent.js';

// biome-ignore lint/suspicious/noExplicitAny: responses have any shape
type Any = any;

const GPU = 'place busyPercent busyMaxPercent memoryUsedMb memoryTotalMb powerWatts celsius smMhz faults processes';
const POINT = `at cpuPercent memoryUsedBytes diskUsedBytes networkInBytesPerSecond networkOutBytesPerSecond processes gpus { ${GPU} }`;

let service: Service;
let ann: Renter;
let bob: Renter;
let agent: WireAgent;
/** Ann's instance, on a machine with two GPUs. */
let id: string;

beforeAll(async () => {
  service = await startService();
  [ann, bob] = [await service.renter('1000'), await service.renter('1000')];
  const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
  const { code } = await enrol(service.deps, input);
  const gpu = hardware().gpus[0]!;
  agent = await WireAgent.join(service.address, code, { gpus: [gpu, { ...gpu, index: 1, uuid: 'GPU-2' }] });
  await agent.report();
  await service.deps.fleet.heartbeats.flush();
  await service.deps.db.notices.caughtUp();
  id = (await ann.rest('POST', '/instances', { machine_id: agent.machineId })).body.id;
  await agent.desired();
});
afterAll(() => service.close());

async function report(...samples: Any[]): Promise<void> {
  await agent.report([seen(id, 'RUNNING')], { samples });
  await service.deps.samples.flush();
}

const MEASURED = {
  cpuPercent: 51.5,
  memoryUsedBytes: 9_007_199_254_740_991,
  diskUsedBytes: null,
  networkInBytesPerSecond: 12_500_000_000,
  networkOutBytesPerSecond: 0,
  processes: 7,
};
const BUSY = { busyPercent: 97.5, memoryUsedMb: 20_000, powerWatts: 449.5, celsius: 83, smMhz: 2_520, faults: 2 };

describe('metrics and load', () => {
  it("are the agent's measurements and are shown only to the renter", async () => {
    service.clock.advance(20);
    await report(sampled(id, { ...MEASURED, gpus: [gpuSampled({ place: 1 }), gpuSampled(BUSY)] }));
    const second = service.clock.now();
    const at = new Date(Number(second - (second % 10n)) * 1_000).toISOString().replace('.000', '');
    const gpus = [
      { ...gpuSampled(BUSY), busyMaxPercent: 97.5 },
      { ...gpuSampled({ place: 1 }), busyMaxPercent: 0 },
    ];
    const point = { at, ...MEASURED, gpus };
    const query = `{ instance(id: "${id}") { load { ${POINT} } metrics { stepSeconds points { ${POINT} } } } }`;
    const { body } = await ann.graphql(query);
    expect(body).toEqual({ data: { instance: { load: point, metrics: { stepSeconds: 10, points: [point] } } } });
    expect((await bob.graphql(query)).body).toEqual({ data: { instance: null } });
    const ofBob = await bob.graphql(`{ instances { load { at } metrics(points: 100) { points { at } } } }`);
    expect(ofBob.body).toEqual({ data: { instances: [] } });
    service.clock.advance(70);
    const later = await ann.graphql(`{ instances { load { at } metrics(points: 100) { points { at } } } }`);
    expect(later.body.data.instances).toEqual([{ load: null, metrics: { points: [{ at }] } }]);
  });

  it.each([
    ['points: 0', 'points must be a whole number from 1 to 1000'],
    ['points: 1001', 'points must be a whole number from 1 to 1000'],
    ['from: "yesterday"', 'from must be an instant of the calendar from 1970 on, such as 2026-11-23T18:00:00Z'],
    ['to: "2026-02-31T00:00:00Z"', 'to must be an instant of the calendar from 1970 on, such as 2026-11-23T18:00:00Z'],
    ['from: "9999-01-01T00:00:00Z"', 'from must be before to, and not in the future'],
    ['from: "2020-01-01T00:00:00Z"', 'from must be at most 90 days before to'],
  ])('are rejected for %s', async (args, message) => {
    const { body } = await ann.graphql(`{ instance(id: "${id}") { metrics(${args}) { stepSeconds } } }`);
    expect(body.errors[0]).toMatchObject({ message, extensions: { code: 'invalid_request' } });
  });

  it('are refused before reading if the response would contain too many values', async () => {
    const whole = (points: string) => `metrics(points: ${points}) { points { ${POINT} } }`;
    const one = await ann.graphql(`{ instance(id: "${id}") { ${whole('1000')} } }`);
    expect(one.body.errors).toBeUndefined();
    const two = await ann.graphql(`{ instance(id: "${id}") { ${whole('1000')} again: ${whole('1000')} } }`);
    expect(two.body.errors[0].message).toMatch(/at most 50000 values/);
    const all = await ann.graphql(`query($points: Int) { instances { ${whole('$points')} } }`, { points: 100 });
    expect(all.body.errors[0].message).toMatch(/at most 50000 values/);
    const few = await ann.graphql(`query($points: Int) { instances { ${whole('$points')} } }`, { points: 10 });
    expect(few.body.errors).toBeUndefined();
  });

  it('are refused for too many time ranges, and otherwise read one range at a time', async () => {
    const fieldsOf = (count: number) =>
      Array.from({ length: count }, (_, n) => `m${n}: metrics(points: ${n + 1}) { stepSeconds }`).join(' ');
    const { pool } = service.deps.db;
    let most = 0;
    const query = pool.query.bind(pool);
    let open = 0;
    // biome-ignore lint/suspicious/noExplicitAny: passes any arguments through
    pool.query = (async (...args: any[]) => {
      const isOurs = String(args[0]?.name).startsWith('metrics');
      if (isOurs) open += 1;
      most = Math.max(most, open);
      // biome-ignore lint/suspicious/noExplicitAny: passes any arguments through
      return await (query as any)(...args).finally(() => {
        if (isOurs) open -= 1;
      });
    }) as typeof pool.query;
    const ten = await ann.graphql(`{ instance(id: "${id}") { ${fieldsOf(10)} } }`);
    const all = await ann.graphql(`{ instance(id: "${id}") { ${fieldsOf(120)} } }`);
    pool.query = query;
    expect(ten.body.errors).toBeUndefined();
    expect(all.body.errors[0]).toMatchObject({
      message: expect.stringMatching('at most 10 time ranges'),
      extensions: { code: 'invalid_request' },
    });
    expect(most).toBe(1);
  });
});

describe('the REST API for metrics', () => {
  const metrics = (path: string, who = ann) => who.rest('GET', `/instances/${path}`);

  it('returns the newest sample in Prometheus format', async () => {
    service.clock.advance(100);
    await report(sampled(id, { ...MEASURED, gpus: [gpuSampled(BUSY), gpuSampled({ place: 1, faults: null })] }));
    const { status, headers, body } = await metrics(`${id}/metrics`);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
    const second = service.clock.now();
    const of = (gauge: string, gpu = '') => `gpu_rental_instance_${gauge}{instance="${id}",name="${id}"${gpu}}`;
    expect(body.split('\n').filter((line: string) => !line.startsWith('#'))).toEqual([
      `${of('running')} 1`,
      `${of('sample_timestamp_seconds')} ${second - (second % 10n)}`,
      `${of('cpu_ratio')} 0.515`,
      `${of('memory_used_bytes')} 9007199254740991`,
      `${of('network_in_bytes_per_second')} 12500000000`,
      `${of('network_out_bytes_per_second')} 0`,
      `${of('processes')} 7`,
      `${of('gpu_busy_ratio', ',gpu="0"')} 0.975`,
      `${of('gpu_busy_ratio', ',gpu="1"')} 0`,
      `${of('gpu_memory_used_bytes', ',gpu="0"')} 20971520000`,
      `${of('gpu_memory_used_bytes', ',gpu="1"')} 0`,
      `${of('gpu_memory_size_bytes', ',gpu="0"')} 25757220864`,
      `${of('gpu_memory_size_bytes', ',gpu="1"')} 25757220864`,
      `${of('gpu_power_watts', ',gpu="0"')} 449.5`,
      `${of('gpu_power_watts', ',gpu="1"')} 20`,
      `${of('gpu_temperature_celsius', ',gpu="0"')} 83`,
      `${of('gpu_temperature_celsius', ',gpu="1"')} 30`,
      `${of('gpu_clock_hertz', ',gpu="0"')} 2520000000`,
      `${of('gpu_clock_hertz', ',gpu="1"')} 210000000`,
      `${of('gpu_faults', ',gpu="0"')} 2`,
      `${of('gpu_processes', ',gpu="0"')} 0`,
      `${of('gpu_processes', ',gpu="1"')} 0`,
      '',
    ]);
    service.clock.advance(100);
    const later = await metrics(`${id}/metrics`);
    expect(later.body).toBe(
      `# HELP gpu_rental_instance_running 1 while the instance is running, else 0.
# TYPE gpu_rental_instance_running gauge
${of('running')} 1
`,
    );
  });

  it('returns the history as JSON', async () => {
    const { status, body } = await metrics(`${id}/metrics/history?points=1000`);
    expect([status, body.object, body.step_seconds]).toEqual([200, 'instance_metrics', 10]);
    expect(body.points.at(-1)).toMatchObject({
      cpu_percent: 51.5,
      disk_used_bytes: null,
      gpus: [{ sm_mhz: 2_520 }, { place: 1 }],
    });
    const early = await metrics(`${id}/metrics/history?from=2026-11-01T00:00:00Z&to=2026-11-02T00:00:00%2B01:00`);
    expect(early.body).toEqual({ object: 'instance_metrics', step_seconds: 900, points: [] });
  });

  it("rejects missing instances, other accounts' instances and values out of bounds", async () => {
    for (const path of ['metrics', 'metrics/history']) {
      for (const [who, other] of [
        [ann, 'i-00000000'],
        [bob, id],
      ] as const) {
        const { status, body } = await metrics(`${other}/${path}`, who);
        expect([status, body.error]).toEqual([
          404,
          { code: 'not_found', message: expect.stringContaining('no such instance') },
        ]);
      }
      expect((await service.anyone.rest('GET', `/instances/${id}/${path}`)).status).toBe(401);
    }
    for (const query of ['points=0', 'points=x', 'from=now', 'from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z']) {
      const { status, body } = await metrics(`${id}/metrics/history?${query}`);
      expect([query, status, body.error.code]).toEqual([query, 422, 'invalid_request']);
    }
  });
});

describe('accountChanged', () => {
  const LOADS = `subscription { accountChanged { account { id } instances { id } ...L } }
    fragment L on AccountChange { loads { instanceId load { cpuPercent gpus { place } } } }`;

  /** Returns the next event with samples. Other events may report that the host left or returned. */
  const nextLoads = async (stream: Awaited<ReturnType<typeof subscribe>>): Promise<Any> => {
    for (;;) {
      const event = await stream.next();
      if (event.loads.length > 0) return event;
    }
  };

  it('reports each new sample once, and only to its own account', async () => {
    service.clock.advance(100);
    const { loadWatch } = service.deps;
    const [toAnn, toBob] = [
      await subscribe(service.address, LOADS, { key: ann.key }),
      await subscribe(service.address, LOADS, { key: bob.key }),
    ];
    const account = { id: ann.accountId };
    expect(await toAnn.next()).toEqual({ account, instances: [], loads: [] });
    await toBob.next();
    for (const cpuPercent of [10, 20]) {
      service.clock.advance(10);
      await report(sampled(id, { cpuPercent }));
      await loadWatch.poll();
      await loadWatch.poll();
      const load = { cpuPercent, gpus: [{ place: 0 }] };
      expect(await nextLoads(toAnn)).toEqual({ account, instances: [], loads: [{ instanceId: id, load }] });
    }
    expect(toAnn.text().split('cpuPercent')).toHaveLength(3);
    expect(toBob.text()).not.toContain(id);
    for (const stream of [toAnn, toBob]) stream.abort();
  });

  it('reads nothing if no subscription requests samples', async () => {
    await expect.poll(() => service.deps.subscriptions.size, { timeout: 20_000 }).toBe(0);
    const stream = await subscribe(service.address, 'subscription { accountChanged { account { id } } }', {
      key: ann.key,
    });
    await stream.next();
    const read = vi.spyOn(service.deps.loadLoader, 'ofAccounts');
    await service.deps.loadWatch.poll();
    expect(read).not.toHaveBeenCalled();
    read.mockRestore();
    stream.abort();
  });
});

describe('a lying agent', () => {
  it.each<[string, (sample: Any) => unknown, string]>([
    ['a share above 100', (sample) => ({ ...sample, cpuPercent: 100.5 }), 'samples.0.cpuPercent'],
    ['a negative share', (sample) => ({ ...sample, cpuPercent: -1 }), 'samples.0.cpuPercent'],
    ['NaN', (sample) => ({ ...sample, memoryUsedBytes: 'NaN' }), 'samples.0.memoryUsedBytes'],
    ['an impossible number of bytes', (sample) => ({ ...sample, diskUsedBytes: 1e300 }), 'samples.0.diskUsedBytes'],
    ['half a process', (sample) => ({ ...sample, processes: 0.5 }), 'samples.0.processes'],
    ['a future sample', (sample) => ({ ...sample, age: -5 }), 'samples.0.age'],
    ['an old sample', (sample) => ({ ...sample, age: 61 }), 'samples.0.age'],
    [
      'a GPU at a negative place',
      (sample) => ({ ...sample, gpus: [{ ...sample.gpus[0], place: -1 }] }),
      'samples.0.gpus.0.place',
    ],
    [
      'negative power',
      (sample) => ({ ...sample, gpus: [{ ...sample.gpus[0], powerWatts: -1 }] }),
      'samples.0.gpus.0.powerWatts',
    ],
    ['65 GPUs', (sample) => ({ ...sample, gpus: Array(65).fill(sample.gpus[0]) }), 'samples.0.gpus'],
    ['a sample without an id', ({ id: _, ...sample }) => sample, 'samples.0.id'],
  ])("can't report %s without an error that names the member", async (_name, lie, member) => {
    const sent = report(lie(sampled(id)));
    await expect(sent).rejects.toThrow(new RegExp(`422 .*"${member.replaceAll('.', '\\.')}: `));
  });

  it("can't report numbers beyond the range of a double", async () => {
    const text = JSON.stringify({ samples: [sampled(id)] }).replace('"cpuPercent":0', '"cpuPercent":1e999');
    const whole = { protocol: 2, session: 's', sequence: 1, generation: 0, instances: [], unknown: [], engine: 'ok' };
    const body = `${JSON.stringify(whole).slice(0, -1)},${text.slice(1)}`;
    const answer = await fetch(`${service.address}/agent/v1/report`, {
      method: 'POST',
      headers: agent.headers(),
      body,
    });
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining('samples.0.cpuPercent: ')]);
  });

  it("can't report a million points", async () => {
    const many = (samples: Any[]) => agent.report([seen(id, 'RUNNING')], { samples });
    await expect(many(Array(1_000_000).fill({}))).rejects.toThrow(/report: 413/);
    const others = Array.from({ length: 1_201 }, (_, n) => sampled(`i-${n.toString(16).padStart(8, '0')}`));
    await expect(many(others)).rejects.toThrow(/422 .*samples: /);
    await expect(many(Array(7).fill(sampled(id)))).rejects.toThrow(/422 .*at most 6/);
  });

  it('can change neither balances nor states', async () => {
    const shown = `{ instance(id: "${id}") { status stopReason usage { gpuSeconds total } } balance { burnPerHour } }`;
    const before = (await ann.graphql(shown)).body;
    await report(sampled(id, { cpuPercent: 0 }), sampled(id, { age: 10, cpuPercent: 100 }));
    expect((await ann.graphql(shown)).body).toEqual(before);
  });
});
