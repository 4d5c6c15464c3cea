import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type GpuClient, GpuConnectionError, type Runtime } from '../client/index.js';
import { Connection, ended } from './connection.js';
import { RunFailed } from './failure.js';
import { bringBack, type Folder, type Outcome, type Place, send } from './files.js';
import { type Fetched, toSafePlace, toSamePlace } from './paths.js';
import { entrypointOf, type RunTerms, remote, termsOf } from './scripts.js';
import { addKey, deployBest, destroy, type Rented, type RunLaunch, removeKey, see, type Wanted } from './service.js';
import { untilRunning } from './wait.js';

export interface RunOptions extends Wanted {
  command: readonly string[];
  launch?: RunLaunch;
  terms: RunTerms;
  /** Seconds that the instance waits for a client before it is stopped: before the command begins, and after it has ended. */
  patienceSeconds: number;
  idempotencyKey?: string | undefined;
}

export interface RunHooks {
  /** Receives progress, one line each. */
  onStep(words: string): void;
  /** Called while the container starts. */
  onRuntime?(runtime: Runtime): void;
  describe(runtime: Runtime): string;
  /** Awaited before more is read. */
  onOutput(stream: 'stdout' | 'stderr', chunk: Buffer): Promise<void>;
  /** Ends the client's part. The command continues. */
  signal: AbortSignal;
  /** Private key for login; if omitted, a key pair is created for the run. */
  identity?: string | undefined;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** A run is abandoned when the service has not answered for this long; its command continues. */
const GIVES_UP_AFTER_MS = 3_600_000;
/** How long the service may take to receive the exit code, before the instance is destroyed without it. */
const CODE_IS_KEPT_WITHIN_MS = 10_000;
const LOOKS_AGAIN_MS = 150;
/** Maximum names of omitted entries that are shown. */
const SHOWN_LEFT_OUT = 5;

/** A command on a dedicated instance, as a client follows it. */
export class Run {
  readonly id: string;
  readonly #client: GpuClient;
  readonly #hooks: RunHooks;
  readonly #terms: RunTerms;
  readonly #connection = new Connection();
  readonly #ready = new Deferred<Place>();
  readonly #code = new Deferred<number>();
  /** Rejects when the client's part ends early. */
  readonly #over = new Deferred<never>();
  /** Paths that the client names itself; null if it started the run, and so named all. */
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
    // Not ended by the signal, because the rental must be known in order to be destroyed.
    const rented = await deployBest(client, options, whole, idempotencyKey);
    hooks.onStep(describeRented(rented));
    return new Run(client, rented.id, terms, hooks);
  }

  /**
   * Finds a run that was started before, from any client. An instance that was stopped at its end is restarted. `out`:
   * further paths to fetch, overwriting existing files.
   */
  static async find(client: GpuClient, id: string, out: readonly string[], hooks: RunHooks): Promise<Run> {
    const { status, launch } = await see(client, id, hooks.signal);
    const terms = termsOf(launch?.entrypoint);
    if (terms === null) throw new RunFailed(`${id} is not of \`gpu run\`: \`gpu logs -f ${id}\` shows its output`, id);
    if (status === 'DESTROYED') throw new RunFailed(`${id} is destroyed`);
    if (status === 'STOPPED') {
      hooks.onStep(`${id} was stopped; it is started to fetch what it has`);
      await client.instances.action(id, 'start', { signal: hooks.signal });
    }
    return new Run(client, id, terms, hooks, out);
  }

  /** Follows a running run. Starts nothing. */
  static async watch(client: GpuClient, id: string, hooks: RunHooks): Promise<Run> {
    const { status, launch } = await see(client, id, hooks.signal);
    if (status !== 'RUNNING') throw new RunFailed(`${id} is ${status.toLowerCase()}`, id);
    return new Run(client, id, termsOf(launch?.entrypoint) ?? { out: [], keep: true }, hooks);
  }

  /** Returns the exit code of a run whose container has ended, destroyed or not; null while it exists. */
  static async codeOf(client: GpuClient, id: string): Promise<number | null> {
    const { status, runtime, launch } = await see(client, id);
    if (termsOf(launch?.entrypoint) === null) throw new RunFailed(`${id} is not of \`gpu run\``, id);
    if (status === 'RUNNING' && runtime?.phase !== 'EXITED') return null;
    if (runtime?.exitCode == null)
      throw new RunFailed(`${id} is ${status.toLowerCase()}, and its exit code is not known`, id);
    return runtime.exitCode;
  }

  /** Waits until its container runs, and connects. */
  async open(): Promise<void> {
    const { identity, describe, onRuntime, signal } = this.#hooks;
    const { ssh } = await see(this.#client, this.id, signal);
    if (ssh === null) throw new RunFailed('this service offers no SSH, which runs need', this.id);
    if (identity === undefined) {
      const publicKey = await this.#connection.makeKey(`gpu run ${this.id}`);
      this.#keyId = await addKey(this.#client, publicKey, this.id);
    }
    this.#connection.use(ssh, identity);
    if (!(await untilRunning(this.#client, this.id, { describe, onRuntime, signal })))
      throw new RunFailed(`nothing runs for ${this.id}: its machine has no host agent`, this.id);
    this.#watch().catch((error) => this.#over.reject(error));
    await this.#unlessOver(this.#ready.promise);
  }

  /** Refuses with RunFailed if its files were never completely sent. */
  async mustHaveBegun(): Promise<void> {
    if ((await this.#ready.promise).hasBegun) return;
    throw new RunFailed(`${this.id} never got its files: \`gpu destroy ${this.id}\`, and run it again`, this.id);
  }

  async send(folders: readonly Folder[]): Promise<void> {
    const place = await this.#ready.promise;
    for (const folder of folders) {
      await this.#untilDone(() => send(this.#connection, folder, place));
      this.#hooks.onStep(`sent ${folder.from} to ${folder.to}`);
    }
  }

  /**
   * Starts the command unless it has started, and passes its output on from the first byte; resolves to its exit code.
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

  /** Resolves to the exit code when there is one. */
  code(): Promise<number> {
    return this.#unlessOver(this.#code.promise);
  }

  async #bringBack(into: string): Promise<void> {
    for (const fetched of this.#destinations(into)) {
      const { path, to } = fetched;
      const onLeftOut = (left: readonly string[]) => {
        if (left.length > 0) this.#hooks.onStep(describeLeftOut(path, left));
      };
      const outcome = await this.#untilDone(() => bringBack(this.#connection, fetched, into, onLeftOut)).catch(
        (error) => {
          throw this.#stillHolding(error);
        },
      );
      const where = to === path ? '' : ` to ${to}: attaching changes nothing that exists here unless --out names it`;
      this.#hooks.onStep(outcome === 'done' ? `brought ${path} back${where}` : `there is no ${path} to bring back`);
    }
  }

  #stillHolding(error: unknown): unknown {
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

  /** Waits for output, files and exit code; then destroys the instance unless it is kept. */
  async toTheEnd(into: string): Promise<number> {
    const code = await this.#follow();
    await this.#bringBack(into);
    if (!this.isKept) await this.#finish();
    return code;
  }

  /**
   * Destroys it at its end. Another waiting client may check only afterwards, so the service first receives the exit
   * code, by the end of the container.
   */
  async #finish(): Promise<void> {
    this.#isClosed = true;
    const enough = new AbortController();
    const { signal } = enough;
    const late = sleep(CODE_IS_KEPT_WITHIN_MS, undefined, { signal }).catch(() => {});
    // Neither may continue afterwards: a pending timer would keep the process alive.
    await this.#unlessOver(Promise.race([this.#leaveCode(signal).catch(() => {}), late])).finally(() => enough.abort());
    await this.destroy();
  }

  async #leaveCode(signal: AbortSignal): Promise<void> {
    if ((await ended(this.#connection.ssh(remote('end'), 'ignore'))) !== 0) return;
    while (!signal.aborted && (await Run.codeOf(this.#client, this.id)) === null) await sleep(LOOKS_AGAIN_MS);
  }

  async destroy(): Promise<void> {
    await destroy(this.#client, this.id);
    this.#keyId = null;
  }

  /** Ends the client's part and removes its key. A key that can't be removed now is removed with the instance. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connection.close();
    if (this.#keyId !== null) await removeKey(this.#client, this.#keyId).catch(() => {});
  }

  /** Signals to the container that a client is connected, and receives the exit code. */
  async #watch(): Promise<void> {
    for (const lost = new Lost(); !this.#isClosed; ) {
      const child = this.#connection.ssh(remote('watch'), ['pipe', 'pipe', 'ignore']);
      const over = ended(child);
      over.catch(() => {});
      for await (const line of createInterface({ input: child.stdout! })) {
        lost.over();
        this.#found();
        this.#hear(line);
      }
      await over;
      await this.#beforeNextTry(lost);
    }
  }

  #hear(line: string): void {
    const [what, value = '', begun, ...rest] = line.split(' ');
    if (what === 'ready')
      this.#ready.resolve({ hasRsync: value === 'yes', hasBegun: begun === 'yes', workspace: rest.join(' ') });
    if (what === 'code' && /^\d{1,3}$/.test(value)) this.#code.resolve(Number(value));
  }

  async #pass(stream: 'stdout' | 'stderr', name: 'out' | 'err'): Promise<void> {
    let at = 0;
    for (const lost = new Lost(); !this.#isClosed; ) {
      const child = this.#connection.ssh(remote('follow', name, String(at)), ['ignore', 'pipe', 'ignore']);
      const over = ended(child);
      over.catch(() => {});
      for await (const chunk of child.stdout!) {
        at += chunk.length;
        lost.over();
        await this.#hooks.onOutput(stream, chunk);
      }
      if ((await over) === 0) return;
      await this.#beforeNextTry(lost);
    }
  }

  async #untilDone(attempt: () => Promise<Outcome>): Promise<Outcome> {
    for (const lost = new Lost(); ; ) {
      const outcome = await this.#unlessOver(attempt());
      if (outcome !== 'lost') return outcome;
      await this.#unlessOver(this.#beforeNextTry(lost));
    }
  }

  /** Called when a connection has ended. Rejects if there is nothing left to connect to. */
  async #beforeNextTry(lost: Lost): Promise<void> {
    if (this.#isClosed || this.#hooks.signal.aborted) return;
    try {
      const { status, stopReason, runtime } = await see(this.#client, this.id);
      if (status !== 'RUNNING') throw new RunFailed(whyStopped(this.id, status, stopReason), this.id);
      if (runtime?.phase === 'EXITED' || runtime?.phase === 'FAILED') {
        const words = `the container of ${this.id} ended with ${runtime.exitCode ?? 'no exit code'}`;
        throw new RunFailed(`${words}: \`gpu attach ${this.id}\` fetches what is there`, this.id);
      }
    } catch (error) {
      if (!(error instanceof GpuConnectionError)) throw error;
    }
    if (lost.count > 0 && !this.#isLost) {
      this.#isLost = true;
      this.#hooks.onStep(
        `lost the connection to ${this.id}; the command continues, and this program reconnects as soon as it can`,
      );
    }
    if (lost.isHopeless)
      throw new RunFailed(`${this.id} can't be reached: \`gpu attach ${this.id}\` finds it`, this.id);
    await sleep(lost.next());
  }

  #found(): void {
    if (this.#isLost) this.#hooks.onStep(`${this.id} is reached again`);
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

/** Counts failed attempts, and how long they have failed. */
class Lost {
  count = 0;
  #sinceMs = 0;

  over(): void {
    this.count = 0;
  }

  get isHopeless(): boolean {
    return this.count > 0 && performance.now() - this.#sinceMs > GIVES_UP_AFTER_MS;
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

function describeLeftOut(path: string, left: readonly string[]): string {
  const more = left.length > SHOWN_LEFT_OUT ? ` and ${left.length - SHOWN_LEFT_OUT} more` : '';
  const names = `${left.slice(0, SHOWN_LEFT_OUT).join(', ')}${more}`;
  return `left out ${names}: only files, folders and links within ${path} are brought back`;
}

function whyStopped(id: string, status: string, reason: string | null): string {
  if (status === 'DESTROYED') return `${id} was destroyed`;
  const why = reason === null ? '' : ` (${reason.toLowerCase().replaceAll('_', ' ')})`;
  return `${id} was stopped${why}; its disk is kept: \`gpu attach ${id}\` fetches what is there`;
}
