import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { GpuClient } from '../client/index.js';
import { checkFolders, type Folder } from '../run/files.js';
import { checkDestinations, checkOut } from '../run/paths.js';
import { Run, type RunHooks } from '../run/run.js';
import { visible } from '../std/visible.js';
import { collect } from './collect.js';
import { EXIT, Failure } from './failure.js';
import { type LaunchOptions, launchOf, withPlainLaunch } from './launch.js';
import { amount } from './market.js';
import { exitCodeOf } from './report.js';
import { describeRuntime, showRuntime } from './runtime.js';
import { openSession, type Session } from './session.js';
import { canPrompt, confirm, type Progress, paint, printLines } from './terminal.js';
import { type VolumeAtPath, volumeAtPath } from './volume-paths.js';

/**
 * Default number of seconds without a client before an instance is stopped. It applies both before the command begins
 * and after it has ended.
 */
const DEFAULT_LINGER = 600;
const MAX_LINGER = 604_800;
const SIGNAL_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
type Signal = keyof typeof SIGNAL_CODES;
const INTERRUPTED = 'interrupted; `gpu instances` lists your instances';

interface FollowOptions {
  identity?: string;
  quiet?: boolean;
}

interface RunCommandOptions extends FollowOptions, LaunchOptions {
  gpu?: string[];
  region?: string[];
  numMin?: number;
  maxPrice?: number;
  image?: string;
  diskGb?: number;
  interruptible?: boolean;
  volume?: (Folder | VolumeAtPath)[];
  out?: string[];
  keep?: boolean;
  detach?: boolean;
  linger?: number;
  idempotencyKey?: string;
}

export function addRunCommands(program: Command): void {
  const run = program
    .command('run')
    .argument('<command...>', 'Command and its arguments, after --; it runs in /workspace')
    .description('Rent the best machine, run a command on it, and destroy the instance')
    .option('--gpu <slug>', 'GPU model; repeatable, most preferred first (default: any)', collect)
    .option('--region <code>', 'Region; repeatable, most preferred first (default: any)', collect)
    .option('--num-min <n>', 'Minimum number of GPUs (default: 1)', amount)
    .option('--max-price <usd>', 'Maximum price for the whole machine, in USD per hour', amount)
    .option('--image <image>', 'OCI image with /bin/sh, or template slug (default: pytorch)')
    .option('--disk-gb <gb>', 'Disk size in GB (default: 50)', amount)
    .option('--interruptible', 'Pay half the price for a machine that can be preempted')
    .option(
      '-v, --volume <folder[:path]>',
      "Send a folder's content to /workspace or another path; v-1a2b3c4d:/data attaches a volume; repeatable",
      addFolder,
    )
    .option('--out <path>', 'Fetch this path under /workspace at the end; repeatable', collect)
    .option('--keep', 'Keep the instance at the end; it is billed until you destroy it')
    .option('-d, --detach', 'Exit once the command has started, and print only the instance id to stdout')
    .option(
      '--linger <seconds>',
      `Stop the instance after this long without a client, 1 to ${MAX_LINGER} s (default: ${DEFAULT_LINGER})`,
      seconds,
    )
    .option('--idempotency-key <key>', 'Idempotency key; repeated requests within 24 hours rent only once');
  withFollowing(withPlainLaunch(run)).action(runCommand);
  withFollowing(
    program
      .command('attach <instance>')
      .description('Follow a run from the start of its output, and finish it like `gpu run`')
      .option('--out <path>', 'Also fetch this path, overwriting local files; repeatable', collect),
  ).action(attach);
  program
    .command('wait <instance>')
    .description("Wait for a run's command to finish, and exit with its exit code")
    .option('-i, --identity <file>', 'Private key for SSH (default: a new one)')
    .action(waitFor);
}

function withFollowing(command: Command): Command {
  return command
    .option('-i, --identity <file>', 'Private key for SSH (default: a new one for this run)')
    .option('-q, --quiet', "Print only the command's output");
}

async function runCommand(words: string[], options: RunCommandOptions, command: Command): Promise<void> {
  const session = openSession(command, { needsKey: true });
  const given = options.volume ?? [];
  const folders = given.filter((each): each is Folder => 'from' in each);
  const volumes = given.filter((each): each is VolumeAtPath => 'id' in each);
  checkFolders(folders);
  const terms = { out: checkOut(options.out ?? []), keep: options.keep ?? false };
  checkDestinations(terms.out, process.cwd());
  const { registry_login: registryLogin, tcp_ports: tcpPorts, ...launch } = launchOf(options, []);
  const following = new Following(options);
  await following.through(
    session,
    (client, hooks) =>
      Run.deploy(
        client,
        {
          ...{ gpus: options.gpu, regions: options.region, numGpus: options.numMin, image: options.image },
          ...{ maxPricePerHour: options.maxPrice, diskGb: options.diskGb, isInterruptible: options.interruptible },
          ...(volumes.length > 0 && { volumes }),
          launch: {
            ...(launch as object),
            ...(registryLogin != null && { registryLogin }),
            ...(tcpPorts != null && { tcpPorts }),
          },
          patienceSeconds: options.linger ?? DEFAULT_LINGER,
          idempotencyKey: options.idempotencyKey,
          command: words,
          terms,
        },
        hooks,
      ),
    async (run) => {
      await run.send(folders);
      if (!options.detach) return following.toTheEnd(run);
      await run.begin();
      following.isDetached = true;
      printLines([run.id]);
      following.detached(run);
      return EXIT.done;
    },
  );
}

async function attach(id: string, options: FollowOptions & { out?: string[] }, command: Command): Promise<void> {
  const session = openSession(command, { needsKey: true });
  const out = checkOut(options.out ?? []);
  checkDestinations(out, process.cwd());
  const following = new Following(options);
  following.isBegun = true;
  await following.through(
    session,
    (client, hooks) => Run.find(client, id, out, hooks),
    async (run) => {
      await run.mustHaveBegun();
      return following.toTheEnd(run);
    },
  );
}

async function waitFor(id: string, options: FollowOptions, command: Command): Promise<void> {
  const session = openSession(command, { needsKey: true });
  const known = async () => (await session.request((client) => Run.codeOf(client, id))).body;
  let code = await known();
  if (code === null) {
    const following = new Following({ ...options, quiet: true });
    following.isDetached = true;
    try {
      return await following.through(
        session,
        (client, hooks) => Run.watch(client, id, hooks),
        (run) => run.code(),
      );
    } catch (error) {
      // Another client may have fetched the results and destroyed the instance between two polls.
      code = await known().catch(() => null);
      if (code === null) throw error;
    }
  }
  process.exitCode = code;
}

/** Follows a run until it ends, or until a signal ends this client. */
class Following {
  /** Whether the command may have begun, in which case destroying its instance would lose results. */
  isBegun = false;
  /** Whether the instance continues even without this client. */
  isDetached = false;
  readonly #options: FollowOptions;
  readonly #ending = new AbortController();
  #progress: Progress | null = null;
  #run: Run | null = null;
  #isPrompting = false;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  async through(
    session: Session,
    begin: (client: GpuClient, hooks: RunHooks) => Promise<Run>,
    use: (run: Run) => Promise<number>,
  ): Promise<void> {
    const onSignal = (name: Signal) => void this.#end(name);
    for (const name of Object.keys(SIGNAL_CODES) as Signal[]) process.on(name, onSignal);
    try {
      const { body: run } = await session.request((client) => begin(client, this.#hooks()), true);
      this.#run = run;
      await run.open();
      this.#progress?.end();
      process.exitCode = await use(run);
    } catch (error) {
      await this.#afterFault(error);
    } finally {
      this.#progress?.end();
      await this.#run?.close();
      for (const name of Object.keys(SIGNAL_CODES) as Signal[]) process.off(name, onSignal);
    }
  }

  /** Waits for the output, the files and the exit code, then destroys the instance. */
  async toTheEnd(run: Run): Promise<number> {
    this.isBegun = true;
    const code = await run.toTheEnd(process.cwd());
    this.#report(`exit code ${code}; ${run.id} ${run.isKept ? 'is kept and billed' : 'has been destroyed'}`);
    return code;
  }

  detached(run: Run): void {
    this.#report(`${run.id} continues; \`gpu attach ${run.id}\` follows it`);
  }

  #hooks(): RunHooks {
    const { identity } = this.#options;
    return {
      signal: this.#ending.signal,
      onStep: (message) => this.#report(message),
      onRuntime: (runtime) => {
        if (!this.#options.quiet) this.#progress = showRuntime(this.#progress, runtime);
      },
      describe: describeRuntime,
      onOutput: (stream, chunk) => new Promise((resolve) => void process[stream].write(chunk, () => resolve())),
      identity: identity === undefined ? undefined : resolve(identity),
    };
  }

  /** Decides whether a signal ends only this client, or the command as well. */
  async #end(name: Signal): Promise<void> {
    const run = this.#run;
    if (this.#ending.signal.aborted && run === null) {
      process.stderr.write(`gpu: ${INTERRUPTED}\n`);
      process.exit(SIGNAL_CODES[name]);
    }
    if (this.#isPrompting || this.#ending.signal.aborted) return;
    if (run === null && !this.isBegun)
      this.#report("waiting for the service's response before destroying the instance");
    const isKept = this.isBegun && (run === null || run.isKept || name === 'SIGHUP');
    let isDestroyed = !this.isDetached && !isKept;
    if (isDestroyed && this.isBegun && run !== null && name === 'SIGINT' && canPrompt()) {
      this.#isPrompting = true;
      isDestroyed = await confirm(`\nDestroy ${run.id} and its results? Otherwise it continues.`).catch(() => false);
    }
    this.#ending.abort(new Ended(name, isDestroyed));
  }

  async #afterFault(error: unknown): Promise<void> {
    const run = this.#run;
    const ended = error instanceof Ended ? error : null;
    if (ended !== null) process.exitCode = SIGNAL_CODES[ended.signal];
    // The command hasn't begun, so nothing is lost.
    const isOver = ended?.isDestroyed ?? (!this.isBegun && !this.isDetached);
    if (run === null) {
      if (ended !== null) throw new Failure(SIGNAL_CODES[ended.signal], INTERRUPTED);
      throw error;
    }
    if (isOver) {
      try {
        // The reason comes first, followed by its consequence.
        this.#progress?.end();
        if (ended === null) process.exitCode = exitCodeOf(error);
      } finally {
        await run.destroy();
        this.#report(`${run.id} has been destroyed`);
      }
      return;
    }
    if (ended === null) throw error;
    this.detached(run);
  }

  #report(message: string): void {
    this.#progress?.end();
    this.#progress = null;
    if (!this.#options.quiet) process.stderr.write(`${paint(process.stderr, 'dim', `gpu: ${visible(message)}`)}\n`);
  }
}

/** Thrown when the client is terminated by a signal. */
class Ended extends Error {
  constructor(
    readonly signal: Signal,
    readonly isDestroyed: boolean,
  ) {
    super(signal);
  }
}

function addFolder(text: string, before: (Folder | VolumeAtPath)[] = []): (Folder | VolumeAtPath)[] {
  const volume = volumeAtPath(text);
  if (volume !== undefined) return [...before, volume];
  const [, from, to] = /^(.+?)(?::(\/[^:]*|[^:\\/][^:]*))?$/s.exec(text) ?? [];
  if (from === undefined) throw new InvalidArgumentError('must be FOLDER or FOLDER:PATH.');
  return [...before, { from, to: to ?? '/workspace' }];
}

function seconds(text: string): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= 1 && value <= MAX_LINGER) return value;
  throw new InvalidArgumentError(`must be a whole number of seconds from 1 to ${MAX_LINGER}.`);
}
