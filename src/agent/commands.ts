import { type Command, CommanderError, InvalidArgumentError } from 'commander';
import { MAX_CUT_OFF_SECONDS, MAX_STOP_SECONDS } from '../agent-protocol/limits.js';
import { finishProgram, newProgram } from '../std/command-help.js';
import { visible, visibleJson } from '../std/visible.js';
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

/**
 * Exit codes. `done` means success. `failed` means that the command was refused or failed. `usage` means wrong usage or
 * no container engine, in which case nothing was changed. `noConnection` means that the gateway didn't respond.
 */
const EXIT = { done: 0, failed: 1, usage: 2, noConnection: 3 };
const MB_PER_GB = 1_024;

const NOTES = `Examples:
  gpu-agent hardware
  gpu-agent join https://gpu.example.com gpu_join_5f0c…
  gpu-agent run

Environment:
  GPU_AGENT_DATA_DIR            same as --data-dir
  GPU_AGENT_ENGINE              same as --engine
  GPU_AGENT_REGISTRIES          registries that may have private addresses,
                                separated by commas (default: none)
  GPU_AGENT_ALLOW_FUSE          1 is the same as run --allow-fuse; 0 disables it
                                (default: 0)
  GPU_AGENT_STOP_SECONDS        seconds between a container's SIGTERM and
                                SIGKILL, 0 to ${MAX_STOP_SECONDS} (default: 10)
  GPU_AGENT_PULL_SECONDS        maximum seconds to pull an image for a start,
                                1 to 86400 (default: 1200)
  GPU_AGENT_PULL_KB_PER_SECOND  minimum pull speed in kB/s, up to 1000000;
                                0 disables the check (default: 100)
  GPU_AGENT_CUT_OFF_SECONDS     seconds without contact with the gateway after
                                which containers are stopped, from 1; at most
                                ${MAX_CUT_OFF_SECONDS} has an effect (default: ${MAX_CUT_OFF_SECONDS})
  LOG_LEVEL                     level of the JSON log on stderr: fatal, error,
                                warn, info, debug, trace or silent
                                (default: info)

Exit codes: 0 done; 1 refused or failed; 2 wrong usage or no container engine,
and nothing was changed; 3 no response from the gateway`;

/** An example for each command, shown at the end of its help. */
const EXAMPLES = {
  hardware: 'gpu-agent hardware --engine /run/podman/podman.sock',
  join: 'gpu-agent join https://gpu.example.com gpu_join_5f0c… --name rig-1',
  run: 'GPU_AGENT_REGISTRIES=registry.internal:5000 gpu-agent run',
  try: 'gpu-agent try --gpus 2 --gpu-name "NVIDIA H100 80GB HBM3" --vram-gb 80',
};

interface TryOptions {
  url: string;
  gpus: number;
  gpuName: string;
  vramGb: number;
  image?: string;
}

function createProgram(): Command {
  const description = "Rent out this host's GPUs through a GPU rental gateway, in Docker or Podman containers.";
  const program = newProgram('gpu-agent', { description, notes: NOTES }, complain);
  program.commandsGroup('Host:');
  addHardwareCommand(program);
  addJoinCommand(program);
  addRunCommand(program);
  program.commandsGroup('Trial:');
  addTryCommand(program);
  finishProgram(program, EXAMPLES);
  return program;
}

function addHardwareCommand(program: Command): void {
  command(program, 'hardware', 'Print as JSON the hardware that join would report, and its GPU blocks by size').action(
    async (options: AgentOptions) => {
      const { settings, engine } = await open(options);
      const disks = await probeDisks(settings.dataDir, engine.info);
      const hardware = await findHardware(settings.dataDir, engine.info, disks, null);
      const blocks = Object.fromEntries(blockCounts(hardware.gpus.map(({ name }) => name)));
      const { summary: volumes } = await HostVolumes.open(settings.dataDir, '');
      process.stdout.write(`${visibleJson(JSON.stringify({ ...hardware, blocks, volumes }, null, 2))}\n`);
    },
  );
}

function addJoinCommand(program: Command): void {
  command(program, 'join', 'Join a gateway with a code from `admin machine enroll`')
    .argument('<url>', 'Gateway URL: https://, or http:// for a gateway on this computer')
    .argument('<code>', 'Join code, which works once and expires after an hour')
    .option('--name <name>', 'Display name for this host at the gateway (default: its host name)')
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
}

function addRunCommand(program: Command): void {
  command(program, 'run', 'Run rented instances in the foreground; containers keep running after SIGTERM')
    .option(
      '--allow-fuse',
      'Allow containers to mount FUSE file systems, which gives renters the means to take over the host',
    )
    .action((options: AgentOptions) => run(readSettings(process.env, options)));
}

function addTryCommand(program: Command): void {
  command(program, 'try', 'Join a gateway on this computer with simulated GPUs, and run instances')
    .option('--url <url>', 'Gateway URL', 'http://127.0.0.1:4000')
    .option(
      '--image <name>',
      'Image to suggest, which must be on this host (default: nginx from Docker Hub, or the newest image on this host if there is no network)',
    )
    .optionsGroup('Simulated GPUs:')
    .option('--gpus <count>', 'Number of GPUs, 1 to 64', whole(1, 64), 1)
    .option('--gpu-name <name>', 'Model, as printed by nvidia-smi', 'NVIDIA GeForce RTX 4090')
    .option('--vram-gb <gb>', 'Memory per GPU in GB, 1 to 1024', whole(1, 1_024), 24)
    .action(async (options: AgentOptions & TryOptions) => {
      const { settings, engine } = await open(options);
      const { url, gpus: count, gpuName: name, vramGb, image = null } = options;
      await tryOut(settings, engine, { url, image, pretended: { count, name, vramMb: vramGb * MB_PER_GB } });
    });
}

/** Adds a command with the options shared by all commands. */
function command(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option(
      '--data-dir <dir>',
      'Directory that holds the machine token and the instance disks (default: /var/lib/gpu-agent for root, otherwise ~/.local/share/gpu-agent)',
    )
    .option(
      '--engine <socket>',
      "Docker or Podman socket (default: the first of /run/docker.sock, /run/podman/podman.sock and the user's own that responds)",
    );
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
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof UsageError || error instanceof NoEngine) {
    complain(error.message);
    return EXIT.usage;
  }
  if (error instanceof EngineFault) {
    complain(`the engine ${error.kind === 'unreachable' ? 'is not responding' : 'refused'}: ${error.message}`);
    return EXIT.failed;
  }
  if (error instanceof GatewayFault) {
    complain(error.kind === 'unreachable' ? `the gateway is not responding: ${error.message}` : error.message);
    return error.kind === 'unreachable' ? EXIT.noConnection : EXIT.failed;
  }
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : error}\n`);
  return EXIT.failed;
}

/** Prints the message on one line, even if arguments or responses contain line breaks. */
function complain(text: string): void {
  process.stderr.write(`gpu-agent: ${visible(text.trim().replace(/\s*\n\s*/g, ' '))}\n`);
}

/** Runs the command given by the arguments and returns its exit code. */
export function runCommand(): Promise<number> {
  return createProgram()
    .parseAsync()
    .then(() => EXIT.done, exitCodeOf);
}
