import { type AgentClock, pauseMs } from './clock.js';
import type { Disks } from './disks.js';
import { type ContainerDetail, type Engine, EngineFault } from './engine/engine.js';
import type { GpuAccess } from './gpus/gpu-access.js';
import type { DesiredInstance, ObservedInstance } from './protocol.js';

/** What a task needs from its machine. */
export interface TaskContext {
  engine: Engine;
  disks: Disks;
  gpus: GpuAccess;
  clock: AgentClock;
  machineId: string;
  /** Between SIGTERM and SIGKILL of a container. */
  stopSeconds: number;
  /** The container as last seen; null when the instance has none, or none was looked for yet. */
  seen(instanceId: string): { running: boolean } | null;
  saw(instanceId: string, container: { running: boolean } | null): void;
  /** True while the agent can't know whether the gateway has rented out the machine. */
  isCutOff(): boolean;
  /** Why the instance may not start now; null when it may. Asks the engine, not its own memory. */
  obstacle(desired: DesiredInstance): Promise<string | null>;
  /** One start at a time on a machine. Null when the signal was aborted before its turn. */
  starting<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T | null>;
  pulling<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T | null>;
  changed(kind: 'phase' | 'progress'): void;
  /** The phase changed; other tasks may be waiting for that. */
  phaseChanged(): void;
  trouble(instanceId: string, message: string): void;
}

/** `unknown`: no document names it. `undecided`: there is no document yet. */
type Want = 'running' | 'stopped' | 'absent' | 'unknown' | 'undecided';

const MAX_RESTART_PAUSE_MS = 60_000;
/** A container that ran this long starts its pauses from the beginning. */
const STABLE_MS = 600_000;
/** The engine is asked again soon: it may have been restarted. */
const MAX_AWAY_PAUSE_MS = 4_000;
const MAX_TROUBLE_PAUSE_MS = 60_000;
const START_TRIES = 3;
const PULL_TRIES = 6;
const MAX_MESSAGE = 1_000;
/** The image is put into a path of the engine's API. */
const IMAGE = /^(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:@/-]{0,510}$/;

/** Brings one instance to its desired state, one step after another, never two at once. */
export class InstanceTask {
  #desired: DesiredInstance | null = null;
  #decided = false;
  #observed: ObservedInstance;
  /** The start that failed for good: it isn't tried again. */
  #failed: number | null = null;
  /** When the container came up in this start; null when it didn't, or ought not. */
  #upSince: number | null = null;
  /** The run of the container whose GPUs were counted. */
  #confirmed: string | null = null;
  /** How often it ended by itself in a row, for the pause. */
  #ends = 0;
  /** Calls in a row that the engine didn't carry out. */
  #troubles = 0;
  #startTries = 0;
  #pullTries = 0;
  #busy = false;
  #again = false;
  #ended = false;
  /** Ends what only matters for the state wanted so far: a pull, a pause. */
  #interrupt = new AbortController();

  constructor(
    readonly id: string,
    private readonly context: TaskContext,
  ) {
    this.#observed = {
      id,
      phase: 'WAITING',
      start: 0,
      pulledBytes: null,
      totalBytes: null,
      message: null,
      exitCode: null,
      restarts: 0,
    };
  }

  get observed(): ObservedInstance {
    return this.#observed;
  }

  get desired(): DesiredInstance | null {
    return this.#desired;
  }

  get want(): Want {
    if (this.#desired === null) return this.#decided || this.context.isCutOff() ? 'unknown' : 'undecided';
    if (this.#desired.phase === 'running' && this.context.isCutOff()) return 'stopped';
    return this.#desired.phase;
  }

  /** Being erased, and nothing has gone wrong yet: a start of another instance waits for it. */
  get clearing(): boolean {
    return this.want === 'absent' && this.#observed.phase !== 'ERASED' && this.#troubles === 0;
  }

  /** Null: the newest document doesn't name the instance. */
  decide(desired: DesiredInstance | null): void {
    const before = this.#desired;
    const same = this.#decided && before?.phase === desired?.phase && before?.start === desired?.start;
    this.#decided = true;
    this.#desired = desired;
    if (same) return;
    if (before?.start !== desired?.start) {
      this.#failed = null;
      this.#ends = 0;
      this.#startTries = 0;
      this.#pullTries = 0;
      this.#observe({ start: desired?.start ?? 0, pulledBytes: null, totalBytes: null, message: null, restarts: 0 });
      // The message of the previous start must not be reported for this one.
      if (desired?.phase === 'running' && this.#observed.phase !== 'RUNNING') {
        this.#observe({ phase: 'WAITING', exitCode: null });
      }
    }
    this.wakeNow();
  }

  /** Looks again, without cutting a pause short. */
  wake(): void {
    this.#again = true;
    if (!this.#busy && !this.#ended) void this.#work();
  }

  /** Looks again at once: the desired state has changed, or the engine is back. */
  wakeNow(): void {
    this.#interrupt.abort();
    this.#interrupt = new AbortController();
    this.wake();
  }

  /** Leaves everything as it is. */
  end(): void {
    this.#ended = true;
    this.#interrupt.abort();
  }

  async #work(): Promise<void> {
    this.#busy = true;
    const { phase } = this.#observed;
    while (this.#again && !this.#ended) {
      this.#again = false;
      const signal = this.#interrupt.signal;
      try {
        await this.#step(signal);
        this.#troubles = 0;
      } catch (error) {
        if (!signal.aborted) await this.#recover(error as Error, signal);
        else this.#again = true;
      }
    }
    this.#busy = false;
    if (this.#observed.phase !== phase) this.context.phaseChanged();
  }

  async #recover(error: Error, signal: AbortSignal): Promise<void> {
    const away = error instanceof EngineFault && error.kind === 'away';
    if (!away) {
      this.context.trouble(this.id, error.message);
      this.#observe({ message: error.message });
    }
    const pause = pauseMs(this.#troubles, away ? MAX_AWAY_PAUSE_MS : MAX_TROUBLE_PAUSE_MS);
    this.#troubles += 1;
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { want } = this;
    if (want !== 'running') this.#upSince = null;
    if (want === 'absent') return this.#erase();
    if (want === 'stopped' || want === 'unknown') return this.#stop();
    if (want === 'undecided') return this.#look();
    return this.#bringUp(this.#desired!, signal);
  }

  async #look(): Promise<void> {
    const container = await this.#inspect();
    this.#observe({ phase: container?.running ? 'RUNNING' : 'STOPPED', exitCode: container?.exitCode ?? null });
  }

  async #erase(): Promise<void> {
    if (this.#observed.phase === 'ERASED' && this.context.seen(this.id) === null) return;
    const { engine, disks } = this.context;
    this.#observe({ phase: 'STOPPING' });
    await engine.remove(this.id);
    if ((await this.#inspect()) !== null) throw new EngineFault('refused', 'the container is still being removed');
    await disks.erase(this.id);
    this.#observe({ phase: 'ERASED', message: null });
  }

  async #stop(): Promise<void> {
    const { engine, stopSeconds } = this.context;
    const message = this.context.isCutOff() ? 'stopped because the gateway was out of reach for too long' : null;
    if (this.#observed.phase !== 'STOPPED' || this.context.seen(this.id)?.running) {
      let container = this.context.seen(this.id) === null ? null : await this.#inspect();
      if (container?.running) {
        this.#observe({ phase: 'STOPPING' });
        await engine.stop(this.id, stopSeconds);
        container = await this.#inspect();
        if (container?.running) throw new EngineFault('refused', 'the container goes on running');
      }
      this.#observe({ phase: 'STOPPED', exitCode: container?.exitCode ?? null });
    }
    this.#observe({ message });
  }

  async #bringUp(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    if (this.#failed === desired.start) return this.#keepDown();
    const container = await this.#inspect();
    if (container !== null && container.machineId !== this.context.machineId) {
      return this.#fail(desired, 'a container of another machine has the name of this one');
    }
    if (container?.running) return this.#confirm(desired, container);
    if (this.#upSince !== null) return this.#pauseAfterEnd(container, signal);
    const imageId = container === null ? await this.#image(desired, signal) : null;
    if (signal.aborted || (container === null && imageId === null)) return;
    try {
      if (!(await this.context.starting(() => this.#start(desired, imageId, signal), signal))) return;
    } catch (error) {
      return this.#startRefused(desired, error as Error, signal);
    }
    this.#startTries = 0;
    this.#upSince = this.context.clock.now();
    this.#again = true;
  }

  /** False when it may not start now: the task is woken when that may have changed. */
  async #start(desired: DesiredInstance, imageId: string | null, signal: AbortSignal): Promise<boolean> {
    const { engine, disks, gpus, machineId } = this.context;
    const obstacle = await this.context.obstacle(desired);
    if (obstacle !== null) {
      this.#observe({ phase: 'WAITING', message: obstacle });
      return false;
    }
    this.#observe({ phase: 'STARTING', message: null });
    const workspace = await disks.prepare(this.id, desired.diskGb);
    if (imageId !== null) {
      const grant = desired.gpus === 0 ? null : gpus.grant(desired.gpus);
      if (desired.gpus > 0 && grant === null) {
        throw new EngineFault('refused', `this host does not have ${desired.gpus} GPUs to give`, true);
      }
      const { start, command, env, vcpus, memoryMb } = desired;
      const quotaGb = disks.limit === 'quota' ? desired.diskGb : null;
      const given = { command, env, vcpus, memoryMb, gpus: grant, workspace, quotaGb };
      await engine.create({ instanceId: this.id, machineId, start, imageId, ...given });
    }
    // Something else may be wanted by now: what was created is then found by its label.
    if (signal.aborted) return false;
    await engine.start(this.id);
    return true;
  }

  async #startRefused(desired: DesiredInstance, error: Error, signal: AbortSignal): Promise<void> {
    if (error instanceof EngineFault && error.kind === 'away') throw error;
    this.#startTries += 1;
    if (this.#startTries >= START_TRIES || (error instanceof EngineFault && error.final)) {
      return this.#fail(desired, error.message);
    }
    this.context.trouble(this.id, error.message);
    // An engine that was killed while it made a container may not be able to start it ever. Nothing of the renter's is
    // in one that never ran: it is made anew.
    const container = await this.#inspect();
    const itsOwn = container?.machineId === this.context.machineId;
    if (container !== null && itsOwn && !container.running && container.exitCode === null) {
      await this.context.engine.remove(this.id);
    }
    await this.context.clock.sleep(pauseMs(this.#startTries - 1, MAX_RESTART_PAUSE_MS), signal);
    this.#again = true;
  }

  /** RUNNING is reported only for a container that shows the rented GPUs. */
  async #confirm(desired: DesiredInstance, container: ContainerDetail): Promise<void> {
    if (this.#confirmed !== container.startedAt && desired.gpus > 0) {
      const shown = await this.context.gpus.shown(container);
      if (shown === null) {
        const now = await this.#inspect();
        if (now?.running && now.startedAt === container.startedAt) {
          throw new EngineFault('refused', 'the container could not be inspected: its GPUs are not known');
        }
        this.#again = true;
        return;
      }
      if (shown < desired.gpus) return this.#fail(desired, `the container shows ${shown} of ${desired.gpus} GPUs`);
    }
    this.#confirmed = container.startedAt;
    this.#upSince ??= this.context.clock.now();
    const same = this.#observed.imagePorts?.join() === container.imagePorts.join();
    this.#observe({ phase: 'RUNNING', message: null, ...(!same && { imagePorts: container.imagePorts }) });
  }

  async #pauseAfterEnd(container: ContainerDetail | null, signal: AbortSignal): Promise<void> {
    const ran = this.context.clock.now() - (this.#upSince ?? 0);
    this.#upSince = null;
    if (ran >= STABLE_MS) this.#ends = 0;
    const pause = pauseMs(this.#ends, MAX_RESTART_PAUSE_MS);
    this.#ends += 1;
    const exitCode = container?.exitCode ?? null;
    const message = `the container ended by itself and is started again after ${pause / 1_000} s`;
    this.#observe({ phase: 'WAITING', exitCode, restarts: this.#observed.restarts + 1, message });
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  /** Null when the pull was interrupted or the start has failed. */
  async #image(desired: DesiredInstance, signal: AbortSignal): Promise<string | null> {
    const { engine } = this.context;
    const { image } = desired;
    if (!IMAGE.test(image)) {
      await this.#fail(desired, `${image} is not the name of an image`);
      return null;
    }
    const reference = withTag(image);
    const there = await engine.imageId(reference);
    if (there !== null) return there;
    try {
      await this.context.pulling(async () => {
        this.#observe({ phase: 'PULLING', message: null });
        await engine.pull(reference, (progress) => this.#observe(progress), signal);
      }, signal);
    } catch (error) {
      if (signal.aborted) return null;
      await this.#pullFailed(desired, error as Error, signal);
      return null;
    }
    if (signal.aborted) return null;
    const pulled = await engine.imageId(reference);
    if (pulled === null) await this.#pullFailed(desired, new Error(`${image} was pulled but is not there`), signal);
    return pulled;
  }

  async #pullFailed(desired: DesiredInstance, error: Error, signal: AbortSignal): Promise<void> {
    const fault = error instanceof EngineFault ? error : null;
    if (fault?.kind === 'away') throw error;
    this.#pullTries += 1;
    if (fault?.final || this.#pullTries >= PULL_TRIES) return this.#fail(desired, error.message);
    this.#observe({ phase: 'WAITING', message: error.message });
    await this.context.clock.sleep(pauseMs(this.#pullTries - 1, MAX_RESTART_PAUSE_MS), signal);
    this.#again = true;
  }

  async #fail(desired: DesiredInstance, message: string): Promise<void> {
    this.#failed = desired.start;
    this.context.trouble(this.id, message);
    await this.#keepDown();
    this.#observe({ phase: 'FAILED', message });
  }

  /** A start that failed leaves nothing running; what it wrote stays until the instance is destroyed. */
  async #keepDown(): Promise<void> {
    this.#upSince = null;
    const container = await this.#inspect();
    if (container?.running && container.machineId === this.context.machineId) {
      await this.context.engine.stop(this.id, this.context.stopSeconds);
      await this.#inspect();
    }
  }

  async #inspect(): Promise<ContainerDetail | null> {
    const container = await this.context.engine.inspect(this.id);
    this.context.saw(this.id, container?.machineId === this.context.machineId ? container : null);
    return container;
  }

  #observe(changes: Partial<ObservedInstance>): void {
    const before = this.#observed;
    const next = { ...before, ...changes };
    next.message = next.message?.slice(0, MAX_MESSAGE) ?? null;
    this.#observed = next;
    const keys = Object.keys(next) as (keyof ObservedInstance)[];
    const different = keys.filter((key) => next[key] !== before[key]);
    if (different.length === 0) return;
    const progressOnly = different.every((key) => key === 'pulledBytes' || key === 'totalBytes');
    this.context.changed(progressOnly ? 'progress' : 'phase');
  }
}

/** Without a tag or digest engines pull every tag there is. */
function withTag(image: string): string {
  return /[:@][^/]*$/.test(image) ? image : `${image}:latest`;
}
