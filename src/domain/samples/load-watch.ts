import type { InstanceLoad, LoadLoader } from './metric-points.js';

/** Accounts that one look reads at most; others wait for the next look. */
const MAX_ACCOUNTS = 2_000;

/**
 * What happens in a container is seen within 20 s, however these fall: 10 s until the next sample, a second until it is written,
 * and this.
 */
const LOOK_EVERY_MS = 5_000;

/** Receives the loads that changed. */
type Listener = (loads: readonly InstanceLoad[]) => void;

/**
 * What instances do, for the streams that ask for it: every 5 s one statement reads the newest samples for all of them,
 * while there is one. A stream is told of the instances whose sample is another than the one it was told of last.
 */
export class LoadWatch {
  readonly #loader: Pick<LoadLoader, 'ofAccounts'>;
  readonly #onFault: (error: unknown) => void;
  /** By account. A look begins with those that waited longest. */
  readonly #listeners = new Map<string, Map<Listener, Map<string, bigint>>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(loader: Pick<LoadLoader, 'ofAccounts'>, onFault: (error: unknown) => void) {
    this.#loader = loader;
    this.#onFault = onFault;
  }

  /** Until the function that it returns is called. */
  follow(accountId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(accountId) ?? new Map<Listener, Map<string, bigint>>();
    this.#listeners.set(accountId, listeners.set(listener, new Map()));
    this.#timer ??= setInterval(() => this.look().catch(this.#onFault), LOOK_EVERY_MS).unref();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(accountId);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  /** Reads what is new, and tells it. */
  async look(): Promise<void> {
    const accountIds = [...this.#listeners.keys()].slice(0, MAX_ACCOUNTS);
    if (accountIds.length === 0) return;
    for (const id of accountIds) this.#moveBack(id);
    const loads = await this.#loader.ofAccounts(accountIds);
    for (const id of accountIds) {
      for (const [listener, told] of this.#listeners.get(id) ?? []) tell(listener, told, loads.get(id) ?? []);
    }
  }

  #moveBack(accountId: string): void {
    const listeners = this.#listeners.get(accountId)!;
    this.#listeners.delete(accountId);
    this.#listeners.set(accountId, listeners);
  }
}

function tell(listener: Listener, told: Map<string, bigint>, loads: readonly InstanceLoad[]): void {
  const fresh = loads.filter(({ instanceId, load }) => told.get(instanceId) !== load.at);
  // What no longer runs is forgotten.
  told.clear();
  for (const { instanceId, load } of loads) told.set(instanceId, load.at);
  if (fresh.length > 0) listener(fresh);
}
