import type { DesiredInstance, ObservedVolume, VolumeAccess } from '../../agent-protocol/protocol.js';
import { type AgentClock, pauseMs } from '../clock.js';
import { GatewayFault } from '../gateway.js';
import type { Limiter } from '../limiter.js';
import type { HostVolume, Taken } from './host-volume.js';
import { type OpenVolume, VolumeFault } from './repository.js';

type OnProgress = (bytes: { pulledBytes: number; totalBytes: number } | null) => void;
type WantedVolume = NonNullable<DesiredInstance['volumes']>[number];

/**
 * Thrown if a start has failed permanently because of its volumes. `image` means that no credit is issued, since the
 * renter may have caused the failure.
 */
export class VolumesFailed extends Error {
  constructor(
    message: string,
    readonly blame: 'host' | 'image',
  ) {
    super(message);
  }
}

/** Thrown for a temporary obstacle. The start is tried again within this file's limits. */
export class VolumesWait extends Error {}

/** A folder on the host and its path in the container. */
export interface VolumeMount {
  source: string;
  target: string;
}

export interface InstanceVolumesContext {
  clock: AgentClock;
  volume(volumeId: string): HostVolume;
  /** Why this host can't have volumes, or null if it can. */
  whyNone: string | null;
  /**
   * Limiters shared by all instances on the host: for snapshots while containers are running, for restores, and for
   * final snapshots.
   */
  snapshots: Limiter;
  restores: Limiter;
  saves: Limiter;
  access(instanceId: string, start: number): Promise<VolumeAccess>;
  /** Returns the volumes that this instance was the last to use. */
  heldBy(instanceId: string): Promise<string[]>;
  /** Whether a container of the instance is running. */
  isRunning(instanceId: string): Promise<boolean>;
  changed(volumes: ObservedVolume[] | undefined): void;
  trouble(message: string): void;
}

/** Maximum pause between attempts while something does not respond. */
const MAX_PAUSE_MS = 30_000;
/** Number of attempts to restore an unreadable snapshot before the start fails. */
const RESTORE_TRIES = 3;
/** The start fails after the store has aborted this many restores. Each restore begins from scratch. */
const BROKEN_TRIES = 6;
/**
 * Maximum time that a start waits for a store, a lock or another instance before it fails, because its renter pays
 * in the meantime.
 */
const MAX_WAIT_MS = 600_000;
const CHECK_EVERY_MS = 1_000;
/** An attempt that takes at least this long counts as all attempts, because restic itself has retried many times. */
const LONG_TRY_MS = 300_000;
const MAX_MESSAGE = 500;

/**
 * One instance's volumes on this host. They are restored before it starts, and saved while it is running and when it
 * ends.
 */
export class InstanceVolumes {
  #open: { start: number; volumes: OpenVolume[] } | null = null;
  #observed = new Map<string, ObservedVolume>();
  #reported: string | undefined;
  /** Snapshots of a running container, or null while none are being taken. */
  #watching: { start: number; ending: AbortController } | null = null;
  /** Settles when all snapshot loops have ended. */
  #watches: Promise<unknown> = Promise.resolve();
  #saving: { start: number; ending: AbortController; done: Promise<void> } | null = null;
  #unreadable = 0;
  #broken = 0;
  /** Time when the start began to wait, or null while it makes progress. */
  #waitsSince: number | null = null;

  constructor(
    readonly instanceId: string,
    private readonly context: InstanceVolumesContext,
  ) {}

  /**
   * Resolves when each file system is mounted with the right content. Rejects with VolumesFailed if that can't succeed
   * in this start. Rejects with VolumesWait for a temporary obstacle, but only for a limited time.
   */
  async prepare(desired: DesiredInstance, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
    try {
      await this.#prepare(desired, onProgress, signal);
      if (signal.aborted) return;
      this.#unreadable = 0;
      this.#broken = 0;
      this.#waitsSince = null;
    } catch (error) {
      if (signal.aborted || error instanceof VolumesFailed) throw error;
      const { message } = error as Error;
      this.#waitsSince ??= this.context.clock.now();
      if (this.#isWaitOver()) throw this.#tooLong(message);
      throw new VolumesWait(message);
    }
  }

  async #prepare(desired: DesiredInstance, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
    const wanted = desired.volumes ?? [];
    // A container that ended without being stopped in this start still has its volumes.
    if (wanted.length === 0 || this.#watching?.start === desired.start) return;
    if (this.context.whyNone !== null) throw new VolumesFailed(this.context.whyNone, 'host');
    await this.#endSaving();
    this.#resetReports(wanted);
    const missing: WantedVolume[] = [];
    for (const each of wanted) {
      const volume = this.context.volume(each.id);
      if (each.lease === null || !(await volume.isAtHand(this.instanceId, each.lease))) missing.push(each);
      else await this.#guarded(each.id, () => volume.mount(each.sizeGb));
    }
    if (missing.length === 0) return;
    onProgress(null);
    const open = await this.#access(desired);
    const totalBytes = open.reduce((sum, { restore }) => sum + (restore?.sizeBytes ?? 0), 0);
    let before = 0;
    for (const each of missing) {
      const found = open.find(({ id }) => id === each.id);
      if (found === undefined) throw new VolumesFailed(`volume ${each.id} no longer belongs to this instance`, 'image');
      await this.#free(each.id);
      const onBytes = (bytes: number) => {
        const pulledBytes = before + Math.min(bytes, found.restore?.sizeBytes ?? bytes);
        onProgress({ pulledBytes, totalBytes: Math.max(totalBytes, pulledBytes) });
      };
      await this.#guarded(each.id, () => this.#restore(each, found, onBytes, signal));
      if (signal.aborted) return;
      before += found.restore?.sizeBytes ?? 0;
    }
  }

  /**
   * Restores a volume. restic itself retries for a quarter of an hour. If it makes no progress, it is stopped once the
   * start has waited for too long.
   */
  async #restore(
    { id, sizeGb }: WantedVolume,
    open: OpenVolume,
    onBytes: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, restores } = this.context;
    const late = new AbortController();
    const over = new AbortController();
    let most = 0;
    let problem = 'its store is not responding';
    const watch = {
      onBytes: (bytes: number) => {
        if (bytes > most) this.#waitsSince = null;
        most = Math.max(most, bytes);
        onBytes(bytes);
      },
      onProblem: (message: string) => {
        this.#waitsSince ??= clock.now();
        problem = message;
      },
    };
    const checks = (async () => {
      while (!over.signal.aborted && !late.signal.aborted) {
        if (this.#isWaitOver()) late.abort();
        else await clock.sleep(CHECK_EVERY_MS, over.signal);
      }
    })();
    const ended = AbortSignal.any([signal, late.signal]);
    try {
      await restores.run(() => this.context.volume(id).provide(this.instanceId, open, sizeGb, watch, ended), signal);
    } catch (error) {
      if (late.signal.aborted && !signal.aborted) throw this.#tooLong(`volume ${id} was not restored: ${problem}`);
      if (most > 0 && error instanceof VolumeFault && error.kind === 'unreachable') this.#broken += 1;
      throw error;
    } finally {
      over.abort();
      await checks;
    }
  }

  #isWaitOver(): boolean {
    return this.#waitsSince !== null && this.context.clock.now() - this.#waitsSince >= MAX_WAIT_MS;
  }

  /**
   * Creates the error for a wait that took too long. No credit is issued, because the owner can lock or damage a
   * repository.
   */
  #tooLong(message: string): VolumesFailed {
    this.#waitsSince = null;
    return new VolumesFailed(`${message}; gave up after ${MAX_WAIT_MS / 60_000} minutes`, 'image');
  }

  /** Returns the mounts for the engine, in creation order. */
  mounts(desired: DesiredInstance): VolumeMount[] {
    const wanted = [...(desired.volumes ?? [])].sort((a, b) => a.path.length - b.path.length);
    return wanted.map(({ id, path }) => ({ source: this.context.volume(id).path, target: path }));
  }

  /** Called before the container is started. */
  async use(desired: DesiredInstance): Promise<void> {
    for (const { id } of desired.volumes ?? []) await this.context.volume(id).use();
  }

  /**
   * Called when the container is running. Takes snapshots at intervals until `rest` is called. Has no effect if they
   * are already being taken.
   */
  watch(desired: DesiredInstance): void {
    if (!desired.volumes?.length || this.#watching?.start === desired.start) return;
    this.rest();
    this.#resetReports(desired.volumes);
    const ending = new AbortController();
    this.#watching = { start: desired.start, ending };
    const before = this.#watches;
    const loops = desired.volumes.map(async (each) => {
      await before;
      await this.#watch(desired, each, ending.signal);
    });
    this.#watches = Promise.all(loops);
  }

  /** Stops taking snapshots of a running container. */
  rest(): void {
    this.#watching?.ending.abort();
    this.#watching = null;
  }

  /** Ends the work, leaving everything unchanged. */
  end(): void {
    this.rest();
    this.#saving?.ending.abort();
  }

  /** Whether changes of an instance that isn't running must still be saved, or reported as saved. */
  hasUnsaved(desired: DesiredInstance): boolean {
    const held = heldOf(desired);
    for (const { id, lease } of this.#observed.values())
      if (!held.some((each) => each.id === id && each.lease === lease)) this.#observed.delete(id);
    this.#report();
    return held.some(({ id }) => this.#observed.get(id)?.saved !== true);
  }

  /**
   * Saves the volumes of an instance whose container has ended. Resolves once the store has the last changes to each
   * volume whose lease the instance holds. Continues after the signal is aborted, until `prepare` is called. Rejects
   * with the obstacle.
   */
  async save(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    this.rest();
    if (this.#saving === null || this.#saving.start !== desired.start) {
      await this.#endSaving();
      const ending = new AbortController();
      const done = this.#save(desired, ending.signal).finally(() => {
        if (this.#saving?.done === done) this.#saving = null;
      });
      this.#saving = { start: desired.start, ending, done };
    }
    const { done } = this.#saving;
    done.catch(() => {});
    if (signal.aborted) return;
    await Promise.race([done, new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))]);
  }

  /**
   * Erases an absent instance's volumes once all are saved. Returns false until the gateway knows that all are saved,
   * because the agent couldn't report that again after a crash.
   */
  async erase(desired: DesiredInstance): Promise<boolean> {
    const ids = await this.context.heldBy(this.instanceId);
    const records = await Promise.all(ids.map((id) => this.context.volume(id).record()));
    const isUnsaved = records.some((record) => record?.state === 'used');
    if ((isUnsaved || heldOf(desired).length > 0) && (await this.#takes(desired)).length > 0) return false;
    await this.#endSaving();
    for (const id of ids) await this.context.volume(id).erase();
    this.#observed.clear();
    this.#report();
    return true;
  }

  /** Returns the volumes whose changes the gateway still accepts, for an instance that isn't running. */
  async #takes(desired: DesiredInstance): Promise<OpenVolume[]> {
    try {
      return await this.#access(desired, true);
    } catch (error) {
      if (error instanceof VolumesFailed) return [];
      throw error;
    }
  }

  async #endSaving(): Promise<void> {
    this.rest();
    const saving = this.#saving;
    saving?.ending.abort();
    await saving?.done.catch(() => {});
    await this.#watches;
  }

  async #save(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    await this.#watches;
    const held = heldOf(desired);
    const faults: string[] = [];
    this.#resetReports(held, true);
    for (const each of held) {
      try {
        await this.#saveOne(desired, each, signal);
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        this.#observe(each.id, { message });
        faults.push(`volume ${each.id} is not saved yet: ${message}`);
      }
    }
    if (faults.length > 0) throw new VolumesWait(faults.join('; '));
  }

  async #saveOne(desired: DesiredInstance, { id, lease }: WantedVolume, signal: AbortSignal): Promise<void> {
    const volume = this.context.volume(id);
    const record = await volume.record();
    const isOurs = record?.instance === this.instanceId && record.lease === lease;
    if (isOurs && record.state === 'used') {
      const open = (await this.#takes(desired)).find((each) => each.id === id && each.lease === lease);
      if (open !== undefined) {
        const taken = await this.context.saves.run(() => this.#snapshot(volume, open, false, signal), signal);
        if (taken === null || signal.aborted) throw new Error('it was cancelled');
        await volume.close(taken);
        return this.#observe(id, { ...taken, saved: true, message: null });
      }
    }
    if (isOurs) await volume.close(null);
    const own = isOurs && record.own ? { snapshot: record.snapshot, sizeBytes: record.sizeBytes } : {};
    this.#observe(id, { ...own, saved: true, message: null });
  }

  /**
   * Takes snapshots one after another. Each interval begins when the previous snapshot has ended. Reports failures and
   * tries again.
   */
  async #watch(desired: DesiredInstance, wanted: WantedVolume, signal: AbortSignal): Promise<void> {
    for (let faults = 0; !signal.aborted; ) {
      try {
        await this.#watchOnce(desired, wanted, faults === 0, signal);
        faults = 0;
      } catch (error) {
        if (signal.aborted) return;
        const { message } = error as Error;
        faults += 1;
        this.#observe(wanted.id, { message });
        this.context.trouble(`no snapshot of volume ${wanted.id}: ${message}`);
        await this.context.clock.sleep(pauseMs(faults, MAX_PAUSE_MS), signal);
      }
    }
  }

  async #watchOnce(
    desired: DesiredInstance,
    { id, lease }: WantedVolume,
    waits: boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, snapshots } = this.context;
    const volume = this.context.volume(id);
    if (lease !== null) await volume.adopt(this.instanceId, lease);
    const open = (await this.#access(desired)).find((each) => each.id === id && each.lease === lease);
    if (open === undefined) throw new VolumeFault('refused', 'the gateway no longer accepts its changes');
    if (waits) await clock.sleep(open.snapshotSeconds * 1_000, signal);
    const taken = await snapshots.run(() => this.#snapshot(volume, open, true, signal), signal);
    if (taken !== null && !signal.aborted) this.#observe(id, { ...taken, message: null });
  }

  async #snapshot(volume: HostVolume, open: OpenVolume, isLive: boolean, signal: AbortSignal): Promise<Taken> {
    try {
      return await volume.snapshot(open, isLive, signal, (message) => this.#observe(open.id, { message }));
    } catch (error) {
      // The volume's lease may have changed.
      if (error instanceof VolumeFault && error.kind === 'refused') this.#open = null;
      throw error;
    }
  }

  /**
   * Ensures that the volume is free. Another instance on the host may have used it before, and that instance's
   * container must have ended.
   */
  async #free(volumeId: string): Promise<void> {
    const other = (await this.context.volume(volumeId).record())?.instance ?? this.instanceId;
    if (other === this.instanceId || !(await this.context.isRunning(other))) return;
    throw new Error(`waiting for instance ${other} to stop: it is using volume ${volumeId} on this host`);
  }

  async #access(desired: DesiredInstance, isRefresh = false): Promise<OpenVolume[]> {
    if (!isRefresh && this.#open?.start === desired.start) return this.#open.volumes;
    try {
      const { volumes } = await this.context.access(this.instanceId, desired.start);
      this.#open = { start: desired.start, volumes };
      return volumes;
    } catch (error) {
      this.#open = null;
      if (error instanceof GatewayFault && error.kind === 'refused') throw new VolumesFailed(error.message, 'image');
      throw error;
    }
  }

  /** Converts errors that no other attempt can fix into VolumesFailed. */
  async #guarded<T>(id: string, job: () => Promise<T>): Promise<T> {
    const began = this.context.clock.now();
    try {
      return await job();
    } catch (error) {
      if (error instanceof VolumesFailed) throw error;
      this.#open = null;
      // Any error that doesn't come from the store concerns the host's own files, whose paths must not be shown to the
      // renter.
      const kind = error instanceof VolumeFault ? error.kind : 'host';
      if (kind === 'host') this.context.trouble(`volume ${id}: ${(error as Error).message}`);
      const reason = error instanceof VolumeFault ? error.message : "the machine can't store its files";
      const message = `volume ${id} was not restored: ${reason}`;
      if (kind === 'full') throw new VolumesFailed(message, 'image');
      const isLong = this.context.clock.now() - began >= LONG_TRY_MS;
      if (kind === 'host' || kind === 'unreadable') this.#unreadable += isLong ? RESTORE_TRIES : 1;
      if (this.#unreadable < RESTORE_TRIES && this.#broken < BROKEN_TRIES) throw new Error(message);
      this.#unreadable = 0;
      this.#broken = 0;
      // No credit is issued, because the owner can damage a repository.
      throw new VolumesFailed(message, kind === 'host' ? 'host' : 'image');
    }
  }

  /** Starts each new lease with an empty report. */
  #resetReports(wanted: readonly WantedVolume[], keepsSaved = false): void {
    const before = this.#observed;
    this.#observed = new Map();
    for (const { id, lease } of wanted) {
      if (lease === null) continue;
      const same = before.get(id);
      const none = { id, lease, snapshot: null, sizeBytes: null, saved: false, message: null };
      this.#observed.set(id, same?.lease === lease ? { ...same, saved: keepsSaved && same.saved } : none);
    }
    this.#report();
  }

  #observe(id: string, changes: Partial<ObservedVolume>): void {
    const before = this.#observed.get(id);
    if (before === undefined) return;
    const message = changes.message?.slice(0, MAX_MESSAGE);
    this.#observed.set(id, { ...before, ...changes, ...(message !== undefined && { message }) });
    this.#report();
  }

  #report(): void {
    const volumes = [...this.#observed.values()];
    const text = JSON.stringify(volumes);
    if (text === this.#reported) return;
    this.#reported = text;
    this.context.changed(volumes.length === 0 ? undefined : volumes);
  }
}

function heldOf({ volumes = [] }: DesiredInstance): WantedVolume[] {
  return volumes.filter(({ lease }) => lease !== null);
}
