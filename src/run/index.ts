import { randomUUID } from 'node:crypto';
import type { GpuClient, Runtime } from '../client/index.js';
import { checkFolders, type Folder } from './files.js';
import { checkDestinations, checkOut } from './paths.js';
import { Run, type RunHooks } from './run.js';
import type { RunLaunch, Wanted } from './service.js';

export { RunFailed } from './failure.js';
export type { Folder } from './files.js';

/** Seconds without a client after which a run's instance is stopped. */
const LINGER_SECONDS = 600;

/** Options for following a run. */
export interface FollowOptions {
  /** Folder to fetch the paths in `out` to. Defaults to the working directory. */
  into?: string;
  /**
   * Receives output as it arrives, and is awaited before more is read. By default, output goes to this process's stdout
   * and stderr.
   */
  onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;
  /** Receives progress messages of one line each: rented, sent, lost, reconnected. */
  onStep?: (message: string) => void;
  /** When aborted, ends the run and destroys its instance, unless the instance is kept. */
  signal?: AbortSignal;
  /** Private key for logging in. By default, a key pair is created that gives access only to this instance. */
  identity?: string;
}

/** The command to run, and the requirements for its machine. The best matching machine with a host agent is rented. */
export interface RunOptions extends Wanted, FollowOptions {
  /** The command and its arguments. It runs in `/workspace`, without input. */
  command: readonly string[];
  /** Name, env, secrets, ports and registry login, in the form of GraphQL's LaunchInput. */
  launch?: Omit<RunLaunch, 'command' | 'entrypoint' | 'restart' | 'onExit'>;
  /** Folders to send. The content of `from` is copied to `to`, under `/workspace`. */
  folders?: readonly Folder[];
  /** Paths under `/workspace` to fetch, regardless of the exit code. */
  out?: readonly string[];
  /** Whether to keep the instance at the end. */
  keep?: boolean;
  /** Seconds without a client, from 1 to 604,800, after which the instance is stopped. Defaults to 600. */
  lingerSeconds?: number;
  /** Identifies this run, so that repeating it doesn't rent a second instance. Defaults to a random key. */
  idempotencyKey?: string;
}

export interface RunEnded {
  id: string;
  /** The command's exit code, or 128 plus the signal's number if a signal killed it. */
  code: number;
}

/**
 * Rents an instance, sends the folders, runs the command, fetches the results and destroys the instance, like `gpu
 * run`. After a lost connection, it retries for an hour without losing any output or results. Rejects with RunFailed, a
 * GpuError, or the signal's reason. If a RunFailed has an `instanceId`, the command may still be running there, and
 * `attach` can follow it. Requires OpenSSH's client and tar on this computer.
 */
export async function run(client: GpuClient, options: RunOptions): Promise<RunEnded> {
  const { folders = [], out = [], keep = false, lingerSeconds = LINGER_SECONDS, ...rest } = options;
  checkFolders(folders);
  const { signal = new AbortController().signal } = options;
  signal.throwIfAborted();
  const terms = { out: checkOut(out), keep };
  checkDestinations(terms.out, options.into ?? process.cwd());
  const deployed = {
    ...rest,
    terms,
    patienceSeconds: lingerSeconds,
    idempotencyKey: options.idempotencyKey ?? randomUUID(),
  };
  const run = await Run.deploy(client, deployed, hooksOf(options, signal));
  let isBegun = false;
  return follow(
    run,
    signal,
    () => !isBegun,
    async () => {
      await run.send(folders);
      isBegun = true;
      return run.toTheEnd(options.into ?? process.cwd());
    },
  );
}

export interface AttachOptions extends FollowOptions {
  /** Paths under `/workspace` to fetch to the same path on this computer, overwriting existing files. */
  out?: readonly string[];
}

/**
 * Follows a run from the start of its output, whether it is still running or has ended, and finishes it like `run`.
 * Rejects with the same errors as `run`. If one of the run's own result paths already exists on this computer, it is
 * fetched into a folder named after the instance instead.
 */
export async function attach(client: GpuClient, id: string, options: AttachOptions = {}): Promise<RunEnded> {
  const { signal = new AbortController().signal } = options;
  const out = checkOut(options.out ?? []);
  checkDestinations(out, options.into ?? process.cwd());
  const run = await Run.find(client, id, out, hooksOf(options, signal));
  return follow(
    run,
    signal,
    () => false,
    async () => {
      await run.mustHaveBegun();
      return run.toTheEnd(options.into ?? process.cwd());
    },
  );
}

async function follow(
  run: Run,
  signal: AbortSignal,
  canDestroy: () => boolean,
  use: () => Promise<number>,
): Promise<RunEnded> {
  try {
    await run.open();
    return { id: run.id, code: await use() };
  } catch (error) {
    if (canDestroy() || (signal.aborted && !run.isKept)) await run.destroy();
    throw error;
  } finally {
    await run.close();
  }
}

function hooksOf({ onOutput, onStep = () => {}, identity }: FollowOptions, signal: AbortSignal): RunHooks {
  return {
    signal,
    identity,
    onStep,
    describe: ({ phase, message }: Runtime) => [phase.toLowerCase(), ...(message === null ? [] : [message])].join(', '),
    onOutput: async (stream, chunk) => {
      if (onOutput !== undefined) return onOutput(stream, chunk);
      await new Promise<void>((resolve) => void process[stream].write(chunk, () => resolve()));
    },
  };
}
