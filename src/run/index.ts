import { randomUUID } from 'node:crypto';
import type { GpuClient, Runtime } from '../client/index.js';
import { checkFolders, type Folder } from './files.js';
import { checkDestinations, checkOut } from './paths.js';
import { Run, type RunHooks } from './run.js';
import type { RunLaunch, Wanted } from './service.js';

export { RunFailed } from './failure.js';
export type { Folder } from './files.js';

/** Seconds without a client after which the instance of a run is stopped. */
const LINGER_SECONDS = 600;

/** Options for following a run; all are optional. */
export interface FollowOptions {
  /** Where the paths in `out` are fetched to; the working directory by default. */
  into?: string;
  /**
   * Receives output as it arrives, and is awaited before more is read; by default, output goes to stdout and stderr of
   * this process.
   */
  onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;
  /** Receives progress, one line each: rented, sent, lost, reconnected. */
  onStep?: (message: string) => void;
  /** Ends the run and destroys its instance, unless it is kept. */
  signal?: AbortSignal;
  /** Private key for login; by default, a key pair is created that opens only this instance. */
  identity?: string;
}

/** The command to run, and its machine: the best match with a host agent. */
export interface RunOptions extends Wanted, FollowOptions {
  /** Command and its arguments; it runs in `/workspace`, without input. */
  command: readonly string[];
  /** Name, env, secrets, ports and registry login, as in GraphQL's LaunchInput. */
  launch?: Omit<RunLaunch, 'command' | 'entrypoint' | 'restart' | 'onExit'>;
  /** Folders to send: the content of `from`, to `to` below `/workspace`. */
  folders?: readonly Folder[];
  /** Paths below `/workspace` to fetch, regardless of the exit code. */
  out?: readonly string[];
  /** Whether to keep the instance at the end. */
  keep?: boolean;
  /** 1 to 604,800 seconds without a client after which the instance is stopped; 600 by default. */
  lingerSeconds?: number;
  /** Identifies this run, so that repeating it rents only once; random by default. */
  idempotencyKey?: string;
}

export interface RunEnded {
  id: string;
  /** Exit code of the command; 128 + the signal's number if one killed it. */
  code: number;
}

/**
 * Rents, sends, runs, fetches and destroys, like `gpu run`. After a lost connection, it retries for an hour, and loses
 * nothing. Rejects with RunFailed, a GpuError, or the signal's reason. After RunFailed with an `instanceId`, the
 * command may continue there; follow it with `attach`. Needs OpenSSH's client and tar on this computer.
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
  /** Paths below `/workspace` to fetch to the same path here, overwriting existing files. */
  out?: readonly string[];
}

/**
 * Follows a run from the start of its output, whether it continues or has ended, and finishes it like `run`; rejects
 * like `run`. The run's own results go to a folder named after the instance if their path exists here.
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
