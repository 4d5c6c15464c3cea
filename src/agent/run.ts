import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { type Logger, pino } from 'pino';
import { LogOutput } from '../logging/log-output.js';
import { visibleJson } from '../std/visible.js';
import { Agent } from './agent.js';
import { hostClock, pauseMs } from './clock.js';
import { lockDataDir } from './data-dir-lock.js';
import { openDisks } from './disks.js';
import { FUSE_DEVICE } from './engine/docker.js';
import type { Engine } from './engine/engine.js';
import { NoEngine, openEngine } from './engine/open-engine.js';
import { RuntimeCommands } from './engine/runtime.js';
import { Gateway } from './gateway.js';
import { openGpuAccess } from './gpus/gpu-access.js';
import { MachineFile } from './machine-file.js';
import { Registries } from './registries.js';
import { SecretFiles } from './secret-files.js';
import { type AgentSettings, UsageError } from './settings.js';
import { StartRecords } from './start-records.js';
import { HostVolumes } from './volumes/host-volumes.js';

/**
 * V8 option for heap growth. Tunnel data is read into buffers that V8 counts against the heap. By default, V8 collects
 * garbage in such a small heap (17 MB) every 5 MB, which took three quarters of the agent's time. With this option, the
 * heap may grow to 85 MB.
 */
const HEAP_GROWTH = '--heap-growing-percent=400';
/** Maximum pause while waiting for the engine, which may be started after the agent. */
const MAX_ENGINE_PAUSE_MS = 4_000;
/** Maximum time for writing the last log lines at exit. */
const LOGGED_WITHIN_MS = 1_000;

/**
 * Runs until SIGTERM or SIGINT, which leave the containers running. For images in `ownImages`, this host's local
 * version is used.
 */
export async function run(settings: AgentSettings, ownImages: readonly string[] = []): Promise<void> {
  const file = new MachineFile(settings.dataDir);
  const machine = file.read();
  if (machine === null)
    throw new UsageError(
      `this host has not joined a gateway: ${file.path} does not exist; run: gpu-agent join URL CODE`,
    );
  lockDataDir(settings.dataDir);
  setFlagsFromString(HEAP_GROWTH);
  const { machineId, gateway, token, pretended, diskLimit } = machine;
  if (settings.isFuseAllowed && !existsSync(FUSE_DEVICE))
    throw new UsageError(`--allow-fuse needs ${FUSE_DEVICE}, which is missing on this host; run: modprobe fuse`);
  const { log, output } = openLog(settings);
  if (settings.isFuseAllowed)
    log.warn('--allow-fuse lets renters become root on this host through containers that mount file systems');
  if (settings.isCutOffReduced)
    log.warn(
      `GPU_AGENT_CUT_OFF_SECONDS is too high; using ${settings.cutOffSeconds}, the longest that volume leases allow`,
    );
  const engine = await waitForEngine(settings, log);
  const gpus = await openGpuAccess(pretended, engine, log);
  const volumes = await HostVolumes.open(settings.dataDir, gateway);
  const agent = new Agent({
    gateway: new Gateway(gateway, token),
    engine,
    disks: openDisks(settings.dataDir, diskLimit),
    volumes,
    gpus,
    allowsFuse: settings.isFuseAllowed,
    pretended: pretended !== null,
    registries: new Registries(settings.registries),
    ownImages: new Set(ownImages),
    clock: hostClock,
    log,
    machineId,
    stopSeconds: settings.stopSeconds,
    pullLimits: { seconds: settings.pullSeconds, kbPerSecond: settings.pullKbPerSecond },
    secretFiles: new SecretFiles(settings.dataDir),
    records: new StartRecords(settings.dataDir),
    cutOffSeconds: settings.cutOffSeconds,
    lastContact: file.lastContact,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => agent.end());
  const { name, version } = engine.info;
  log.info(
    {
      machine: machineId,
      gateway,
      engine: `${name} ${version}`,
      gpus: gpus.found?.length ?? 0,
      diskLimit,
      volumes: volumes.summary,
    },
    'agent started',
  );
  await agent.run();
  log.info('agent stopped; containers continue');
  await output.written(LOGGED_WITHIN_MS);
}

/**
 * Waits for an engine that doesn't respond yet, because a host that has joined has one. SIGTERM still ends the process
 * while it waits.
 */
async function waitForEngine({ engineSocket, runtimeDir, dataDir }: AgentSettings, log: Logger): Promise<Engine> {
  const commands = new RuntimeCommands(join(dataDir, 'commands'));
  for (let tries = 0; ; tries += 1) {
    try {
      return await openEngine(engineSocket, runtimeDir, commands, tries);
    } catch (error) {
      if (!(error instanceof NoEngine)) throw error;
      if (tries === 0) log.warn({ message: error.message }, 'container engine unreachable');
      await hostClock.sleep(pauseMs(tries, MAX_ENGINE_PAUSE_MS));
    }
  }
}

/** Opens the log on stderr. No line contains a token or the value of a renter's variable. */
function openLog({ logLevel }: AgentSettings): { log: Logger; output: LogOutput } {
  const output = new LogOutput(process.stderr);
  // Log lines can include messages from engines and registries, so control characters are made visible.
  const log = pino({ level: logLevel, hooks: { streamWrite: visibleJson } }, output);
  output.onDropped = (lines) => log.warn({ lines }, 'log lines dropped because the log was not read');
  process.removeAllListeners('warning').on('warning', (warning) => log.warn({ err: warning }, 'warning'));
  return { log, output };
}
