import { LRUCache } from 'lru-cache';
import type { Notices } from '../../database/notices.js';
import type { SpendLine } from '../kernel/accrual.js';
import type { Account } from '../kernel/lifecycle.js';
import type { KeyRestrictions } from './rules/key-restrictions.js';

/** The account that owns an unrevoked API key, with the data needed for its rate limit. */
export interface KeyOwner extends SpendLine, KeyRestrictions {
  accountId: string;
  keyId: string;
  /** The passkey that opened the console session, if this is the owner of one. */
  passkeyId?: string | null;
}

/**
 * Maximum number of cached API keys and, separately, of cached accounts. A key and its account take about 1 kB
 * together.
 */
const MAX_ENTRIES = 20_000;

/**
 * Caches the owners of API keys and console sessions, indexed by the hash of the key or session token. Entries are used
 * only while change notices are being received, because notices report revoked keys and suspended accounts. Unknown
 * keys are not cached.
 */
export class ApiKeyCache {
  readonly #notices: Notices;
  readonly #keys = new LRUCache<string, Omit<KeyOwner, keyof SpendLine>>({ max: MAX_ENTRIES });
  readonly #spendLines = new LRUCache<string, SpendLine>({ max: MAX_ENTRIES });
  /** Incremented by each invalidation. A row read before the latest one may be stale. */
  #invalidations = 0;

  constructor(notices: Notices) {
    this.#notices = notices;
    notices.subscribe({
      onNotice: (notice, isOwn) => {
        if (notice.table === 'api_key') this.#removeKey(notice.id);
        if (notice.table === 'account' && !isOwn) this.forgetAccount(notice.id);
      },
      onLost: () => {
        this.#invalidations += 1;
        this.#keys.clear();
        this.#spendLines.clear();
      },
    });
  }

  /** Returns the owner from the cache, falling back to `read`. Returns null if the key is unknown. */
  async get(hash: Buffer, read: () => Promise<KeyOwner | null>): Promise<KeyOwner | null> {
    const name = hash.toString('latin1');
    const key = this.#keys.get(name);
    if (key !== undefined && this.#notices.isListening) {
      const spendLine = this.#spendLines.get(key.accountId);
      if (spendLine !== undefined) return { ...key, ...spendLine };
    }
    const invalidations = this.#invalidations;
    // If notices weren't being received yet during the read, a change made right after it would never be reported.
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
   * Updates the cached account. Call this for every account written by this process, in write order and before the
   * response is sent.
   */
  updateAccount({ id, suspendedAt, spendUnits, burnRate, settledAt }: Account): void {
    this.#invalidations += 1;
    if (suspendedAt !== null) this.#spendLines.delete(id);
    else if (this.#spendLines.has(id)) this.#spendLines.set(id, { spendUnits, burnRate, settledAt });
  }

  /** Removes the cached account, which is then read again. */
  forgetAccount(id: string): void {
    this.#invalidations += 1;
    this.#spendLines.delete(id);
  }

  /** Removes a key or session that is no longer valid. */
  forget(hash: Buffer): void {
    this.#invalidations += 1;
    this.#keys.delete(hash.toString('latin1'));
  }

  #removeKey(keyId: string): void {
    this.#invalidations += 1;
    for (const [name, key] of this.#keys.entries()) if (key.keyId === keyId) this.#keys.delete(name);
  }
}
