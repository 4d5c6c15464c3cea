import type { Engine, PullProgress, RegistryLogin } from './engine/engine.js';
import { Limiter } from './limiter.js';

export interface WantedPull {
  reference: string;
  login: RegistryLogin | null;
  /**
   * Runs before the registry is contacted, and may reject the pull. Null for images chosen by the operator, which are
   * not checked.
   */
  check: (() => Promise<void>) | null;
}

/** A caller waiting for a pull. */
interface Follower {
  /** Called when the engine begins the pull, or immediately if it has already begun. */
  begun(): void;
  progress(progress: PullProgress): void;
}

interface Pull {
  followers: Set<Follower>;
  hasBegun: boolean;
  last: PullProgress | null;
  stop: AbortController;
  done: Promise<unknown>;
}

/** Pulls an image once for all callers that want it at the same time with the same login. */
export class SharedPulls {
  readonly #limiter: Limiter;
  readonly #pulls = new Map<string, Pull>();

  constructor(
    private readonly engine: Engine,
    maxConcurrent: number,
  ) {
    this.#limiter = new Limiter(maxConcurrent);
  }

  /**
   * Rejects with the engine's error, or when the signal is aborted. The pull itself ends when its last caller leaves.
   */
  pull(wanted: WantedPull, follower: Follower, signal: AbortSignal): Promise<void> {
    const key = JSON.stringify([wanted.reference, wanted.check !== null, wanted.login]);
    const pull = this.#pulls.get(key) ?? this.#begin(key, wanted);
    return new Promise((resolve, reject) => {
      const leave = () => {
        signal.removeEventListener('abort', cancel);
        pull.followers.delete(follower);
      };
      const cancel = () => {
        leave();
        if (pull.followers.size === 0) this.#end(key, pull);
        reject(new Error('the pull was cancelled'));
      };
      pull.followers.add(follower);
      if (signal.aborted) return cancel();
      signal.addEventListener('abort', cancel, { once: true });
      if (pull.hasBegun) follower.begun();
      if (pull.last !== null) follower.progress(pull.last);
      pull.done.then(() => resolve(), reject).finally(leave);
    });
  }

  #begin(key: string, { reference, login, check }: WantedPull): Pull {
    const stop = new AbortController();
    const pull: Pull = { followers: new Set(), hasBegun: false, last: null, stop, done: Promise.resolve() };
    const run = async () => {
      pull.hasBegun = true;
      for (const follower of pull.followers) follower.begun();
      await check?.();
      const progress = (now: PullProgress) => {
        pull.last = now;
        for (const follower of pull.followers) follower.progress(now);
      };
      await this.engine.pull(reference, login, progress, stop.signal);
    };
    this.#pulls.set(key, pull);
    // Begins after this call returns, so that the first caller is notified of the beginning too.
    pull.done = Promise.resolve()
      .then(() => this.#limiter.run(run, stop.signal))
      .finally(() => this.#end(key, pull));
    pull.done.catch(() => {});
    return pull;
  }

  #end(key: string, pull: Pull): void {
    pull.stop.abort();
    if (this.#pulls.get(key) === pull) this.#pulls.delete(key);
  }
}
