import type { DesiredInstance, ObservedInstance, ObservedVolume, StartSecrets } from '../agent-protocol/protocol.js';
import { pauseMs } from './clock.js';
import type { Disks } from './disks.js';
import { type ContainerDetail, EngineFault } from './engine/engine.js';
import { readImageName } from './engine/image-name.js';
import { startFault } from './engine/start-faults.js';
import { GatewayFault } from './gateway.js';
import { type GpuAccess, MissingGpus, wrongGpus } from './gpus/gpu-access.js';
import { type ImageContext, ImageFailed, InstanceImage, MAX_RESTART_PAUSE_MS } from './instance-image.js';
import type { SecretFiles } from './secret-files.js';
import type { StartRecords } from './start-records.js';
import { type InstanceVolumes, VolumesFailed, VolumesWait } from './volumes/instance-volumes.js';

/** Everything that a task needs from its machine. */
export interface TaskContext extends ImageContext {
  disks: Disks;
  gpus: GpuAccess;
  /** Whether containers may mount FUSE file systems. */
  allowsFuse: boolean;
  machineId: string;
  /** Maximum seconds between a container's SIGTERM and SIGKILL. */
  stopSeconds: number;
  secretFiles: SecretFiles;
  records: StartRecords;
  /** Requests a start's secrets from the gateway. */
  secretsOf(desired: DesiredInstance): Promise<StartSecrets>;
  /** Calls `changed` when the observed volumes have changed. `trouble` receives messages for the host's log. */
  volumesWith(
    changed: (volumes: ObservedVolume[] | undefined) => void,
    trouble: (message: string) => void,
  ): InstanceVolumes;
  /** Returns the container as last seen. Returns null if the instance has none, or before the first check. */
  seen(instanceId: string): { running: boolean } | null;
  saw(instanceId: string, container: { running: boolean } | null): void;
  /** Whether the agent is cut off, so that it can't know whether the gateway has rented out the machine. */
  isCutOff(): boolean;
  /**
   * Resolves to the reason why the instance can't start now, or null if it can. Queries the engine instead of relying
   * on the task's own state.
   */
  obstacle(desired: DesiredInstance): Promise<string | null>;
  /**
   * Runs the agent's own program with the instance's GPUs. Resolves to whether the program stays on its processors.
   * Rejects if the host can't run it.
   */
  tryHost(desired: DesiredInstance, signal: AbortSignal): Promise<boolean>;
  /** Called when an image did not start, so that the host is tested again before the next start. */
  distrustHost(): void;
  /** Runs one start at a time on a machine. Resolves to null if the signal was aborted before the job's turn. */
  starting<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T | null>;
  changed(kind: 'phase' | 'progress'): void;
  /** Called when the phase has changed, since other tasks may be waiting for that. */
  phaseChanged(): void;
  trouble(instanceId: string, message: string): void;
}

/** `unknown`: no document names the instance. `undecided`: no document has arrived yet. */
type Want = 'running' | 'stopped' | 'absent' | 'unknown' | 'undecided';

/** After a run of this length, restart pauses start over from the shortest. */
const STABLE_MS = 600_000;
/** Maximum pause while the engine is unreachable. It is short so that the agent soon detects a restarted engine. */
const MAX_UNREACHABLE_PAUSE_MS = 4_000;
const MAX_TROUBLE_PAUSE_MS = 60_000;
/** A start fails if the engine is down for this long before anything supplied by the renter was used. */
const MAX_ENGINE_UNREACHABLE_MS = 600_000;
/** Maximum duration of the steps after a pull, including time when the engine does not respond. */
const MAX_CREATING_MS = 600_000;
/** Pause before secrets are requested again if the gateway was unreachable. */
const SECRETS_PAUSE_MS = 2_000;
/** A start fails if the gateway is unreachable for longer than this. */
const MAX_SECRETS_MS = 600_000;
const START_TRIES = 3;
const MAX_MESSAGE = 1_000;

/** The side at fault for a permanently failed start, which determines the gateway's service credit. */
type Fault = 'host' | 'image';

/** State of a start in progress. */
interface Attempt {
  begunAt: number;
  /** Whether the host was tested with the agent's own program, before anything supplied by the renter was used. */
  isHostTried: boolean;
  /** Why the host could not run it, or null if it could. */
  hostFault: string | null;
  /** Whether the engine keeps the container on its processors. */
  isPinned: boolean;
  image: InstanceImage;
  /** When the pull finished. */
  pulledAt: number | null;
  hasRun: boolean;
  /** Null until the gateway has responded. */
  secrets: StartSecrets | null;
  /** Time of the first failed request for the secrets. */
  secretsSince: number | null;
}

/** Brings one instance to its desired state, step by step. Steps never overlap. */
export class InstanceTask {
  #desired: DesiredInstance | null = null;
  #decided = false;
  #observed: ObservedInstance;
  /** The start that failed permanently and isn't tried again. */
  #failed: number | null = null;
  /** The start whose command ended and won't be started again. */
  #exited: number | null = null;
  /** When the container came up in this start. Null if it didn't come up, or must not run. */
  #upSince: number | null = null;
  #attempt: Attempt;
  /** Number of times in a row that the container ended without being stopped. It determines the pause. */
  #ends = 0;
  /** Number of consecutive failed steps. */
  #troubles = 0;
  #startTries = 0;
  #busy = false;
  #again = false;
  #ended = false;
  readonly #volumes: InstanceVolumes;
  /** Aborts work that only serves the previous desired state, such as a pull or a pause. */
  #interrupt = new AbortController();

  constructor(
    readonly id: string,
    private readonly context: TaskContext,
  ) {
    this.#attempt = this.#newAttempt();
    this.#volumes = context.volumesWith(
      (volumes) => this.#observe({ volumes }),
      (message) => context.trouble(id, message),
    );
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

  /**
   * Whether the instance is being erased and no step has failed so far. Other instances don't start until it is erased.
   */
  get clearing(): boolean {
    // In phase SAVING, the container and its disk are already gone, and only the volumes are still being stored.
    const { phase } = this.#observed;
    return this.want === 'absent' && phase !== 'ERASED' && phase !== 'SAVING' && this.#troubles === 0;
  }

  /** Sets the desired state. Null means that the newest document doesn't name the instance. */
  decide(desired: DesiredInstance | null): void {
    const before = this.#desired;
    const same = this.#decided && before?.phase === desired?.phase && before?.start === desired?.start;
    this.#decided = true;
    this.#desired = desired;
    if (same) return;
    if (before?.start !== desired?.start) {
      this.#failed = null;
      this.#exited = null;
      this.#attempt = this.#newAttempt();
      this.#ends = 0;
      this.#startTries = 0;
      this.#observe({ start: desired?.start ?? 0, pulledBytes: null, totalBytes: null, message: null, restarts: 0 });
      // This start must not report the previous start's message.
      if (desired?.phase === 'running' && this.#observed.phase !== 'RUNNING') {
        this.#observe({ phase: 'WAITING', exitCode: null });
      }
    }
    this.wakeNow();
  }

  /** Triggers another check without cutting a pause short. */
  wake(): void {
    this.#again = true;
    if (!this.#busy && !this.#ended) void this.#work();
  }

  /** Triggers another check immediately, because the desired state has changed or the engine is reachable again. */
  wakeNow(): void {
    this.#interrupt.abort();
    this.#interrupt = new AbortController();
    this.wake();
  }

  /** Stops the task's work, leaving container, disk and volumes unchanged. */
  end(): void {
    this.#ended = true;
    this.#volumes.end();
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
    const isUnreachable = error instanceof EngineFault && error.kind === 'unreachable';
    if (!isUnreachable) {
      this.context.trouble(this.id, error.message);
      const reason = 'the machine has a problem with this instance; its agent is retrying';
      this.#observe({ message: error instanceof VolumesWait ? error.message : reason });
    }
    if (this.#hasTimedOut(error)) return;
    const pause = pauseMs(this.#troubles, isUnreachable ? MAX_UNREACHABLE_PAUSE_MS : MAX_TROUBLE_PAUSE_MS);
    this.#troubles += 1;
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  /**
   * Whether a fault, such as an unresponsive engine, has persisted long enough that the start must fail, since the
   * renter pays in the meantime. Before anything supplied by the renter was used, the host is at fault. Afterwards, an
   * image may have caused it. Volumes have their own time limits.
   */
  #hasTimedOut(error: Error): boolean {
    const { begunAt, isHostTried, pulledAt, hasRun } = this.#attempt;
    if (this.want !== 'running' || hasRun || this.#failed !== null || error instanceof VolumesWait) return false;
    const pullMs = this.context.pullLimits.seconds * 1_000;
    const limit = isHostTried ? (pulledAt === null ? pullMs : MAX_CREATING_MS) : MAX_ENGINE_UNREACHABLE_MS;
    if (this.context.clock.now() - (pulledAt ?? begunAt) < limit) return false;
    this.#failed = this.#desired!.start;
    const isUnreachable = error instanceof EngineFault && error.kind === 'unreachable';
    const message = isUnreachable
      ? "the machine's container engine is not responding"
      : "the machine can't start this instance";
    this.context.trouble(this.id, error.message);
    this.#observe({ phase: 'FAILED', message, fault: isHostTried ? 'image' : 'host' });
    return true;
  }

  async #step(signal: AbortSignal): Promise<void> {
    const { want } = this;
    if (want !== 'running') {
      this.#upSince = null;
      this.#volumes.rest();
    }
    if (want === 'absent') return this.#erase(this.#desired!, signal);
    if (want === 'stopped' || want === 'unknown') return this.#stop(signal);
    if (want === 'undecided') return this.#observeContainer();
    return this.#ensureRunning(this.#desired!, signal);
  }

  async #observeContainer(): Promise<void> {
    const container = await this.#inspect();
    this.#observe({ phase: container?.running ? 'RUNNING' : 'STOPPED', exitCode: container?.exitCode ?? null });
  }

  async #erase(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    if (this.#observed.phase === 'ERASED' && this.context.seen(this.id) === null) return;
    const { engine, disks } = this.context;
    if (this.#observed.phase !== 'SAVING') this.#observe({ phase: 'STOPPING' });
    await engine.remove(this.id);
    if ((await this.#inspect()) !== null) throw new EngineFault('refused', 'the container is still being removed');
    await disks.erase(this.id);
    await this.context.secretFiles.erase(this.id);
    await this.context.records.erase(this.id);
    if (!(await this.#saveVolumes(desired, signal)) || !(await this.#volumes.erase(desired))) return;
    this.#observe({ phase: 'ERASED', message: null });
  }

  async #stop(signal: AbortSignal): Promise<void> {
    const { engine } = this.context;
    const saves = this.want === 'stopped' && !this.context.isCutOff() ? this.#desired : null;
    const message = this.context.isCutOff() ? 'stopped because the gateway was unreachable for too long' : null;
    const hasUnsaved = saves !== null && this.#volumes.hasUnsaved(saves);
    if (this.#observed.phase !== 'STOPPED' || this.context.seen(this.id)?.running || hasUnsaved) {
      let container = this.context.seen(this.id) === null ? null : await this.#inspect();
      if (container?.running) {
        this.#observe({ phase: 'STOPPING' });
        // The command is not considered ended, so it is started again when the gateway is reachable again.
        if (this.context.isCutOff()) await this.context.records.erase(this.id);
        await engine.stop(this.id, this.#graceSeconds());
        container = await this.#inspect();
        if (container?.running) throw new EngineFault('refused', 'the container is still running');
      }
      await this.context.secretFiles.erase(this.id);
      // The instance was started again in the meantime, and a renter would see STOPPED for an instance that is about to
      // start.
      if (this.want === 'running') return;
      if (saves !== null && !(await this.#saveVolumes(saves, signal))) return;
      this.#observe({ phase: 'STOPPED', exitCode: container?.exitCode ?? null });
    }
    this.#observe({ message });
  }

  /**
   * Saves the volumes. Returns false if the desired state has changed. The GPUs are already free, so no other instance
   * has to wait for this.
   */
  async #saveVolumes(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    if (!this.#volumes.hasUnsaved(desired)) return true;
    this.#observe({ phase: 'SAVING' });
    this.context.phaseChanged();
    await this.#volumes.save(desired, signal);
    return !signal.aborted;
  }

  /**
   * Returns the gateway's value, which the renter paid for, or the agent's own for a container that no document names.
   */
  #graceSeconds(): number {
    const { stopSeconds } = this.context;
    return Math.min(stopSeconds, this.#desired?.stopSeconds ?? stopSeconds);
  }

  async #ensureRunning(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    if (this.#failed === desired.start) return this.#ensureStopped();
    const container = await this.#inspect();
    if (container !== null && container.machineId !== this.context.machineId) {
      return this.#fail(desired, "another machine's container has this instance's name", 'host');
    }
    if (container?.running) return this.#confirm(desired, container);
    if (await this.#hasExited(desired, container)) return;
    if (this.#upSince !== null) return this.#pauseAfterEnd(container, signal);
    if (container === null && readImageName(desired.image) === null) {
      return this.#fail(desired, 'the image name is invalid', 'image');
    }
    if (!this.#attempt.isHostTried && !(await this.#tryHost(desired, signal))) return;
    if (!(await this.#prepareVolumes(desired, signal))) return;
    if (desired.secrets === true && !(await this.#requestSecrets(desired, container, signal))) return;
    const imageId = container === null ? await this.#ensureImage(desired, signal) : null;
    if (signal.aborted || (container === null && imageId === null)) return;
    this.#attempt.pulledAt ??= this.context.clock.now();
    try {
      if (!(await this.context.starting(() => this.#start(desired, imageId, signal), signal))) return;
    } catch (error) {
      return this.#startRefused(desired, error as Error, signal);
    }
    this.#startTries = 0;
    this.#attempt.hasRun = true;
    this.#upSince = this.context.clock.now();
    this.#again = true;
  }

  /**
   * Prepares the disk, and runs the agent's own program with the GPUs. A failure here is the host's fault, since
   * nothing supplied by the renter was used yet. The start fails only if the host lacks the disk or the GPUs. Other
   * faults are remembered, and decide who is at fault if the image does not start either. Returns false if the start
   * has failed.
   */
  async #tryHost(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const { why, renterMessage, isFinal } = await this.#hostFault(desired, signal);
      if (signal.aborted) return false;
      if (why === null || (tries >= START_TRIES && !isFinal)) {
        Object.assign(this.#attempt, { isHostTried: true, hostFault: why });
        return true;
      }
      if (tries >= START_TRIES) {
        await this.#fail(desired, renterMessage ?? "the machine could not prepare the instance's disk", 'host', why);
        return false;
      }
      this.context.trouble(this.id, why);
      await this.context.clock.sleep(pauseMs(tries - 1, MAX_RESTART_PAUSE_MS), signal);
      if (signal.aborted) return false;
    }
  }

  /**
   * Runs before the pull, whose deadlines begin afterwards. Returns false if the start has failed or must be tried
   * again.
   */
  async #prepareVolumes(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    const bytes = { pulledBytes: null, totalBytes: null };
    try {
      await this.#volumes.prepare(
        desired,
        (progress) => this.#observe({ phase: 'RESTORING', ...(progress ?? { ...bytes, message: null }) }),
        signal,
      );
    } catch (error) {
      if (!signal.aborted && error instanceof VolumesFailed) await this.#fail(desired, error.message, error.blame);
      else if (!signal.aborted) throw error;
      return false;
    }
    if (this.#observed.phase === 'RESTORING') {
      this.#observe(bytes);
      this.#attempt.begunAt = this.context.clock.now();
    }
    return !signal.aborted;
  }

  /**
   * Handles a fault of the host. `isFinal` means that the host lacks its disk or its GPUs. `renterMessage` is the
   * message for the renter if `why` reveals nothing about the host.
   */
  async #hostFault(
    desired: DesiredInstance,
    signal: AbortSignal,
  ): Promise<{ why: string | null; renterMessage: string | null; isFinal: boolean }> {
    let isFinal = true;
    try {
      await this.context.disks.prepare(this.id, desired.diskGb);
      await this.context.gpus.grant(desired);
      isFinal = false;
      this.#attempt.isPinned = await this.context.tryHost(desired, signal);
      return { why: null, renterMessage: null, isFinal };
    } catch (error) {
      if (error instanceof EngineFault && error.kind === 'unreachable') throw error;
      const why = (error as Error).message;
      const isMissing = error instanceof MissingGpus;
      return { why, renterMessage: isMissing ? why : null, isFinal: isFinal || isMissing };
    }
  }

  /** Returns false if the instance can't start now. The task is woken when that may have changed. */
  async #start(desired: DesiredInstance, imageId: string | null, signal: AbortSignal): Promise<boolean> {
    const { engine, disks, machineId } = this.context;
    const obstacle = await this.context.obstacle(desired);
    if (obstacle !== null) {
      this.#observe({ phase: 'WAITING', message: obstacle });
      return false;
    }
    this.#observe({ phase: 'STARTING', message: null });
    const workspace = await disks.prepare(this.id, desired.diskGb);
    // Also required for an existing container, because the host may have lost a GPU since it was created.
    const gpus = await this.context.gpus.grant(desired);
    if (imageId !== null) {
      const { start, entrypoint = null, command, user = null, vcpus, memoryMb } = desired;
      const { allowsFuse: fuse } = this.context;
      const quotaGb = disks.limit === 'quota' ? desired.diskGb : null;
      const env = { ...desired.env, ...this.#attempt.secrets?.variables };
      const secrets = this.#hasSecretFiles ? this.context.secretFiles.path(this.id) : null;
      const cpus = this.#attempt.isPinned ? (desired.cpus ?? null) : null;
      const volumes = this.#volumes.mounts(desired);
      const process = { entrypoint, command, env, user };
      const options = { ...process, vcpus, cpus, memoryMb, gpus, fuse, workspace, volumes, secrets, quotaGb };
      await engine.create({ instanceId: this.id, machineId, start, imageId, ...options });
    }
    if (this.#hasSecretFiles) await this.context.secretFiles.own(this.id, await engine.userId(this.id));
    // The desired state may have changed. The new container will then be found by its label.
    if (signal.aborted) return false;
    // Runs before the container's first process, which could hide or change the result of the check.
    await engine.prepare(this.id);
    const container = await this.#inspect();
    const wrong = container === null ? null : wrongGpus(this.context.gpus, desired, container);
    if (wrong !== null) throw new MissingGpus(wrong);
    if (desired.restart !== undefined) {
      const runBefore = container?.exitCode === null ? null : (container?.startedAt ?? null);
      await this.context.records.begin(this.id, { start: desired.start, runBefore });
    }
    await this.#volumes.use(desired);
    await engine.start(this.id);
    return true;
  }

  async #startRefused(desired: DesiredInstance, error: Error, signal: AbortSignal): Promise<void> {
    if (error instanceof EngineFault && error.kind === 'unreachable') throw error;
    if (error instanceof MissingGpus) return this.#fail(desired, error.message, 'host');
    this.#startTries += 1;
    const { pulledAt, hostFault, hasRun } = this.#attempt;
    const isLate = !hasRun && this.context.clock.now() - pulledAt! >= MAX_CREATING_MS;
    const { message, isFinal } = startFault(error.message);
    if (isLate || isFinal || this.#startTries >= START_TRIES || (error instanceof EngineFault && error.final)) {
      return this.#fail(desired, message, hostFault === null ? 'image' : 'host', error.message);
    }
    this.context.trouble(this.id, error.message);
    // An engine that was killed while it created a container may never be able to start it. A container that never ran
    // contains nothing of the renter's, so it can be created again.
    const container = await this.#inspect();
    // Podman may no longer list a container but still have its storage, and then refuse to reuse its name. Removing the
    // container frees the name.
    if (container === null || this.#isUnrun(container)) await this.context.engine.remove(this.id);
    await this.context.clock.sleep(pauseMs(this.#startTries - 1, MAX_RESTART_PAUSE_MS), signal);
    this.#again = true;
  }

  /** Returns whether this agent created the container, but it never ran. */
  #isUnrun({ machineId, running, exitCode }: ContainerDetail): boolean {
    return machineId === this.context.machineId && !running && exitCode === null;
  }

  /** Reports a running process as RUNNING, regardless of what it does, because its GPUs were checked before. */
  async #confirm(desired: DesiredInstance, container: ContainerDetail): Promise<void> {
    // The container was started before this agent.
    const wrong = this.#upSince === null ? wrongGpus(this.context.gpus, desired, container) : null;
    if (wrong !== null) return this.#fail(desired, wrong, 'host');
    this.#attempt.hasRun = true;
    this.#upSince ??= this.context.clock.now();
    this.#volumes.watch(desired);
    const same = this.#observed.imagePorts?.join() === container.imagePorts.join();
    this.#observe({ phase: 'RUNNING', message: null, ...(!same && { imagePorts: container.imagePorts }) });
  }

  /** Whether the command has ended and won't be started again. It may have ended while no agent was running. */
  async #hasExited(desired: DesiredInstance, container: ContainerDetail | null): Promise<boolean> {
    if (desired.restart === undefined || container === null) return false;
    if (this.#exited !== desired.start && !(await this.context.records.hasEnded(container, desired.start)))
      return false;
    if (desired.restart === 'ON_FAILURE' && container.exitCode !== 0) return false;
    this.#exited = desired.start;
    this.#upSince = null;
    this.#attempt.hasRun = true;
    this.#volumes.watch(desired);
    this.#observe({ phase: 'EXITED', exitCode: container.exitCode, message: null });
    return true;
  }

  get #hasSecretFiles(): boolean {
    return Object.keys(this.#attempt.secrets?.files ?? {}).length > 0;
  }

  /**
   * Requests the start's secrets once, and writes its files. A container that is restarted within a start already has
   * them, unless the host was rebooted. Returns false if the start has failed or must be tried again.
   */
  async #requestSecrets(
    desired: DesiredInstance,
    container: ContainerDetail | null,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { secretFiles } = this.context;
    if (this.#attempt.secrets === null) {
      if (container !== null && (await secretFiles.has(this.id))) return true;
      try {
        this.#attempt.secrets = await this.context.secretsOf(desired);
      } catch (error) {
        if (!(error instanceof GatewayFault)) throw error;
        const { clock } = this.context;
        this.#attempt.secretsSince ??= clock.now();
        const isLate = clock.now() - this.#attempt.secretsSince >= MAX_SECRETS_MS;
        if (error.kind === 'refused' || isLate) await this.#fail(desired, error.message, 'image');
        else await clock.sleep(SECRETS_PAUSE_MS, signal);
        this.#again = error.kind !== 'refused' && !isLate;
        return false;
      }
    }
    if (this.#hasSecretFiles && !(await secretFiles.has(this.id)))
      await secretFiles.write(this.id, this.#attempt.secrets.files);
    return true;
  }

  async #pauseAfterEnd(container: ContainerDetail | null, signal: AbortSignal): Promise<void> {
    const ran = this.context.clock.now() - (this.#upSince ?? 0);
    this.#upSince = null;
    if (ran >= STABLE_MS) this.#ends = 0;
    const pause = pauseMs(this.#ends, MAX_RESTART_PAUSE_MS);
    this.#ends += 1;
    const exitCode = container?.exitCode ?? null;
    const message = `the container exited; it restarts in ${pause / 1_000} s`;
    this.#observe({ phase: 'WAITING', exitCode, restarts: this.#observed.restarts + 1, message });
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  /** Returns null if the start has failed or must be tried again. */
  async #ensureImage(desired: DesiredInstance, signal: AbortSignal): Promise<string | null> {
    const { image, secrets } = this.#attempt;
    try {
      const id = await image.ensure(desired, secrets?.registryLogin ?? null, signal);
      this.#again ||= id === null;
      return id;
    } catch (error) {
      if (!(error instanceof ImageFailed)) throw error;
      await this.#fail(desired, error.message, 'image', error.detail);
      return null;
    }
  }

  /** Fails the start. `detail` goes to the host's log, and `message` to the renter. */
  async #fail(desired: DesiredInstance, message: string, fault: Fault, detail = message): Promise<void> {
    this.#failed = desired.start;
    this.context.distrustHost();
    this.context.trouble(this.id, detail);
    await this.#ensureStopped();
    this.#observe({ phase: 'FAILED', message, fault });
  }

  /** Stops the container of a failed start. Its data stays until the instance is destroyed. */
  async #ensureStopped(): Promise<void> {
    this.#upSince = null;
    const container = await this.#inspect();
    if (container?.running && container.machineId === this.context.machineId) {
      await this.context.engine.stop(this.id, 0);
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
    if (next.phase !== 'FAILED') delete next.fault;
    if (next.volumes === undefined) delete next.volumes;
    next.message = next.message?.slice(0, MAX_MESSAGE) ?? null;
    this.#observed = next;
    const keys = Object.keys(next) as (keyof ObservedInstance)[];
    const different = keys.filter((key) => next[key] !== before[key]);
    if (different.length === 0) return;
    const progressOnly = different.every((key) => key === 'pulledBytes' || key === 'totalBytes');
    this.context.changed(progressOnly ? 'progress' : 'phase');
  }

  #newAttempt(): Attempt {
    const { context, id } = this;
    const observe = (changes: Partial<ObservedInstance>) => this.#observe(changes);
    return {
      begunAt: context.clock.now(),
      image: new InstanceImage(context, observe, (message) => context.trouble(id, message)),
      isHostTried: false,
      hostFault: null,
      isPinned: false,
      pulledAt: null,
      hasRun: false,
      secrets: null,
      secretsSince: null,
    };
  }
}
