import { LRUCache } from 'lru-cache';
import type { Notices } from '../../database/notices.js';
import type { SpendLine } from '../rules/accrual.js';
import type { Account } from '../rules/lifecycle.js';

/** The account of a live key, and what its rate limit depends on. */
export interface KeyOwner extends SpendLine {
  accountId: string;
  keyId: string;
}

/** API keys and accounts remembered at most: about 1 kB for a key with its account. */
const REMEMBERED = 20_000;

/**
 * API keys that were looked up, by hash, for as long as change notices come in: a revoked key or a suspended account
 * is told by one. Nothing is remembered of unknown keys.
 */
export class ApiKeyCache {
  readonly #notices: Notices;
  readonly #keys = new LRUCache<string, { accountId: string; keyId: string }>({ max: REMEMBERED });
  readonly #lines = new LRUCache<string, SpendLine>({ max: REMEMBERED });
  /** Counts what was forgotten or changed: what was read before it may be old. */
  #changes = 0;

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice, isOwn) => {
        if (notice.table === 'api_key') this.#forgetKey(notice.id);
        if (notice.table === 'account' && !isOwn) {
          this.#changes += 1;
          this.#lines.delete(notice.id);
        }
      },
      onLost: () => {
        this.#changes += 1;
        this.#keys.clear();
        this.#lines.clear();
      },
    });
  }

  /** The remembered owner, else the one that `read` finds in the database; null when there is none. */
  async owner(hash: Buffer, read: () => Promise<KeyOwner | null>): Promise<KeyOwner | null> {
    const name = hash.toString('latin1');
    const key = this.#keys.get(name);
    const line = key && this.#lines.get(key.accountId);
    if (line !== undefined && this.#notices.isListening) return { ...key!, ...line };
    const seen = this.#changes;
    // What changed between the reading and the first notice to come again would never be told.
    const wasListening = this.#notices.isListening;
    const owner = await read();
    if (owner === null || !wasListening || seen !== this.#changes || !this.#notices.isListening) return owner;
    const { accountId, keyId, ...spendLine } = owner;
    this.#keys.set(name, { accountId, keyId });
    this.#lines.set(accountId, spendLine);
    return owner;
  }

  /** To be called with an account this process wrote, in the order of its writes, before the request is answered. */
  noteAccount({ id, suspendedAt, spendUnits, burnRate, settledAt }: Account): void {
    this.#changes += 1;
    if (suspendedAt !== null) this.#lines.delete(id);
    else if (this.#lines.has(id)) this.#lines.set(id, { spendUnits, burnRate, settledAt });
  }

  #forgetKey(keyId: string): void {
    this.#changes += 1;
    for (const [name, key] of this.#keys.entries()) if (key.keyId === keyId) this.#keys.delete(name);
  }
}
