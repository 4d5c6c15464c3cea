import { LRUCache } from 'lru-cache';
import type { Notices } from '../../database/notices.js';
import type { SpendLine } from '../rules/accrual.js';
import type { KeyRestrictions } from '../rules/key-restrictions.js';
import type { Account } from '../rules/lifecycle.js';

/** Account of an unrevoked key, with the data that its rate limit depends on. */
export interface KeyOwner extends SpendLine, KeyRestrictions {
  accountId: string;
  keyId: string;
}

/** Maximum cached API keys, and maximum cached accounts. A key with its account takes about 1 kB. */
const MAX_ENTRIES = 20_000;

/**
 * Caches the owners of API keys, and of console sessions, by the hash of the key or of the session's token. Entries
 * are trusted only while change notices are received: a notice reports a revoked key or a suspended account. Unknown
 * keys are not cached.
 */
export class ApiKeyCache {
  readonly #notices: Notices;
  readonly #keys = new LRUCache<string, Omit<KeyOwner, keyof SpendLine>>({ max: MAX_ENTRIES });
  readonly #spendLines = new LRUCache<string, SpendLine>({ max: MAX_ENTRIES });
  /** Counts invalidations: a row read before the latest one may be stale. */
  #invalidations = 0;

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice, isOwn) => {
        if (notice.table === 'api_key') this.#removeKey(notice.id);
        if (notice.table === 'account' && !isOwn) {
          this.#invalidations += 1;
          this.#spendLines.delete(notice.id);
        }
      },
      onLost: () => {
        this.#invalidations += 1;
        this.#keys.clear();
        this.#spendLines.clear();
      },
    });
  }

  /** Returns the cached owner, or else the one that `read` finds in the database; null for an unknown key. */
  async get(hash: Buffer, read: () => Promise<KeyOwner | null>): Promise<KeyOwner | null> {
    const name = hash.toString('latin1');
    const key = this.#keys.get(name);
    const spendLine = key && this.#spendLines.get(key.accountId);
    if (spendLine !== undefined && this.#notices.isListening) return { ...key!, ...spendLine };
    const invalidations = this.#invalidations;
    // A change between the read and the first notice received after a reconnect would never be reported.
    const wasListening = this.#notices.isListening;
    const owner = await read();
    if (owner === null || !wasListening || invalidations !== this.#invalidations || !this.#notices.isListening)
      return owner;
    const { spendUnits, burnRate, settledAt, ...ofKey } = owner;
    this.#keys.set(name, ofKey);
    this.#spendLines.set(owner.accountId, { spendUnits, burnRate, settledAt });
    return owner;
  }

  /**
   * Updates the cached account. Call it with every account that this process wrote, in the order of its writes, before
   * the request is answered.
   */
  updateAccount({ id, suspendedAt, spendUnits, burnRate, settledAt }: Account): void {
    this.#invalidations += 1;
    if (suspendedAt !== null) this.#spendLines.delete(id);
    else if (this.#spendLines.has(id)) this.#spendLines.set(id, { spendUnits, burnRate, settledAt });
  }

  /** Removes a key or session that has ended. */
  forget(hash: Buffer): void {
    this.#invalidations += 1;
    this.#keys.delete(hash.toString('latin1'));
  }

  #removeKey(keyId: string): void {
    this.#invalidations += 1;
    for (const [name, key] of this.#keys.entries()) if (key.keyId === keyId) this.#keys.delete(name);
  }
}
