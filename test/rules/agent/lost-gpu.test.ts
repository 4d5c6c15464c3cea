import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { Agent, type AgentDeps } from '../../../src/agent/agent.js';
import { hostClock } from '../../../src/agent/clock.js';
import { openDisks } from '../../../src/agent/disks.js';
import type { Engine } from '../../../src/agent/engine/engine.js';
import { Gateway } from '../../../src/agent/gateway.js';
import type { GpuAccess } from '../../../src/agent/gpus/gpu-access.js';
import { Registries } from '../../../src/agent/registries.js';
import { SecretFiles } from '../../../src/agent/secret-files.js';
import { StartRecords } from '../../../src/agent/start-records.js';
import { HostVolumes } from '../../../src/agent/volumes/host-volumes.js';
import { ScriptedGateway, TOKEN } from '../../support/hosts/scripted-gateway.js';
import { until } from '../../support/until.js';

const HALF_A_MINUTE_MS = 30_000;
const SHORTENED_MS = 100;

async function openScripted(): Promise<{ gateway: ScriptedGateway; dataDir: string }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'lost-gpu-'));
  const gateway = await ScriptedGateway.open();
  onTestFinished(async () => {
    await gateway.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  return { gateway, dataDir };
}

/** Opens an agent on an engine without containers. */
async function openAgent(
  gateway: ScriptedGateway,
  dataDir: string,
  changes: Pick<AgentDeps, 'gpus'> & Partial<AgentDeps>,
): Promise<Agent> {
  const nothing = { list: async () => [], inspect: async () => null, remove: async () => {} };
  const engine = {
    ...nothing,
    watch: (_machine: string, opened: () => void, _onEvent: () => void, signal: AbortSignal) => {
      opened();
      return hostClock.sleep(HALF_A_MINUTE_MS, signal);
    },
  } as Partial<Engine> as Engine;
  return new Agent({
    gateway: new Gateway(gateway.url, TOKEN),
    engine,
    disks: openDisks(dataDir, 'none'),
    volumes: await HostVolumes.open(dataDir, ''),
    allowsFuse: false,
    pretended: true,
    registries: new Registries([]),
    ownImages: new Set(),
    clock: hostClock,
    log: pino({ level: 'silent' }),
    machineId: 'm-test',
    pullLimits: { seconds: 1, kbPerSecond: 0 },
    stopSeconds: 1,
    secretFiles: new SecretFiles(dataDir),
    records: new StartRecords(dataDir),
    cutOffSeconds: 900,
    lastContact: { read: () => null, write: () => {} },
    ...changes,
  });
}

it('the agent checks for GPUs every five minutes, and sooner if the driver fails', async () => {
  const { gateway, dataDir } = await openScripted();
  const waits: number[] = [];
  let found: readonly string[] | null = null;
  let present: readonly string[] | null = null;
  const gpus: GpuAccess = {
    get found() {
      return found;
    },
    refresh: async () => {
      found = present;
      return found !== null;
    },
    uuids: () => [],
    grant: async () => null,
    grantedTo: () => [],
  };
  const agent = await openAgent(gateway, dataDir, {
    gpus,
    // The longest pauses, which are the ones between checks, are shortened.
    clock: {
      now: hostClock.now,
      sleep: (ms, signal) => {
        if (ms < HALF_A_MINUTE_MS) return hostClock.sleep(ms, signal);
        waits.push(ms);
        return hostClock.sleep(SHORTENED_MS, signal);
      },
    },
  });
  const runs = agent.run();
  const reported = (description: string, uuids: readonly string[] | undefined) =>
    until(
      description,
      () => gateway.reports.length > 0 && gateway.reports.at(-1)?.gpus?.join() === uuids?.join(),
      20_000,
    );
  await reported('a report without GPUs, since no GPU is known', undefined);
  expect(new Set(waits)).toEqual(new Set([HALF_A_MINUTE_MS]));
  present = ['GPU-a', 'GPU-b'];
  await reported('both', ['GPU-a', 'GPU-b']);
  present = ['GPU-b'];
  await reported('the remaining one', ['GPU-b']);
  expect(waits.at(-1)).toBe(300_000);
  agent.end();
  await runs;
  expect(gateway.refused).toEqual([]);
});

it('the agent reports after how many seconds without contact it stops containers', async () => {
  const { gateway, dataDir } = await openScripted();
  const gpus = { found: [], refresh: async () => true, uuids: () => [], grant: async () => null, grantedTo: () => [] };
  const agent = await openAgent(gateway, dataDir, { gpus, cutOffSeconds: 600 });
  const runs = agent.run();
  expect(await gateway.next()).toMatchObject({ cutOffSeconds: 600 });
  agent.end();
  await runs;
});
