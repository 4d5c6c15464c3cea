import type { Logger } from 'pino';
import {
  type DesiredInstance,
  type DesiredState,
  MAX_INSTANCES,
  type Report,
  type StartSecrets,
  type VolumeAccess,
} from '../agent-protocol/protocol.js';
import type { AgentClock } from './clock.js';
import type { Disks } from './disks.js';
import type { Engine } from './engine/engine.js';
import type { GpuAccess } from './gpus/gpu-access.js';
import { HostTrial } from './host-trial.js';
import { InstanceTask } from './instance-task.js';
import { Limiter } from './limiter.js';
import { findProcessors } from './processors.js';
import type { PullLimits } from './pull-pace.js';
import type { Registries } from './registries.js';
import type { UpInstance } from './samples/sampler.js';
import type { SecretFiles } from './secret-files.js';
import { SharedPulls } from './shared-pulls.js';
import type { StartRecords } from './start-records.js';
import type { HostVolumes } from './volumes/host-volumes.js';

const MAX_CONCURRENT_PULLS = 2;
const WATCH_AGAIN_MS = 500;
const MAX_WATCH_AGAIN_MS = 4_000;
/** Engine events within this many milliseconds cause one refresh. */
const EVENTS_TOGETHER_MS = 50;
/** Time between complete refreshes, in case an event was lost. */
const REFRESH_EVERY_MS = 10_000;
const RETRY_ENGINE_MS = 1_000;

export interface ReconcilerDeps {
  engine: Engine;
  disks: Disks;
  volumes: HostVolumes;
  gpus: GpuAccess;
  /** Whether containers may mount FUSE file systems. */
  allowsFuse: boolean;
  registries: Registries;
  ownImages: ReadonlySet<string>;
  clock: AgentClock;
  log: Logger;
  machineId: string;
  stopSeconds: number;
  pullLimits: PullLimits;
  secretFiles: SecretFiles;
  records: StartRecords;
  secretsOf(desired: DesiredInstance): Promise<StartSecrets>;
  volumeAccess(instanceId: string, start: number): Promise<VolumeAccess>;
  changed(kind: 'phase' | 'progress'): void;
}

/**
 * Compares the newest document with the engine's containers, and keeps a task for each instance found in either of
 * them. Everything is level-triggered, so a repeated, late or older document leads to the same containers.
 */
export class Reconciler {
  readonly #tasks = new Map<string, InstanceTask>();
  readonly #containers = new Map<string, { running: boolean }>();
  readonly #starts = new Limiter(1);
  readonly #trial: HostTrial;
  readonly #pulls: SharedPulls;
  #document: DesiredState | null = null;
  #kept = new Set<string>();
  #cutOff = false;
  #engineState: Report['engine'] = 'away';
  #refreshing: Promise<void> | null = null;
  #isRefreshDue = false;
  #ending = new AbortController();

  constructor(private readonly deps: ReconcilerDeps) {
    this.#trial = new HostTrial(deps);
    this.#pulls = new SharedPulls(deps.engine, MAX_CONCURRENT_PULLS);
  }

  get generation(): number {
    return this.#document?.generation ?? 0;
  }

  /** Returns the container as last seen, or null if the machine does not have it. */
  seen(instanceId: string): { running: boolean } | null {
    return this.#containers.get(instanceId) ?? null;
  }

  get state(): Pick<Report, 'generation' | 'instances' | 'unknown' | 'engine'> {
    const tasks = [...this.#tasks.values()];
    const named = tasks.filter((task) => this.#document === null || task.desired !== null);
    const unknown = tasks.filter((task) => this.#document !== null && task.desired === null);
    return {
      generation: this.generation,
      instances: named.slice(0, MAX_INSTANCES).map(({ observed }) => observed),
      unknown: unknown.slice(0, MAX_INSTANCES).map(({ id }) => id),
      engine: this.#engineState,
    };
  }

  /** Returns the instances that should run and whose container is up or has ended permanently. */
  get up(): UpInstance[] {
    return [...this.#tasks.values()].flatMap(({ id, want, desired, observed }) => {
      const hasExited = observed.phase === 'EXITED';
      const isUp =
        want === 'running' && observed.start === desired?.start && (hasExited || observed.phase === 'RUNNING');
      if (!isUp) return [];
      const { start, vcpus, watchLoad = false, volumes = [] } = desired;
      const workspaceVolume = volumes.find(({ path }) => path === '/workspace')?.id ?? null;
      const gpuUuids = this.deps.gpus.uuids(desired);
      return [{ id, start, vcpus, gpuUuids, workspaceVolume, hasExited, isWatched: watchLoad }];
    });
  }

  /** Applies a document, even if it is older than the last one. */
  async apply(document: DesiredState): Promise<void> {
    // Lists the containers first, so that those not named in the document are stopped before anything else starts.
    if (this.#document === null) await this.#refresh();
    this.#document = document;
    const wasCutOff = this.#cutOff;
    this.#cutOff = false;
    const named = new Map(document.instances.map((instance) => [instance.id, instance]));
    // Stops and removals come first, since starts wait for them anyway.
    const ordered = [...named.values()].sort((a, b) => Number(a.phase === 'running') - Number(b.phase === 'running'));
    for (const task of this.#tasks.values()) if (!named.has(task.id)) task.decide(null);
    for (const instance of ordered) this.#task(instance.id).decide(instance);
    for (const task of this.#tasks.values()) wasCutOff ? task.wakeNow() : task.wake();
    this.deps.changed('phase');
    await this.#refresh();
  }

  /** Stops everything until the next document arrives, since the agent can't know what should run on this machine. */
  cutOff(): void {
    if (this.#cutOff) return;
    this.#cutOff = true;
    for (const task of this.#tasks.values()) task.wakeNow();
  }

  get isCutOff(): boolean {
    return this.#cutOff;
  }

  /** Watches the engine until `end` is called, even if the engine is restarted. */
  async run(): Promise<void> {
    const { engine, clock, machineId } = this.deps;
    const { signal } = this.#ending;
    void this.#refreshRegularly(signal);
    void this.#tryWhole();
    let pause = WATCH_AGAIN_MS;
    while (!signal.aborted) {
      try {
        await engine.watch(
          machineId,
          () => {
            pause = WATCH_AGAIN_MS;
            void this.#refresh();
          },
          () => this.#refreshSoon(),
          signal,
        );
      } catch (error) {
        if (signal.aborted) return;
        this.#setEngine('away', (error as Error).message);
        // The regular refresh also detects that the engine is back, but without its events the agent would notice late
        // that a container ended.
        await clock.sleep(pause, signal);
        pause = Math.min(pause * 2, MAX_WATCH_AGAIN_MS);
      }
    }
  }

  /** Tests the whole host, so that the first start on each part of it doesn't have to wait for its own trial. */
  async #tryWhole(): Promise<void> {
    const pass = async () => {
      const gpuUuids = [...(this.deps.gpus.found ?? [])];
      const cpus = await findProcessors();
      return this.#trial.pass({ gpus: gpuUuids.length, gpuUuids, cpus, vcpus: 1, memoryMb: 64 });
    };
    await this.#starts.run(pass).catch(() => {});
  }

  /** Stops the reconciler without touching the containers. */
  end(): void {
    this.#ending.abort();
    for (const task of this.#tasks.values()) task.end();
  }

  async #refreshRegularly(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.deps.clock.sleep(this.#engineState === 'ok' ? REFRESH_EVERY_MS : RETRY_ENGINE_MS, signal);
      if (!signal.aborted) await this.#refresh();
    }
  }

  #setEngine(state: Report['engine'], message: string): void {
    if (this.#engineState === state) return;
    this.#engineState = state;
    this.deps.changed('phase');
    if (state === 'away') {
      this.deps.log.warn({ message }, 'container engine unreachable');
    } else {
      this.deps.log.info('container engine reachable');
      for (const task of this.#tasks.values()) task.wakeNow();
    }
  }

  #refreshSoon(): void {
    if (this.#isRefreshDue) return;
    this.#isRefreshDue = true;
    void this.deps.clock.sleep(EVENTS_TOGETHER_MS, this.#ending.signal).then(() => {
      this.#isRefreshDue = false;
      if (!this.#ending.signal.aborted) void this.#refresh();
    });
  }

  /**
   * Lists the engine's containers, one refresh at a time. A call made during a refresh waits for the next one, so that
   * its list is not older than the call.
   */
  async #refresh(): Promise<void> {
    const before = this.#refreshing;
    const next = (async () => {
      await before;
      await this.#refreshNow();
    })();
    this.#refreshing = next;
    await next;
  }

  async #refreshNow(): Promise<void> {
    const { engine, disks, volumes, secretFiles, machineId } = this.deps;
    try {
      const found = await engine.list(machineId);
      this.#kept = new Set([...(await disks.kept()), ...(await volumes.kept()), ...(await secretFiles.kept())]);
      this.#containers.clear();
      for (const container of found) this.#containers.set(container.instanceId, container);
      this.#setEngine('ok', '');
    } catch (error) {
      return this.#setEngine('away', (error as Error).message);
    }
    for (const id of [...this.#containers.keys(), ...this.#kept]) this.#task(id);
    for (const task of this.#tasks.values()) if (this.#differs(task)) task.wake();
    this.#dropGone();
  }

  #differs(task: InstanceTask): boolean {
    const container = this.#containers.get(task.id);
    if (task.want === 'absent') return container !== undefined || this.#kept.has(task.id);
    if (task.want === 'running') {
      if (task.observed.phase === 'EXITED') return container?.running ?? false;
      return task.observed.phase !== 'RUNNING' || !container?.running;
    }
    if (task.want === 'undecided') return (task.observed.phase === 'RUNNING') !== (container?.running ?? false);
    return container?.running ?? false;
  }

  /** Drops the tasks of instances that no document names and the host doesn't have. */
  #dropGone(): void {
    for (const task of this.#tasks.values()) {
      if (task.desired !== null || this.#containers.has(task.id) || this.#kept.has(task.id)) continue;
      task.end();
      this.#tasks.delete(task.id);
    }
  }

  #task(id: string): InstanceTask {
    const known = this.#tasks.get(id);
    if (known !== undefined) return known;
    const { log, volumes, clock, volumeAccess, engine } = this.deps;
    const task = new InstanceTask(id, {
      ...this.deps,
      volumesWith: (changed, trouble) => {
        const isRunning = async (other: string) => (await engine.inspect(other))?.running ?? false;
        return volumes.of(id, { clock, access: volumeAccess, isRunning, changed, trouble });
      },
      seen: (instanceId) => this.#containers.get(instanceId) ?? null,
      saw: (instanceId, container) => {
        if (container === null) this.#containers.delete(instanceId);
        else this.#containers.set(instanceId, container);
      },
      isCutOff: () => this.#cutOff,
      obstacle: (desired) => this.#obstacle(desired),
      tryHost: async (desired, signal) => (await this.#starts.run(() => this.#trial.pass(desired), signal)) ?? false,
      distrustHost: () => this.#trial.forget(),
      starting: (job, signal) => this.#starts.run(job, signal),
      pulls: this.#pulls,
      phaseChanged: () => this.#wakeWaiting(id),
      trouble: (instanceId, message) => log.warn({ instance: instanceId, message }, 'problem with an instance'),
    });
    this.#tasks.set(id, task);
    if (this.#document !== null) task.decide(null);
    else task.wake();
    return task;
  }

  #wakeWaiting(changedId: string): void {
    for (const task of this.#tasks.values()) {
      if (task.id !== changedId && task.want === 'running' && task.observed.phase === 'WAITING') task.wake();
    }
  }

  /**
   * Returns why an instance can't start yet. Instances on other GPUs are ignored, so a start doesn't wait for them to
   * stop or be removed.
   */
  async #obstacle(desired: DesiredInstance): Promise<string | null> {
    const found = await this.deps.engine.list(this.deps.machineId);
    for (const { instanceId, running } of found) {
      if (!running || instanceId === desired.id) continue;
      const other = this.#tasks.get(instanceId);
      if (!overlap(desired.gpuUuids, await this.#held(instanceId))) continue;
      if (other?.want !== 'running') return 'waiting for another instance to stop';
      if (desired.gpus > 0 && (other.desired?.gpus ?? 0) > 0) return 'waiting: another instance has the GPUs';
    }
    const clearing = [...this.#tasks.values()].some(
      (task) => task.id !== desired.id && task.clearing && overlap(desired.gpuUuids, task.desired?.gpuUuids),
    );
    return clearing ? 'waiting for another instance to be erased' : null;
  }

  /**
   * Returns a container's GPUs, both those that the engine gave it and those that it should have. Undefined means all
   * GPUs.
   */
  async #held(instanceId: string): Promise<readonly string[] | undefined> {
    const desired = this.#tasks.get(instanceId)?.desired ?? null;
    if (desired !== null && desired.gpuUuids === undefined) return undefined;
    const container = await this.deps.engine.inspect(instanceId);
    return [...(desired?.gpuUuids ?? []), ...(container === null ? [] : this.deps.gpus.grantedTo(container))];
  }
}

/** Whether the two sets share a GPU. Undefined means all GPUs of the host. */
function overlap(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return one === undefined || other === undefined || one.some((uuid) => other.includes(uuid));
}
