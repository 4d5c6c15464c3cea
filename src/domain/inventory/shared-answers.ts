import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { Inventory } from './inventory.js';

/** Maximum shared responses. Beyond it, each reader gets its own. */
const MAX_ANSWERS = 500;

/** A response, and the different one that it replaced. */
interface Shared<Answer> {
  version: number;
  answer: Answer;
  before: Answer | null;
}

/**
 * Public responses that many streams follow. Each is built once per change of the inventory and stays the same object
 * while its content is unchanged, so that derived values can be cached with it.
 */
export class SharedAnswers<Answer extends object> {
  readonly #inventory: Inventory;
  /** Answers being built now, by key. */
  readonly #inProgress = new Map<string, { version: number; answer: Promise<Answer> }>();
  readonly #answers = new LRUCache<string, Shared<Answer>>({ max: MAX_ANSWERS });

  constructor(inventory: Inventory) {
    this.#inventory = inventory;
  }

  /** Returns the current result of `find`, which `key` identifies. */
  async get(key: string, find: () => Promise<Answer>): Promise<Answer> {
    await this.#inventory.current();
    const { version } = this.#inventory;
    const known = this.#answers.get(key);
    if (known?.version === version) return known.answer;
    const underWay = this.#inProgress.get(key);
    if (underWay?.version === version) return underWay.answer;
    const answer = this.#make(key, version, find);
    this.#inProgress.set(key, { version, answer });
    try {
      return await answer;
    } finally {
      if (this.#inProgress.get(key)?.answer === answer) this.#inProgress.delete(key);
    }
  }

  async #make(key: string, version: number, find: () => Promise<Answer>): Promise<Answer> {
    const found = await find();
    const latest = this.#answers.get(key);
    if (latest !== undefined && isDeepStrictEqual(latest.answer, found)) {
      latest.version = version;
      return latest.answer;
    }
    this.#answers.set(key, { version, answer: found, before: latest?.answer ?? null });
    return found;
  }

  /** Whether two responses of one key differ. */
  differ(key: string, one: Answer, other: Answer): boolean {
    if (one === other) return false;
    const known = this.#answers.get(key);
    const isStep = known?.answer === other && known.before === one;
    return isStep || !isDeepStrictEqual(one, other);
  }
}
