import { LRUCache } from 'lru-cache';

/** Of connections that have not logged in yet. */
export interface StrangerBounds {
  /** In all. */
  max: number;
  /** Of one client network. */
  maxPerNetwork: number;
  /** Connections of one network at once; after them one more each `everyMs`. One that logs in does not count. */
  burst: number;
  everyMs: number;
}

const BOUNDS: StrangerBounds = { max: 256, maxPerNetwork: 128, burst: 128, everyMs: 250 };
/** Networks remembered at most; one that is forgotten begins with nothing counted. */
const REMEMBERED = 20_000;

/** Connections that have not logged in, by the network they come from. */
export class Strangers<T> {
  readonly #bounds: StrangerBounds;
  readonly #now: () => number;
  /** Of each network the oldest first. */
  readonly #waiting = new Map<string, Set<T>>();
  readonly #left = new LRUCache<string, { count: number; atMs: number }>({ max: REMEMBERED });
  #size = 0;

  constructor(bounds = BOUNDS, now = () => performance.now()) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /**
   * Takes one in; false when its network has too many or comes too often. Where all places are taken, the oldest of the
   * network that has most makes room, through `drop`: a login takes a moment, and who has many is the least likely to mean it.
   */
  enter(network: string, stranger: T, drop: (dropped: T) => void): boolean {
    const { max, maxPerNetwork } = this.#bounds;
    if ((this.#waiting.get(network)?.size ?? 0) >= maxPerNetwork || !this.#take(network)) return false;
    if (this.#size >= max) {
      const [largest, strangers] = this.#largest();
      const [oldest] = strangers;
      this.leave(largest, oldest!);
      drop(oldest!);
    }
    const own = this.#waiting.get(network) ?? new Set();
    this.#waiting.set(network, own.add(stranger));
    this.#size += 1;
    return true;
  }

  /** It has logged in. */
  loggedIn(network: string, stranger: T): void {
    if (!this.leave(network, stranger)) return;
    const left = this.#left.get(network);
    if (left !== undefined) left.count = Math.min(this.#bounds.burst, left.count + 1);
  }

  /** It is gone; false when it was before. */
  leave(network: string, stranger: T): boolean {
    const own = this.#waiting.get(network);
    if (own === undefined || !own.delete(stranger)) return false;
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

  #largest(): [network: string, strangers: Set<T>] {
    let largest: [string, Set<T>] | null = null;
    for (const entry of this.#waiting) if (largest === null || entry[1].size > largest[1].size) largest = entry;
    return largest!;
  }
}
