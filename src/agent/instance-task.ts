import { pauseMs } from './clock.js';
import type { Disks } from './disks.js';
import { type ContainerDetail, EngineFault } from './engine/engine.js';
import { readImageName } from './engine/image-name.js';
import { startFault } from './engine/start-faults.js';
import { GatewayFault } from './gateway.js';
import { type GpuAccess, MissingGpus, wrongGpus } from './gpus/gpu-access.js';
import { type ImageContext, ImageFailed, InstanceImage, MAX_RESTART_PAUSE_MS } from './instance-image.js';
import type { DesiredInstance, ObservedInstance, ObservedVolume, StartSecrets } from './protocol.js';
import type { SecretFiles } from './secret-files.js';
import type { StartRecords } from './start-records.js';
import { type InstanceVolumes, VolumesFailed, VolumesWait } from './volumes/instance-volumes.js';

/** What a task needs from its machine. */
export interface TaskContext extends ImageContext {
  disks: Disks;
  gpus: GpuAccess;
  machineId: string;
  /** Between SIGTERM and SIGKILL of a container, at most. */
  stopSeconds: number;
  secretFiles: SecretFiles;
  records: StartRecords;
  /** Asks the gateway for the secrets of a start. */
  secretsOf(desired: DesiredInstance): Promise<StartSecrets>;
  /** `changed` is told of each of them when that differs; `trouble` is for the host's log. */
  volumesWith(
    changed: (volumes: ObservedVolume[] | undefined) => void,
    trouble: (message: string) => void,
  ): InstanceVolumes;
  /** The container as last seen; null when the instance has none, or none was looked for yet. */
  seen(instanceId: string): { running: boolean } | null;
  saw(instanceId: string, container: { running: boolean } | null): void;
  /** True while the agent can't know whether the gateway has rented out the machine. */
  isCutOff(): boolean;
  /** Why the instance may not start now; null when it may. Asks the engine, not its own memory. */
  obstacle(desired: DesiredInstance): Promise<string | null>;
  /** Runs the agent's own program with the GPUs of the instance: whether it stays on its processors. Rejects where the host can't. */
  tryHost(desired: DesiredInstance, signal: AbortSignal): Promise<boolean>;
  /** Of an image that did not start: the host is tried anew before the next. */
  distrustHost(): void;
  /** One start at a time on a machine. Null when the signal was aborted before its turn. */
  starting<T>(job: () => Promise<T>, signal: AbortSignal): Promise<T | null>;
  changed(kind: 'phase' | 'progress'): void;
  /** The phase changed; other tasks may be waiting for that. */
  phaseChanged(): void;
  trouble(instanceId: string, message: string): void;
}

/** `unknown`: no document names it. `undecided`: there is no document yet. */
type Want = 'running' | 'stopped' | 'absent' | 'unknown' | 'undecided';

/** A container that ran this long starts its pauses from the beginning. */
const STABLE_MS = 600_000;
/** The engine is asked again soon: it may have been restarted. */
const MAX_AWAY_PAUSE_MS = 4_000;
const MAX_TROUBLE_PAUSE_MS = 60_000;
/** An engine that is away for so long before anything of the renter's image was used fails the start. */
const MAX_ENGINE_AWAY_MS = 600_000;
/** What follows a pull, an engine that does not answer included. */
const MAX_CREATING_MS = 600_000;
/** Before secrets are asked for again, of a gateway that was out of reach. */
const SECRETS_PAUSE_MS = 2_000;
/** A gateway that is out of reach for longer fails the start. */
const MAX_SECRETS_MS = 600_000;
const START_TRIES = 3;
const MAX_MESSAGE = 1_000;

/** Who is at fault when a start fails for good: what the gateway gives back hangs on it. */
type Fault = 'host' | 'image';

/** What is known of a start that is being tried. */
interface Attempt {
  begunAt: number;
  /** The host was tried by the agent's own program, before anything of the renter's image was used. */
  isHostTried: boolean;
  /** Why the host could not run that; null when it could. */
  hostFault: string | null;
  /** The engine keeps it on its processors. */
  isPinned: boolean;
  image: InstanceImage;
  /** When the image was there. */
  pulledAt: number | null;
  hasRun: boolean;
  /** Null while the gateway was not asked for them. */
  secrets: StartSecrets | null;
  /** When they were first asked for in vain. */
  secretsSince: number | null;
}

/** Brings one instance to its desired state, one step after another, never two at once. */
export class InstanceTask {
  #desired: DesiredInstance | null = null;
  #decided = false;
  #observed: ObservedInstance;
  /** The start that failed for good: it isn't tried again. */
  #failed: number | null = null;
  /** The start whose command ended and is not started again. */
  #exited: number | null = null;
  /** When the container came up in this start; null when it didn't, or ought not. */
  #upSince: number | null = null;
  #attempt: Attempt;
  /** How often it ended by itself in a row, for the pause. */
  #ends = 0;
  /** Calls in a row that the engine didn't carry out. */
  #troubles = 0;
  #startTries = 0;
  #busy = false;
  #again = false;
  #ended = false;
  readonly #volumes: InstanceVolumes;
  /** Ends what only matters for the state wanted so far: a pull, a pause. */
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

  /** Being erased, and nothing has gone wrong yet: a start of another instance waits for it. */
  get clearing(): boolean {
    // Its container is gone, and its disk: only its volumes are on their way to the store.
    const { phase } = this.#observed;
    return this.want === 'absent' && phase !== 'ERASED' && phase !== 'SAVING' && this.#troubles === 0;
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
      this.#exited = null;
      this.#attempt = this.#newAttempt();
      this.#ends = 0;
      this.#startTries = 0;
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
    const away = error instanceof EngineFault && error.kind === 'away';
    if (!away) {
      this.context.trouble(this.id, error.message);
      const words = 'the machine has a problem with this instance; its agent tries again';
      this.#observe({ message: error instanceof VolumesWait ? error.message : words });
    }
    if (this.#isGivenUp(error)) return;
    const pause = pauseMs(this.#troubles, away ? MAX_AWAY_PAUSE_MS : MAX_TROUBLE_PAUSE_MS);
    this.#troubles += 1;
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  /**
   * What keeps going wrong fails the start in the end, such as an engine that doesn't answer: its renter pays meanwhile. Before
   * anything of the renter's image was used that is the host's fault; afterwards an image may have caused it. Volumes have bounds
   * of their own.
   */
  #isGivenUp(error: Error): boolean {
    const { begunAt, isHostTried, pulledAt, hasRun } = this.#attempt;
    if (this.want !== 'running' || hasRun || this.#failed !== null || error instanceof VolumesWait) return false;
    const pullMs = this.context.pullLimits.seconds * 1_000;
    const limit = isHostTried ? (pulledAt === null ? pullMs : MAX_CREATING_MS) : MAX_ENGINE_AWAY_MS;
    if (this.context.clock.now() - (pulledAt ?? begunAt) < limit) return false;
    this.#failed = this.#desired!.start;
    const isAway = error instanceof EngineFault && error.kind === 'away';
    const message = isAway ? "the engine of the machine doesn't answer" : "the machine can't start this instance";
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
    if (want === 'undecided') return this.#look();
    return this.#bringUp(this.#desired!, signal);
  }

  async #look(): Promise<void> {
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
    const message = this.context.isCutOff() ? 'stopped because the gateway was out of reach for too long' : null;
    const owes = saves !== null && this.#volumes.owes(saves);
    if (this.#observed.phase !== 'STOPPED' || this.context.seen(this.id)?.running || owes) {
      let container = this.context.seen(this.id) === null ? null : await this.#inspect();
      if (container?.running) {
        this.#observe({ phase: 'STOPPING' });
        // Not the end of its command: once the gateway is back, it is started again.
        if (this.context.isCutOff()) await this.context.records.erase(this.id);
        await engine.stop(this.id, this.#graceSeconds());
        container = await this.#inspect();
        if (container?.running) throw new EngineFault('refused', 'the container goes on running');
      }
      await this.context.secretFiles.erase(this.id);
      // Wanted again meanwhile: a renter would read STOPPED of an instance that is about to start.
      if (this.want === 'running') return;
      if (saves !== null && !(await this.#saveVolumes(saves, signal))) return;
      this.#observe({ phase: 'STOPPED', exitCode: container?.exitCode ?? null });
    }
    this.#observe({ message });
  }

  /** False while something else is wanted by now. The GPUs are free meanwhile: nobody waits for it. */
  async #saveVolumes(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    if (!this.#volumes.owes(desired)) return true;
    this.#observe({ phase: 'SAVING' });
    this.context.phaseChanged();
    await this.#volumes.save(desired, signal);
    return !signal.aborted;
  }

  /** As the gateway says, of what the renter paid; a container that no document names has the agent's own. */
  #graceSeconds(): number {
    const { stopSeconds } = this.context;
    return Math.min(stopSeconds, this.#desired?.stopSeconds ?? stopSeconds);
  }

  async #bringUp(desired: DesiredInstance, signal: AbortSignal): Promise<void> {
    if (this.#failed === desired.start) return this.#keepDown();
    const container = await this.#inspect();
    if (container !== null && container.machineId !== this.context.machineId) {
      return this.#fail(desired, 'a container of another machine has the name of this one', 'host');
    }
    if (container?.running) return this.#confirm(desired, container);
    if (await this.#hasExited(desired, container)) return;
    if (this.#upSince !== null) return this.#pauseAfterEnd(container, signal);
    if (container === null && readImageName(desired.image) === null) {
      return this.#fail(desired, 'this is not the name of an image', 'image');
    }
    if (!this.#attempt.isHostTried && !(await this.#tryHost(desired, signal))) return;
    if (!(await this.#bringVolumes(desired, signal))) return;
    if (desired.secrets === true && !(await this.#askSecrets(desired, container, signal))) return;
    const imageId = container === null ? await this.#bringImage(desired, signal) : null;
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
   * Makes the disk, and runs the agent's own program with the GPUs: what fails here is the host's fault, since nothing of
   * the renter's image was used yet. Only a host without its disk or its GPUs ends the start at once; what else went wrong
   * is remembered, and says whose fault it is when the image does not start either. False when the start has failed.
   */
  async #tryHost(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    for (let tries = 1; ; tries += 1) {
      const { why, told, isFinal } = await this.#hostFault(desired, signal);
      if (signal.aborted) return false;
      if (why === null || (tries >= START_TRIES && !isFinal)) {
        Object.assign(this.#attempt, { isHostTried: true, hostFault: why });
        return true;
      }
      if (tries >= START_TRIES) {
        await this.#fail(desired, told ?? 'the machine could not prepare the disk of the instance', 'host', why);
        return false;
      }
      this.context.trouble(this.id, why);
      await this.context.clock.sleep(pauseMs(tries - 1, MAX_RESTART_PAUSE_MS), signal);
      if (signal.aborted) return false;
    }
  }

  /** Before the pull, whose deadlines begin after it. False when the start has failed, or is to be tried again. */
  async #bringVolumes(desired: DesiredInstance, signal: AbortSignal): Promise<boolean> {
    const bytes = { pulledBytes: null, totalBytes: null };
    try {
      await this.#volumes.bring(
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

  /** `isFinal`: the host is without its disk or its GPUs. `told` is for the renter, if `why` names nothing of the host. */
  async #hostFault(
    desired: DesiredInstance,
    signal: AbortSignal,
  ): Promise<{ why: string | null; told: string | null; isFinal: boolean }> {
    let isFinal = true;
    try {
      await this.context.disks.prepare(this.id, desired.diskGb);
      await this.context.gpus.grant(desired);
      isFinal = false;
      this.#attempt.isPinned = await this.context.tryHost(desired, signal);
      return { why: null, told: null, isFinal };
    } catch (error) {
      if (error instanceof EngineFault && error.kind === 'away') throw error;
      const why = (error as Error).message;
      const isMissing = error instanceof MissingGpus;
      return { why, told: isMissing ? why : null, isFinal: isFinal || isMissing };
    }
  }

  /** False when it may not start now: the task is woken when that may have changed. */
  async #start(desired: DesiredInstance, imageId: string | null, signal: AbortSignal): Promise<boolean> {
    const { engine, disks, machineId } = this.context;
    const obstacle = await this.context.obstacle(desired);
    if (obstacle !== null) {
      this.#observe({ phase: 'WAITING', message: obstacle });
      return false;
    }
    this.#observe({ phase: 'STARTING', message: null });
    const workspace = await disks.prepare(this.id, desired.diskGb);
    // Of a container that is there already too: the host may have lost a GPU since it was made.
    const gpus = await this.context.gpus.grant(desired);
    if (imageId !== null) {
      const { start, entrypoint = null, command, vcpus, memoryMb } = desired;
      const quotaGb = disks.limit === 'quota' ? desired.diskGb : null;
      const env = { ...desired.env, ...this.#attempt.secrets?.variables };
      const secrets = this.#hasSecretFiles ? this.context.secretFiles.path(this.id) : null;
      const cpus = this.#attempt.isPinned ? (desired.cpus ?? null) : null;
      const volumes = this.#volumes.mounts(desired);
      const given = { entrypoint, command, env, vcpus, cpus, memoryMb, gpus, workspace, volumes, secrets, quotaGb };
      await engine.create({ instanceId: this.id, machineId, start, imageId, ...given });
    }
    if (this.#hasSecretFiles) await this.context.secretFiles.own(this.id, await engine.userId(this.id));
    // Something else may be wanted by now: what was created is then found by its label.
    if (signal.aborted) return false;
    // Before its first process runs, which could hide or change what there is to see.
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
    if (error instanceof EngineFault && error.kind === 'away') throw error;
    if (error instanceof MissingGpus) return this.#fail(desired, error.message, 'host');
    this.#startTries += 1;
    const { pulledAt, hostFault, hasRun } = this.#attempt;
    const isLate = !hasRun && this.context.clock.now() - pulledAt! >= MAX_CREATING_MS;
    const { message, isFinal } = startFault(error.message);
    if (isLate || isFinal || this.#startTries >= START_TRIES || (error instanceof EngineFault && error.final)) {
      return this.#fail(desired, message, hostFault === null ? 'image' : 'host', error.message);
    }
    this.context.trouble(this.id, error.message);
    // An engine that was killed while it made a container may not be able to start it ever. Nothing of the renter's is
    // in one that never ran: it is made anew.
    const container = await this.#inspect();
    const itsOwn = container?.machineId === this.context.machineId;
    const isUnrun = itsOwn && !container!.running && container!.exitCode === null;
    // Podman may know nothing of it and still have its storage, under a name that it then refuses: removing frees that.
    if (container === null || isUnrun) await this.context.engine.remove(this.id);
    await this.context.clock.sleep(pauseMs(this.#startTries - 1, MAX_RESTART_PAUSE_MS), signal);
    this.#again = true;
  }

  /** A process that runs is RUNNING, whatever it does: its GPUs were looked at before. */
  async #confirm(desired: DesiredInstance, container: ContainerDetail): Promise<void> {
    // One that was started before this agent was.
    const wrong = this.#upSince === null ? wrongGpus(this.context.gpus, desired, container) : null;
    if (wrong !== null) return this.#fail(desired, wrong, 'host');
    this.#attempt.hasRun = true;
    this.#upSince ??= this.context.clock.now();
    this.#volumes.watch(desired);
    const same = this.#observed.imagePorts?.join() === container.imagePorts.join();
    this.#observe({ phase: 'RUNNING', message: null, ...(!same && { imagePorts: container.imagePorts }) });
  }

  /** Whether the command has ended and is not to be started again; it may have ended while no agent was there. */
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
   * Asks for the secrets of this start, once, and writes its files. A container that is started again within a start has
   * them, unless the host was started anew. False when the start has failed, or is to be tried again.
   */
  async #askSecrets(
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
    const message = `the container ended by itself and is started again after ${pause / 1_000} s`;
    this.#observe({ phase: 'WAITING', exitCode, restarts: this.#observed.restarts + 1, message });
    await this.context.clock.sleep(pause, signal);
    this.#again = true;
  }

  /** Null when the start has failed, or is to be tried again. */
  async #bringImage(desired: DesiredInstance, signal: AbortSignal): Promise<string | null> {
    const { image, secrets } = this.#attempt;
    try {
      const id = await image.bring(desired, secrets?.registryLogin ?? null, signal);
      this.#again ||= id === null;
      return id;
    } catch (error) {
      if (!(error instanceof ImageFailed)) throw error;
      await this.#fail(desired, error.message, 'image', error.words);
      return null;
    }
  }

  /** `words` go to the host's log, `message` to the renter. */
  async #fail(desired: DesiredInstance, message: string, fault: Fault, words = message): Promise<void> {
    this.#failed = desired.start;
    this.context.distrustHost();
    this.context.trouble(this.id, words);
    await this.#keepDown();
    this.#observe({ phase: 'FAILED', message, fault });
  }

  /** A start that failed leaves nothing running; what it wrote stays until the instance is destroyed. */
  async #keepDown(): Promise<void> {
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
