import type { PreparedStatement, Transaction } from '../../database/transaction.js';
import { API_KEY_PREFIX } from './api-key.js';
import { formatInstant, type Instant } from './time.js';

/** The requester of a change: the API key, the console session (if any) and the client's address. */
export interface Actor {
  accountId: string;
  keyId: string;
  session?: Buffer;
  address: string;
}

/** Matches ids and names that may be recorded as targets. Anything else is silently dropped. */
const TARGET = /^[\w.:-]{1,64}$/;
const MAX_TARGETS = 10;

const INSERT = {
  name: 'insert-activity',
  text: `insert into activity (account_id, key_id, is_session, address, operation, targets, at)
         values ($1, $2, $3::boolean, $4, $5, $6, $7)`,
};

/**
 * The activity entry for one requested change, which travels with the request. The use case writes the entry in the
 * same transaction as the change. If it doesn't, the entry is written separately afterwards.
 */
export class ActivityNote {
  readonly actor: Actor;
  readonly operation: string;
  readonly #targets: string[] = [];
  #isWritten = false;

  constructor(actor: Actor, operation: string, targets: readonly unknown[]) {
    this.actor = actor;
    this.operation = operation;
    for (const target of targets) this.add(target);
  }

  /** Adds the id or name of an object that the change affects. Field values are never recorded. */
  add(target: unknown): void {
    // A client that mixes up its fields may send a key where an id belongs.
    if (typeof target !== 'string' || !TARGET.test(target) || target.includes(API_KEY_PREFIX)) return;
    if (this.#targets.length < MAX_TARGETS && !this.#targets.includes(target)) this.#targets.push(target);
  }

  get targets(): readonly string[] {
    return this.#targets;
  }

  /** Whether the entry was committed along with the change. */
  get isWritten(): boolean {
    return this.#isWritten;
  }

  /** Queues the insert with the transaction's other statements, so that it costs no extra round trip. */
  writeWith(transaction: Pick<Transaction, 'later'>, at: Instant, targets: readonly string[] = []): void {
    for (const target of targets) this.add(target);
    transaction.later(this.#insertion(at));
  }

  /** Marks the entry as written. Call it once the transaction has been committed. */
  committed(): void {
    this.#isWritten = true;
  }

  #insertion(at: Instant): PreparedStatement {
    const { accountId, keyId, session, address } = this.actor;
    const isSession = String(session !== undefined);
    return {
      ...INSERT,
      values: [accountId, keyId, isSession, address, this.operation, this.#targets, formatInstant(at)],
    };
  }
}
