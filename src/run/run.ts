import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GpuClient, GpuConnectionError, type Runtime } from '../client/index.js';
import { Connection, ended } from './connection.js';
import { RunFailed } from './failure.js';
import { type Folder, fetchPath, type Outcome, type Remote, send } from './files.js';
import { type Fetched, toSafePlace, toSamePlace } from './paths.js';
import { entrypointOf, type RunTerms, remote, termsOf } from './scripts.js';
import {
  addKey,
  deployBest,
  destroy,
  type Rented,
  type RunLaunch,
  readInstance,
  removeKey,
  type Wanted,
} from './service.js';
import { untilRunning } from './wait.js';

export interface RunOptions extends Wanted {
  command: readonly string[];
  launch?: RunLaunch;
  terms: RunTerms;
  /**
   * Seconds without a client after which the instance is stopped. It applies before the command begins and after it has
   * ended.
   */
  patienceSeconds: number;
  idempotencyKey?: string | undefined;
}

export interface RunHooks {
  /** Receives progress messages of one line each. */
  onStep(message: string): void;
  /** Called while the container starts. */
  onRuntime?(runtime: Runtime): void;
  describe(runtime: Runtime): string;
  /** Receives output, and is awaited before more is read. */
  onOutput(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** When aborted, ends this client, while the command continues. */
  signal: AbortSignal;
  /** Private key for logging in. By default, a key pair is created for the run. */
  identity?: string | undefined;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** Time without a connection after which a client abandons a run. The command continues. */
const ABANDONED_AFTER_MS = 3_600_000;
/** Maximum time to wait for the service to receive the exit code. Afterwards, the instance is destroyed without it. */
const EXIT_CODE_TIMEOUT_MS = 10_000;
const POLL_EVERY_MS = 150;
/** Maximum number of omitted entries to name in a message. */
const MAX_NAMED = 5;

/** A command on a dedicated instance, as seen by a client that follows it. */
export class Run {
  readonly id: string;
  readonly #client: GpuClient;
  readonly #hooks: RunHooks;
  readonly #terms: RunTerms;
  readonly #connection = new Connection();
  readonly #ready = new Deferred<Remote>();
  readonly #code = new Deferred<number>();
  /** Rejects when this client ends early. */
  readonly #over = new Deferred<never>();
  /** Paths requested by this client, or null if it started the run and therefore requested all of them. */
  readonly #named: readonly string[] | null;
  #keyId: string | null = null;
  #isClosed = false;
  #isLost = false;

  private constructor(
    client: GpuClient,
    id: string,
    terms: RunTerms,
    hooks: RunHooks,
    named: readonly string[] | null = null,
  ) {
    this.#named = named;
    this.#client = client;
    this.id = id;
    this.#terms = terms;
    this.#hooks = hooks;
    for (const { promise } of [this.#ready, this.#code, this.#over]) promise.catch(() => {});
    const { signal } = hooks;
    const onAbort = () => this.#over.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
  }

  /** Rents the best machine for the command. */
  static async deploy(client: GpuClient, options: RunOptions, hooks: RunHooks): Promise<Run> {
    const { command, terms, patienceSeconds, launch, idempotencyKey = randomUUID() } = options;
    const whole: RunLaunch = {
      ...launch,
      entrypoint: entrypointOf(terms, terms.keep ? 0 : patienceSeconds),
      command,
      restart: 'NEVER',
      onExit: terms.keep ? 'KEEP' : 'STOP',
    };
    // The signal doesn't abort this call, because the rental's id is needed to destroy it.
    const rented = await deployBest(client, options, whole, idempotencyKey);
    hooks.onStep(describeRented(rented));
    return new Run(client, rented.id, terms, hooks);
  }

  /**
   * Finds a run that any client started, and starts its instance again if it was stopped at the end. `out` contains
   * further paths to fetch, overwriting existing files.
   */
  static async find(client: GpuClient, id: string, out: readonly string[], hooks: RunHooks): Promise<Run> {
    const { status, launch } = await readInstance(client, id, hooks.signal);
    const terms = termsOf(launch?.entrypoint);
    if (terms === null)
      throw new RunFailed(`${id} was not started by \`gpu run\`; \`gpu logs -f ${id}\` shows its output`, id);
    if (status === 'DESTROYED') throw new RunFailed(`${id} has been destroyed`);
    if (status === 'STOPPED') {
      hooks.onStep(`${id} was stopped; starting it to fetch its results`);
      await client.instances.action(id, 'start', { signal: hooks.signal });
    }
    return new Run(client, id, terms, hooks, out);
  }

  /** Follows a run in progress without starting its instance. */
  static async watch(client: GpuClient, id: string, hooks: RunHooks): Promise<Run> {
    const { status, launch } = await readInstance(client, id, hooks.signal);
    if (status !== 'RUNNING') throw new RunFailed(`${id} is ${status.toLowerCase()}`, id);
    return new Run(client, id, termsOf(launch?.entrypoint) ?? { out: [], keep: true }, hooks);
  }

  /**
   * Returns the exit code of a run whose container has ended, even if the instance is destroyed. Returns null while the
   * container is running.
   */
  static async codeOf(client: GpuClient, id: string): Promise<number | null> {
    const { status, runtime, launch } = await readInstance(client, id);
    if (termsOf(launch?.entrypoint) === null) throw new RunFailed(`${id} was not started by \`gpu run\``, id);
    if (status === 'RUNNING' && runtime?.phase !== 'EXITED') return null;
    if (runtime?.exitCode == null)
      throw new RunFailed(`${id} is ${status.toLowerCase()}, and its exit code is unknown`, id);
    return runtime.exitCode;
  }

  /** Waits until the instance's container is running, and connects to it. */
  async open(): Promise<void> {
    const { identity, describe, onRuntime, signal } = this.#hooks;
    const { ssh } = await readInstance(this.#client, this.id, signal);
    if (ssh === null) throw new RunFailed("this service doesn't offer SSH, which runs need", this.id);
    if (identity === undefined) {
      const publicKey = await this.#connection.makeKey(`gpu run ${this.id}`);
      this.#keyId = await addKey(this.#client, publicKey, this.id);
    }
    this.#connection.use(ssh, identity);
    if (!(await untilRunning(this.#client, this.id, { describe, onRuntime, signal })))
      throw new RunFailed(`${this.id} has no container: its machine has no host agent`, this.id);
    this.#watch().catch((error) => this.#over.reject(error));
    await this.#unlessOver(this.#ready.promise);
  }

  /** Throws RunFailed if the run's files were never sent completely. */
  async mustHaveBegun(): Promise<void> {
    if ((await this.#ready.promise).hasBegun) return;
    throw new RunFailed(
      `${this.id} never received its files; run \`gpu destroy ${this.id}\`, then repeat the run`,
      this.id,
    );
  }

  async send(folders: readonly Folder[]): Promise<void> {
    const remoteSide = await this.#ready.promise;
    for (const folder of folders) {
      await this.#untilDone(() => send(this.#connection, folder, remoteSide));
      this.#hooks.onStep(`sent ${folder.from} to ${folder.to}`);
    }
  }

  /**
   * Starts the command unless it has already started, and passes on its output from the first byte. Resolves to its
   * exit code.
   */
  async #follow(): Promise<number> {
    const all = Promise.all([this.#code.promise, this.#pass('stdout', 'out'), this.#pass('stderr', 'err')]);
    const [code] = await this.#unlessOver(all);
    return code;
  }

  /** Starts the command. */
  async begin(): Promise<void> {
    await this.#untilDone(async () => {
      const code = await ended(this.#connection.ssh(remote('begin'), 'ignore'));
      return code === 0 ? 'done' : 'lost';
    });
  }

  /** Resolves to the exit code once it is known. */
  code(): Promise<number> {
    return this.#unlessOver(this.#code.promise);
  }

  async #fetchResults(into: string): Promise<void> {
    for (const fetched of this.#destinations(into)) {
      const { path, to } = fetched;
      const onOmitted = (omitted: readonly string[]) => {
        if (omitted.length > 0) this.#hooks.onStep(describeOmitted(path, omitted));
      };
      const outcome = await this.#untilDone(() => fetchPath(this.#connection, fetched, into, onOmitted)).catch(
        (error) => {
          throw this.#withInstance(error);
        },
      );
      const where = to === path ? '' : ` to ${to}, because attaching overwrites only paths of --out`;
      this.#hooks.onStep(outcome === 'done' ? `fetched ${path}${where}` : `${path} does not exist; nothing to fetch`);
    }
  }

  /** Adds the instance's id to the error, because that instance still has the results. */
  #withInstance(error: unknown): unknown {
    if (!(error instanceof RunFailed) || error.instanceId !== null) return error;
    return new RunFailed(
      `${error.message}; ${this.id} still has the results: \`gpu attach ${this.id}\` fetches them`,
      this.id,
    );
  }

  #destinations(into: string): Fetched[] {
    const named = this.#named;
    if (named === null) return toSamePlace(this.#terms.out);
    const others = this.#terms.out.filter((path) => !named.includes(path));
    return [...toSamePlace(named), ...toSafePlace(others, this.id, into)];
  }

  get isKept(): boolean {
    return this.#terms.keep;
  }

  /** Waits for the output, the files and the exit code, and then destroys the instance unless it is kept. */
  async toTheEnd(into: string): Promise<number> {
    const code = await this.#follow();
    await this.#fetchResults(into);
    if (!this.isKept) await this.#finish();
    return code;
  }

  /**
   * Destroys the instance at the end of the run. Another client may be waiting and poll only later, so the container is
   * first allowed to end, which reports the exit code to the service.
   */
  async #finish(): Promise<void> {
    this.#isClosed = true;
    const stop = new AbortController();
    const { signal } = stop;
    const timeout = sleep(EXIT_CODE_TIMEOUT_MS, undefined, { signal }).catch(() => {});
    // The poll and the timer are both stopped afterwards, because a pending timer would keep the process alive.
    await this.#unlessOver(Promise.race([this.#storeCode(signal).catch(() => {}), timeout])).finally(() =>
      stop.abort(),
    );
    await this.destroy();
  }

  async #storeCode(signal: AbortSignal): Promise<void> {
    if ((await ended(this.#connection.ssh(remote('end'), 'ignore'))) !== 0) return;
    while (!signal.aborted && (await Run.codeOf(this.#client, this.id)) === null) await sleep(POLL_EVERY_MS);
  }

  async destroy(): Promise<void> {
    await destroy(this.#client, this.id);
    this.#keyId = null;
  }

  /** Ends this client and removes its key. If the key can't be removed now, it is removed with the instance. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connection.close();
    if (this.#keyId !== null) await removeKey(this.#client, this.#keyId).catch(() => {});
  }

  /** Notifies the container that a client is connected, and receives the exit code. */
  async #watch(): Promise<void> {
    for (const failures = new Failures(); !this.#isClosed; ) {
      const child = this.#connection.ssh(remote('watch'), ['pipe', 'pipe', 'ignore']);
      const over = ended(child);
      over.catch(() => {});
      for await (const line of createInterface({ input: child.stdout! })) {
        failures.reset();
        this.#reconnected();
        this.#receive(line);
      }
      await over;
      await this.#beforeNextAttempt(failures);
    }
  }

  #receive(line: string): void {
    const [kind, value = '', begun, ...rest] = line.split(' ');
    if (kind === 'ready')
      this.#ready.resolve({ hasRsync: value === 'yes', hasBegun: begun === 'yes', workspace: rest.join(' ') });
    if (kind === 'code' && /^\d{1,3}$/.test(value)) this.#code.resolve(Number(value));
  }

  async #pass(stream: 'stdout' | 'stderr', name: 'out' | 'err'): Promise<void> {
    let at = 0;
    for (const failures = new Failures(); !this.#isClosed; ) {
      const child = this.#connection.ssh(remote('follow', name, String(at)), ['ignore', 'pipe', 'ignore']);
      const over = ended(child);
      over.catch(() => {});
      for await (const chunk of child.stdout!) {
        at += chunk.length;
        failures.reset();
        await this.#hooks.onOutput(stream, chunk);
      }
      if ((await over) === 0) return;
      await this.#beforeNextAttempt(failures);
    }
  }

  async #untilDone(attempt: () => Promise<Outcome>): Promise<Outcome> {
    for (const failures = new Failures(); ; ) {
      const outcome = await this.#unlessOver(attempt());
      if (outcome !== 'lost') return outcome;
      await this.#unlessOver(this.#beforeNextAttempt(failures));
    }
  }

  /** Called when a connection has ended. Rejects if there is nothing left to connect to. */
  async #beforeNextAttempt(failures: Failures): Promise<void> {
    if (this.#isClosed || this.#hooks.signal.aborted) return;
    try {
      const { status, stopReason, runtime } = await readInstance(this.#client, this.id);
      if (status !== 'RUNNING') throw new RunFailed(whyStopped(this.id, status, stopReason), this.id);
      if (runtime?.phase === 'EXITED' || runtime?.phase === 'FAILED') {
        const reason = `${this.id}'s container ended with ${runtime.exitCode ?? 'no exit code'}`;
        throw new RunFailed(`${reason}; \`gpu attach ${this.id}\` fetches its results`, this.id);
      }
    } catch (error) {
      if (!(error instanceof GpuConnectionError)) throw error;
    }
    if (failures.count > 0 && !this.#isLost) {
      this.#isLost = true;
      this.#hooks.onStep(
        `lost the connection to ${this.id}; the command continues, and this program reconnects as soon as it can`,
      );
    }
    if (failures.isHopeless)
      throw new RunFailed(`${this.id} can't be reached; run \`gpu attach ${this.id}\` to reconnect`, this.id);
    await sleep(failures.next());
  }

  #reconnected(): void {
    if (this.#isLost) this.#hooks.onStep(`reconnected to ${this.id}`);
    this.#isLost = false;
  }

  #unlessOver<T>(done: Promise<T>): Promise<T> {
    return Promise.race([done, this.#over.promise]);
  }
}

class Deferred<T> {
  resolve!: (value: T) => void;
  reject!: (reason: unknown) => void;
  readonly promise = new Promise<T>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

/** Counts consecutive failed attempts and measures how long they have lasted. */
class Failures {
  count = 0;
  #sinceMs = 0;

  reset(): void {
    this.count = 0;
  }

  get isHopeless(): boolean {
    return this.count > 0 && performance.now() - this.#sinceMs > ABANDONED_AFTER_MS;
  }

  /** Returns the milliseconds until the next attempt. */
  next(): number {
    if (this.count === 0) this.#sinceMs = performance.now();
    this.count += 1;
    return Math.min(FIRST_PAUSE_MS * 2 ** (this.count - 1), LONGEST_PAUSE_MS);
  }
}

function describeRented({ id, numGpus, gpu, region, priceHr }: Rented): string {
  return `${id} is rented: ${numGpus} x ${gpu} in ${region}, ${priceHr} USD per hour`;
}

function describeOmitted(path: string, omitted: readonly string[]): string {
  const more = omitted.length > MAX_NAMED ? ` and ${omitted.length - MAX_NAMED} more` : '';
  const names = `${omitted.slice(0, MAX_NAMED).join(', ')}${more}`;
  return `omitted ${names}: only files, folders and links within ${path} are fetched`;
}

function whyStopped(id: string, status: string, reason: string | null): string {
  if (status === 'DESTROYED') return `${id} was destroyed`;
  const why = reason === null ? '' : ` (${reason.toLowerCase().replaceAll('_', ' ')})`;
  return `${id} was stopped${why}; its disk is kept; \`gpu attach ${id}\` fetches its results`;
}
