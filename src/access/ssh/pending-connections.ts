import { LRUCache } from 'lru-cache';

/** Limits on connections that haven't logged in. */
export interface PendingBounds {
  /** Maximum pending connections in total. */
  max: number;
  /** Maximum pending connections per client network. */
  maxPerNetwork: number;
  /**
   * Number of connections that a network may open in a burst, after which it may open one every `everyMs`. Connections
   * that log in don't count.
   */
  burst: number;
  everyMs: number;
}

const BOUNDS: PendingBounds = { max: 256, maxPerNetwork: 128, burst: 128, everyMs: 250 };
/** Maximum number of networks remembered. A forgotten network starts from zero again. */
const REMEMBERED = 20_000;

/** Connections that haven't logged in, by client network. */
export class PendingConnections<T> {
  readonly #bounds: PendingBounds;
  readonly #now: () => number;
  /** Connections per network, oldest first. */
  readonly #waiting = new Map<string, Set<T>>();
  readonly #left = new LRUCache<string, { count: number; atMs: number }>({ max: REMEMBERED });
  #size = 0;

  constructor(bounds = BOUNDS, now = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * Adds a connection. Returns false if its network has too many or connects too often. If all slots are taken, calls
   * `drop` for the oldest connection from the network with the most. A login takes only a moment, so that connection is
   * the least likely to be legitimate.
   */
  enter(network: string, connection: T, drop: (dropped: T) => void): boolean {
    const { max, maxPerNetwork } = this.#bounds;
    if ((this.#waiting.get(network)?.size ?? 0) >= maxPerNetwork || !this.#take(network)) return false;
    if (this.#size >= max) {
      const found = this.#oldestOfLargest();
      if (found === null) return false;
      this.leave(found.network, found.oldest);
      drop(found.oldest);
    }
    const own = this.#waiting.get(network) ?? new Set();
    this.#waiting.set(network, own.add(connection));
    this.#size += 1;
    return true;
  }

  /** Called when a connection has logged in. */
  loggedIn(network: string, connection: T): void {
    if (!this.leave(network, connection)) return;
    const left = this.#left.get(network);
    if (left !== undefined) left.count = Math.min(this.#bounds.burst, left.count + 1);
  }

  /** Called when a connection is gone. Returns false if it had already been removed. */
  leave(network: string, connection: T): boolean {
    const own = this.#waiting.get(network);
    if (own === undefined || !own.delete(connection)) return false;
    if (own.size === 0) this.#waiting.delete(network);
    this.#size -= 1;
    return true;
  }

  #take(network: string): boolean {
    const { burst, everyMs } = this.#bounds;
    const now = this.#now();
    const left = this.#left.get(network) ?? { count: burst, atMs: now };
    left.count = Math.min(burst, left.count + (now - left.atMs) / everyMs);
    left.atMs = now;
    this.#left.set(network, left);
    if (left.count < 1) return false;
    left.count -= 1;
    return true;
  }

  /** Returns the oldest connection from the network with the most. */
  #oldestOfLargest(): { network: string; oldest: T } | null {
    let largest = { network: '', connections: new Set<T>() };
    for (const [network, connections] of this.#waiting)
      if (connections.size > largest.connections.size) largest = { network, connections };
    for (const oldest of largest.connections) return { network: largest.network, oldest };
    return null;
  }
}
