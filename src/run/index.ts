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

/** What a run is followed with; all of it may be left out. */
export interface FollowOptions {
  /** Where what `out` names is brought to; the working directory by default. */
  into?: string;
  /** The output as it comes, awaited before more is read; by default it goes to this process' own stdout and stderr. */
  onOutput?: (stream: 'stdout' | 'stderr', chunk: Buffer) => void | Promise<void>;
  /** What happens, in a line each: rented, sent, lost, reached again. */
  onStep?: (words: string) => void;
  /** Ends the run and destroys its instance, unless it is kept. */
  signal?: AbortSignal;
  /** Private key to log in with; by default a pair is made that opens this instance alone. */
  identity?: string;
}

/** What is run, and on which machine: the best that fits and has a host agent. */
export interface RunOptions extends Wanted, FollowOptions {
  /** Word by word; it runs in `/workspace`, without input. */
  command: readonly string[];
  /** Name, env, secrets, ports and registry login, as of GraphQL's LaunchInput. */
  launch?: Omit<RunLaunch, 'command' | 'entrypoint' | 'restart' | 'onExit'>;
  /** Folders that are sent: what is in `from`, to `to` below `/workspace`. */
  folders?: readonly Folder[];
  /** Paths below `/workspace` that are brought back, whatever the exit code. */
  out?: readonly string[];
  /** The instance is not destroyed at the end. */
  keep?: boolean;
  /** 1 to 604,800 seconds without a client after which the instance is stopped; 600 by default. */
  lingerSeconds?: number;
  /** Names this run, so that it is rented once however often it is asked for; random by default. */
  idempotencyKey?: string;
}

export interface RunEnded {
  id: string;
  /** Of the command; 128 + the signal's number where one killed it. */
  code: number;
}

/**
 * Does what `gpu run` does: rents, sends, runs, brings back, destroys. A lost connection loses nothing: it is taken up again for an
 * hour. Rejects with RunFailed, a GpuError, or the signal's reason; after RunFailed with an `instanceId` the command may go on there,
 * and `attach` finds it. Needs OpenSSH's client and tar on this computer.
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
  const itself = await Run.deploy(client, deployed, hooksOf(options, signal));
  let isBegun = false;
  return through(
    itself,
    signal,
    () => !isBegun,
    async () => {
      await itself.send(folders);
      isBegun = true;
      return itself.toTheEnd(options.into ?? process.cwd());
    },
  );
}

export interface AttachOptions extends FollowOptions {
  /** Paths below `/workspace` that are brought back to the same path, over what exists there. */
  out?: readonly string[];
}

/**
 * Follows a run that goes on or has ended, from its first byte, and ends it as `run` does; rejects as `run` does. What the run itself
 * brings back comes to a folder named after the instance where its path exists here.
 */
export async function attach(client: GpuClient, id: string, options: AttachOptions = {}): Promise<RunEnded> {
  const { signal = new AbortController().signal } = options;
  const out = checkOut(options.out ?? []);
  checkDestinations(out, options.into ?? process.cwd());
  const itself = await Run.find(client, id, out, hooksOf(options, signal));
  return through(
    itself,
    signal,
    () => false,
    async () => {
      await itself.mustHaveBegun();
      return itself.toTheEnd(options.into ?? process.cwd());
    },
  );
}

async function through(
  itself: Run,
  signal: AbortSignal,
  isNothingLost: () => boolean,
  use: () => Promise<number>,
): Promise<RunEnded> {
  try {
    await itself.open();
    return { id: itself.id, code: await use() };
  } catch (error) {
    if (isNothingLost() || (signal.aborted && !itself.isKept)) await itself.destroy();
    throw error;
  } finally {
    await itself.close();
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
