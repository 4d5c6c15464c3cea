import type { InstanceLoad, LoadLoader } from './metric-points.js';

/** Maximum number of accounts read per pass. The rest wait for the next pass. */
const MAX_ACCOUNTS = 2_000;

/**
 * Keeps a load's total delay below 20 s: up to 10 s until the next sample, one second until it is written, and then
 * this interval.
 */
const POLL_EVERY_MS = 5_000;

/** Receives the changed loads. */
type Listener = (loads: readonly InstanceLoad[]) => void;

/**
 * Delivers instance loads to the streams that request them. While there are any, a single statement reads the newest
 * samples for all of them every 5 s, and each stream is notified of the instances with a newer sample than last time.
 */
export class LoadWatch {
  readonly #loader: Pick<LoadLoader, 'ofAccounts'>;
  readonly #onFault: (error: unknown) => void;
  /** Listeners by account. Each pass starts with the accounts that have waited longest. */
  readonly #listeners = new Map<string, Map<Listener, Map<string, bigint>>>();
  #timer: NodeJS.Timeout | null = null;

  constructor(loader: Pick<LoadLoader, 'ofAccounts'>, onFault: (error: unknown) => void) {
    this.#loader = loader;
    this.#onFault = onFault;
  }

  /** Notifies the listener of changed loads until the returned function is called. */
  follow(accountId: string, listener: Listener): () => void {
    const listeners = this.#listeners.get(accountId) ?? new Map<Listener, Map<string, bigint>>();
    this.#listeners.set(accountId, listeners.set(listener, new Map()));
    this.#timer ??= setInterval(() => this.poll().catch(this.#onFault), POLL_EVERY_MS).unref();
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(accountId);
      if (this.#listeners.size > 0 || this.#timer === null) return;
      clearInterval(this.#timer);
      this.#timer = null;
    };
  }

  /** Reads the newest samples and notifies the listeners. */
  async poll(): Promise<void> {
    const watched = [...this.#listeners].slice(0, MAX_ACCOUNTS);
    if (watched.length === 0) return;
    for (const [id, listeners] of watched) {
      // Moved to the end, so that the next poll reads the other accounts first.
      this.#listeners.delete(id);
      this.#listeners.set(id, listeners);
    }
    const accountIds = watched.map(([id]) => id);
    const loads = await this.#loader.ofAccounts(accountIds);
    for (const id of accountIds) {
      for (const [listener, lastSent] of this.#listeners.get(id) ?? []) notify(listener, lastSent, loads.get(id) ?? []);
    }
  }
}

function notify(listener: Listener, lastSent: Map<string, bigint>, loads: readonly InstanceLoad[]): void {
  const fresh = loads.filter(({ instanceId, load }) => lastSent.get(instanceId) !== load.at);
  // Forget instances that are no longer running.
  lastSent.clear();
  for (const { instanceId, load } of loads) lastSent.set(instanceId, load.at);
  if (fresh.length > 0) listener(fresh);
}
