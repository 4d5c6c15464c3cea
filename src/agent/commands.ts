import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { visible, visibleJson } from '../visible.js';
import { blockCounts } from './blocks.js';
import { probeDisks } from './disks.js';
import { EngineFault } from './engine/engine.js';
import { NoEngine, openEngine } from './engine/open-engine.js';
import { GatewayFault } from './gateway.js';
import { findHardware } from './hardware.js';
import { describe, join } from './join.js';
import { withRetries } from './retries.js';
import { run } from './run.js';
import { type AgentOptions, type AgentSettings, readSettings, UsageError } from './settings.js';
import { tryOut } from './try.js';
import { HostVolumes } from './volumes/host-volumes.js';

/** 0: done. 1: refused or failed. 2: wrong usage or no engine (nothing was changed). 3: no answer from the gateway. */
const EXIT = { done: 0, failed: 1, usage: 2, noConnection: 3 };
const MB_PER_GB = 1_024;

const NOTES = `
Environment:
  GPU_AGENT_DATA_DIR         as --data-dir
  GPU_AGENT_ENGINE           as --engine
  GPU_AGENT_REGISTRIES       registries of yours that may be at private addresses, with commas between
  GPU_AGENT_ALLOW_FUSE       1: as --allow-fuse of run
  GPU_AGENT_STOP_SECONDS     between SIGTERM and SIGKILL of a container (default: 10)
  GPU_AGENT_CUT_OFF_SECONDS  seconds without the gateway after which it stops what it runs (default: 900)
  LOG_LEVEL                  of the log on stderr (default: info)`;

interface TryOptions {
  url: string;
  gpus: number;
  gpuName: string;
  vramGb: number;
  image?: string;
}

function createProgram(): Command {
  const program = new Command('gpu-agent')
    .description('The host agent of the GPU rental gateway: makes this host a machine of it.')
    .addHelpText('after', NOTES)
    .configureOutput({ outputError: (text) => complain(text.replace(/^error: /, '')) });
  command(program, 'join <url> <code>', 'join with a code of `admin machine enroll`')
    .option('--name <name>', 'name to report instead of the host name')
    .action(async (url: string, code: string, options: AgentOptions & { name?: string }) => {
      const { settings, engine } = await open(options);
      const { machine, hardware } = await join(settings, engine, {
        url,
        code,
        ...(options.name === undefined ? {} : { name: options.name }),
        pretended: null,
      });
      const next = `\nThis host is machine ${machine.machineId} (${machine.gpu}). Next: gpu-agent run\n`;
      process.stdout.write(describe(hardware) + next);
    });
  command(program, 'run', 'run what is rented here, in the foreground')
    .option('--allow-fuse', 'let containers mount FUSE file systems; gives up the isolation of the host from renters')
    .action((options: AgentOptions) => run(readSettings(process.env, options)));
  command(
    program,
    'hardware',
    'show what joining would report to the gateway, and the blocks that could be sold, by size',
  ).action(async (options: AgentOptions) => {
    const { settings, engine } = await open(options);
    const disks = await probeDisks(settings.dataDir, engine.info);
    const hardware = await findHardware(settings.dataDir, engine.info, disks, null);
    const blocks = Object.fromEntries(blockCounts(hardware.gpus.map(({ name }) => name)));
    const { words: volumes } = await HostVolumes.open(settings.dataDir, '');
    process.stdout.write(`${visibleJson(JSON.stringify({ ...hardware, blocks, volumes }, null, 2))}\n`);
  });
  command(program, 'try', 'join this computer with simulated GPUs to the gateway that runs on it')
    .option('--url <url>', 'address of the gateway', 'http://127.0.0.1:4000')
    .option('--gpus <count>', 'simulated GPUs', whole(1, 64), 1)
    .option('--gpu-name <name>', 'the model as nvidia-smi would name it', 'NVIDIA GeForce RTX 4090')
    .option('--vram-gb <gb>', 'memory of each', whole(1, 1_024), 24)
    .option(
      '--image <name>',
      'an image of this host to run as it is (default: nginx, or where there is no network the newest)',
    )
    .action(async (options: AgentOptions & TryOptions) => {
      const { settings, engine } = await open(options);
      const { url, gpus: count, gpuName: name, vramGb, image = null } = options;
      await tryOut(settings, engine, { url, image, pretended: { count, name, vramMb: vramGb * MB_PER_GB } });
    });
  for (const child of [program, ...program.commands]) child.exitOverride();
  return program;
}

function command(program: Command, usage: string, description: string): Command {
  return program
    .command(usage)
    .description(description)
    .option('--data-dir <dir>', 'folder of the token and the disks of instances')
    .option('--engine <socket>', 'socket of Docker or Podman');
}

async function open(options: AgentOptions) {
  const settings: AgentSettings = readSettings(process.env, options);
  const { engineSocket, runtimeDir } = settings;
  const engine = await withRetries(
    (tried) => openEngine(engineSocket, runtimeDir, null, tried),
    (error) => error instanceof NoEngine && error.mayAnswerLater,
  );
  return { settings, engine };
}

function whole(min: number, max: number) {
  return (text: string): number => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It has to be a whole number from ${min} to ${max}.`);
  };
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UsageError || error instanceof NoEngine) {
    complain(error.message);
    return EXIT.usage;
  }
  if (error instanceof EngineFault) {
    complain(`the engine ${error.kind === 'away' ? 'does not answer' : 'refuses'}: ${error.message}`);
    return EXIT.failed;
  }
  if (error instanceof GatewayFault) {
    complain(error.kind === 'away' ? `the gateway does not answer: ${error.message}` : error.message);
    return error.kind === 'away' ? EXIT.noConnection : EXIT.failed;
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  return EXIT.failed;
}

/** Prints one line, regardless of line breaks in arguments or answers. */
function complain(text: string): void {
  process.stderr.write(`gpu-agent: ${visible(text.trim().replace(/\s*\n\s*/g, ' '))}\n`);
}

/** Runs the command named by the arguments; returns its exit code. */
export function runCommand(): Promise<number> {
  return createProgram()
    .parseAsync()
    .then(() => EXIT.done, exitCodeOf);
}
