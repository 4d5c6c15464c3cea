import type { DesiredInstance, ObservedInstance, StartSecrets } from '../agent-protocol/protocol.js';
import { type AgentClock, pauseMs } from './clock.js';
import { type Engine, EngineFault, PullFault, type PullProgress } from './engine/engine.js';
import { type ImageName, readImageName, withTag } from './engine/image-name.js';
import { type PullLimits, PullPace } from './pull-pace.js';
import type { Registries } from './registries.js';
import type { SharedPulls, WantedPull } from './shared-pulls.js';

/** Everything that an image needs from its machine. */
export interface ImageContext {
  engine: Engine;
  registries: Registries;
  /** Images whose local version on the host is used, in addition to the images in the operator's templates. */
  ownImages: ReadonlySet<string>;
  clock: AgentClock;
  pullLimits: PullLimits;
  pulls: SharedPulls;
}

/** Maximum pause before the next attempt. */
export const MAX_RESTART_PAUSE_MS = 60_000;
const PULL_CHECK_MS = 1_000;
const PULL_TRIES = 6;
/** Time to keep trying an unreachable registry, since it may be restarting. Podman's own attempts take longer. */
const UNREACHABLE_MS = 5_000;

/**
 * Thrown if the image isn't tried again in this start. `detail` is for the host's log, and the message is for the
 * renter.
 */
export class ImageFailed extends Error {
  constructor(
    message: string,
    readonly detail: string,
  ) {
    super(message);
  }
}

/** The image used by one start. */
export class InstanceImage {
  #tries = 0;
  #pace: PullPace | null = null;
  /** Bytes last reported by any attempt. */
  #pulledBytes: number | null = null;
  /** Time of the first pull in the current series that couldn't connect to the registry. */
  #unreachableSince: number | null = null;
  readonly #context: ImageContext;
  readonly #observe: (changes: Partial<ObservedInstance>) => void;
  readonly #trouble: (message: string) => void;

  /** `trouble` receives messages for the host's log. */
  constructor(
    context: ImageContext,
    observe: (changes: Partial<ObservedInstance>) => void,
    trouble: (message: string) => void,
  ) {
    this.#context = context;
    this.#observe = observe;
    this.#trouble = trouble;
  }

  /**
   * Returns the image's id. Returns null if it was interrupted, or if the caller must call it again, in which case any
   * pause is already over. Only the operator's own images are taken from the host. Others may have been pulled with
   * another renter's login, or may never have been meant to run here. Rejects with ImageFailed.
   */
  async ensure(desired: DesiredInstance, login: StartSecrets['registryLogin'], signal: AbortSignal) {
    const { image, fromTemplate = false } = desired;
    if (!fromTemplate && !this.#context.ownImages.has(image)) return this.#pull(readImageName(image)!, login, signal);
    const reference = withTag(image);
    return (await this.#context.engine.imageId(reference)) ?? this.#pull({ reference, registry: null }, login, signal);
  }

  /** Pulls the image. A null `registry` means the operator's choice, which is not checked. */
  async #pull(
    { registry, reference }: Omit<ImageName, 'registry'> & { registry: string | null },
    login: StartSecrets['registryLogin'],
    signal: AbortSignal,
  ): Promise<string | null> {
    const { engine, registries, clock } = this.#context;
    const check = registry === null ? null : () => registries.check({ registry, reference });
    let began = clock.now();
    const begun = () => {
      began = clock.now();
      this.#observe({ phase: 'PULLING', message: null });
    };
    try {
      await this.#pullInTime({ reference, check, login }, begun, signal);
    } catch (error) {
      if (!signal.aborted) await this.#pauseAfter(error as Error, began, signal);
      return null;
    }
    if (signal.aborted) return null;
    const pulled = await engine.imageId(reference);
    if (pulled === null) await this.#pauseAfter(new Error('the image is missing after the pull'), began, signal);
    return pulled;
  }

  /**
   * Pulls within time limits, because the registry may be the renter's own and the machine is blocked in the meantime.
   */
  async #pullInTime(wanted: WantedPull, begun: () => void, signal: AbortSignal): Promise<void> {
    const { pulls, clock, pullLimits } = this.#context;
    const late = new AbortController();
    const cancel = () => late.abort();
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    let fault: string | null = null;
    const watch = async (pace: PullPace) => {
      while (!late.signal.aborted && fault === null) {
        fault = pace.fault(clock.now());
        if (fault === null) await clock.sleep(PULL_CHECK_MS, late.signal);
      }
      late.abort();
    };
    const follower = {
      begun: () => {
        begun();
        this.#pace?.again(clock.now());
        this.#pace ??= new PullPace(pullLimits, clock.now());
        void watch(this.#pace);
      },
      progress: (progress: PullProgress) => {
        this.#pace?.record(progress);
        this.#pulledBytes = progress.pulledBytes;
        this.#observe(progress);
      },
    };
    try {
      await pulls.pull(wanted, follower, late.signal);
    } catch (error) {
      if (fault !== null) throw new EngineFault('refused', fault, true);
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
      late.abort();
    }
  }

  /** Pauses before the next attempt. Rejects if there will be none. */
  async #pauseAfter(error: Error, began: number, signal: AbortSignal): Promise<void> {
    const fault = error instanceof EngineFault ? error : null;
    if (fault?.kind === 'unreachable') throw error;
    const detail = fault instanceof PullFault ? fault.detail : error.message;
    const pause = pauseMs(this.#tries, MAX_RESTART_PAUSE_MS);
    this.#tries += 1;
    const isUnreachable = fault instanceof PullFault && fault.unreachable && !this.#pulledBytes;
    this.#unreachableSince = isUnreachable ? (this.#unreachableSince ?? began) : null;
    const waited = this.#context.clock.now() + pause - (this.#unreachableSince ?? Number.POSITIVE_INFINITY);
    if (fault?.final || this.#tries >= PULL_TRIES || waited > UNREACHABLE_MS) {
      throw new ImageFailed(error.message, detail);
    }
    this.#trouble(detail);
    this.#observe({ phase: 'WAITING', message: error.message });
    await this.#context.clock.sleep(pause, signal);
  }
}
