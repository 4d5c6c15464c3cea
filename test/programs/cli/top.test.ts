import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { enrol } from '../../../src/domain/fleet/enrolment.js';
import { gpuSampled, hardware, sampled, seen } from '../../support/agent.js';
import { gpu } from '../../support/cli/command.js';
import { gpuInTerminal, readable } from '../../support/cli/gpu.js';
import { openWire, type Wire } from '../../support/client-wire.js';
import type { Renter } from '../../support/gateway.js';
import { cleanUp, type Env, folder } from '../../support/process.js';
import { type Service, startService } from '../../support/service.js';
import { needs } from '../../support/tools.js';
import { WireAgent } from '../../support/wire-agent.js';

const ESCAPE = '\u001b';

describe('gpu top', () => {
  let service: Service;
  let wire: Wire;
  let renter: Renter;
  let env: Env;
  let id: string;

  beforeAll(async () => {
    service = await startService();
    wire = await openWire(service.address);
    renter = await service.renter('1000');
    env = { XDG_CONFIG_HOME: folder(), GPU_BASE_URL: `${service.address}/v1`, GPU_API_KEY: renter.key };
  });
  afterAll(async () => {
    await wire.close();
    await service.close();
    await cleanUp();
  });

  const cells = (line: string | undefined) => (line ?? '').split(/ {2,}/);
  const printed = async (...args: string[]) => {
    const { code, stdout, stderr } = await gpu(['top', ...args], env);
    expect([code, stderr]).toEqual([0, '']);
    return stdout.split('\n').slice(0, -1);
  };

  it('prints nothing without instances and fails without a key', async () => {
    expect(await printed()).toEqual([]);
    const { GPU_API_KEY: _, ...without } = env;
    expect(await gpu(['top'], without)).toMatchObject({ code: 2, stderr: expect.stringContaining('no API key') });
  });

  it('prints each instance’s measured load and its cost once', async () => {
    const input = { machineId: null, gpu: null, region: 'us-tx', online: true, demo: false };
    const { code } = await enrol(service.deps, input);
    const one = hardware().gpus[0]!;
    const agent = await WireAgent.join(service.address, code, { gpus: [one, { ...one, index: 1, uuid: 'GPU-2' }] });
    await agent.report();
    await service.deps.fleet.heartbeats.flush();
    await service.deps.db.notices.caughtUp();
    const { data: offers } = (await renter.rest('GET', '/offers?limit=2')).body;
    const offer = offers.find(({ machine_id }: { machine_id: string }) => machine_id !== agent.machineId);
    const unmeasured = (await renter.rest('POST', '/instances', { machine_id: offer.machine_id })).body;
    const measured = await renter.rest('POST', '/instances', { machine_id: agent.machineId, name: 'training-run-1' });
    expect(measured.body).toMatchObject({ object: 'instance' });
    id = measured.body.id;
    await agent.desired();
    const samples = [
      sampled(id, {
        cpuPercent: 51.4,
        memoryUsedBytes: 9_870_000_000,
        networkInBytesPerSecond: 12_340_000,
        networkOutBytesPerSecond: 0,
        gpus: [
          gpuSampled({ busyPercent: 97, memoryUsedMb: 20_480, memoryTotalMb: 24_576, powerWatts: 449.6, celsius: 83 }),
          gpuSampled({ place: 1, busyPercent: 2, memoryUsedMb: 1_024, memoryTotalMb: 24_576, celsius: null }),
        ],
      }),
    ];
    await agent.report([seen(id, 'RUNNING')], { samples });
    await service.deps.samples.flush();
    const [heads, first, second, ...rest] = await printed();
    expect(cells(heads)).toEqual([
      ...['ID', 'NAME', 'STATUS', 'GPU', 'BUSY %', 'GPU MEMORY GIB', 'POWER W', 'HOTTEST C', 'CPU %', 'RAM GB'],
      ...['IN MB/S', 'OUT MB/S', 'COST USD/H'],
    ]);
    const load = ['50', '21.0 of 48', '470', '83', '51', '9.87', '12.34', '0.00'];
    const { priceHr, diskPriceHr } = (await renter.graphql(`{ instance(id: "${id}") { priceHr diskPriceHr } }`)).body
      .data.instance;
    expect(cells(first).slice(0, -1)).toEqual([id, 'training-run-1', 'running', '2 x rtx-4090', ...load]);
    expect(Number(cells(first).at(-1))).toBeCloseTo(Number(priceHr) + Number(diskPriceHr), 6);
    expect(cells(second).slice(0, 3)).toEqual([unmeasured.id, unmeasured.id, 'running']);
    expect(cells(second).slice(4, -1)).toEqual(Array(8).fill('-'));
    expect(rest).toEqual([]);
    expect(JSON.parse((await gpu(['top', '--json'], env)).stdout).data.instances[0]).toMatchObject({
      id,
      load: { cpuPercent: 51.4 },
    });
    await renter.rest('POST', `/instances/${unmeasured.id}/actions`, { action: 'stop' });
    const stopped = (await renter.graphql(`{ instance(id: "${unmeasured.id}") { diskPriceHr } }`)).body.data.instance;
    const [, , after] = await printed('--once');
    expect(cells(after).slice(2, 3)).toEqual(['stopped']);
    expect(Number(cells(after).at(-1))).toBeCloseTo(Number(stopped.diskPriceHr), 6);
    await renter.rest('DELETE', `/instances/${unmeasured.id}`);
  });

  it('escapes characters that a terminal would interpret', async () => {
    const hostile = {
      id,
      name: `\u009b31m\u202egnp.exe${ESCAPE}]52;c;x\u0007`,
      status: 'RUNNING',
      gpu: 'a\nb',
      numGpus: 1,
    };
    const instances = [{ ...hostile, priceHr: '1', diskPriceHr: '0', load: null }];
    wire.next({ status: 200, body: JSON.stringify({ data: { instances } }) });
    const { stdout } = await gpu(['top'], { ...env, GPU_BASE_URL: wire.baseUrl });
    expect(stdout.split('\n')).toHaveLength(3);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });

  describe('in a terminal', needs('script'), () => {
    it.each([
      ['q', 0],
      ['\u0003', 130],
    ])('repaints in place until %o ends it', async (key, code) => {
      const program = gpuInTerminal(['top'], env, { columns: 80 });
      await program.says(/21\.0 of 48/);
      program.stdin.write('x');
      program.stdin.write(key);
      expect((await program.ended).code).toBe(code);
      const [clear, first] = program.stdout().split(`${ESCAPE}[H`);
      expect(clear).toBe(`${ESCAPE}[2J`);
      expect(readable(first!)).toMatch(/^<dim>Every 10 s, \d\d:\d\d:\d\d; q quits<\/>/);
      const plain = readable(first!).replaceAll(/<[^>]*>|\[K|\[J/g, '');
      for (const line of plain.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
      expect(plain).toContain('BUSY');
    });

    it('prints only once with --once', async () => {
      const { code, stdout } = await gpuInTerminal(['top', '--once'], env).ended;
      expect([code, stdout.includes('21.0 of 48'), stdout.includes(`${ESCAPE}[H`)]).toEqual([0, true, false]);
    });
  });
});
