import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isConflict, isReadOnly } from './faults.js';
import type { ValuedQuery } from './watch-pool.js';

/** Maximum number of attempts to run a transaction that encounters conflicts. */
const MAX_ATTEMPTS = 6;
const BACKOFF_STEP_MS = 8;
/** Time limit for each statement in a long transaction, and for the time between two statements. */
const LONG_LIMIT_MS = 600_000;
/** Maximum time that such a statement waits for a lock. It is longer than any request's transaction can last. */
const LONG_LOCK_LIMIT_MS = 60_000;

/** Thrown when a concurrent write came first, so that the decision is made again with fresh rows. */
export class StaleReadError extends Error {}

/** A statement prepared by name, once per connection. Values are sent as literals, and lists as text[]. */
/** The rows returned by each of several statements. */
type RowsOfEach<Statements> = { [Place in keyof Statements]: pg.QueryResultRow[] };

export interface PreparedStatement {
  name: string;
  text: string;
  values: readonly (string | number | bigint | null | readonly string[])[];
}

/**
 * Names of the statements prepared on each connection. They disappear with the connection, and there are only as many
 * as there are statements in the code.
 */
const preparedOn = new WeakMap<pg.PoolClient, Set<string>>();

/**
 * A READ COMMITTED transaction with few round trips. Statements whose results aren't needed yet are sent together, the
 * first with BEGIN and the last with COMMIT. Each is still executed separately and sees what was committed before it
 * began, so a read that follows a lock sees the rows that the lock protects.
 *
 * The statements form one message of the simple protocol, which ends at its first error. If the library pipelined them
 * instead, they would continue after a cancelled BEGIN, and each would commit separately.
 */
export class Transaction {
  readonly #client: pg.PoolClient;
  #hasBegun = false;
  #pending: PreparedStatement[] = [];
  /** Why the connection can't be reused. */
  fault: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /**
   * Executes the pending statements and then the given ones, all in one message. Returns the rows for each given
   * statement.
   */
  async run<Statements extends PreparedStatement[]>(...statements: Statements): Promise<RowsOfEach<Statements>> {
    const results = (await this.#send(statements)).slice(-statements.length);
    return results.map(({ rows }) => rows) as RowsOfEach<Statements>;
  }

  /** Executes the statements with the next message, or with COMMIT at the end. */
  later(...statements: PreparedStatement[]): void {
    this.#pending.push(...statements);
  }

  /** Executes the pending statements, and then this one in a separate message. */
  async query<T extends pg.QueryResultRow>(
    query: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<T>> {
    if (!this.#hasBegun || this.#pending.length > 0) await this.#send([]);
    return this.#client.query<T>(query, values);
  }

  async commit(): Promise<void> {
    if (this.#hasBegun || this.#pending.length > 0) await this.#send([], 'COMMIT');
  }

  async rollback(): Promise<void> {
    if (this.#hasBegun) await this.#client.query('ROLLBACK');
  }

  async #send(statements: readonly PreparedStatement[], last?: string): Promise<pg.QueryResult[]> {
    const sent = [...this.#pending, ...statements];
    this.#pending = [];
    await this.#prepare(sent);
    // A generic plan suits all values, because the statements find their rows by key.
    const begin = sent.length > 0 ? 'BEGIN; SET LOCAL plan_cache_mode = force_generic_plan' : 'BEGIN';
    const parts = [...(this.#hasBegun ? [] : [begin]), ...sent.map(execution), ...(last === undefined ? [] : [last])];
    const [first = begin] = parts;
    this.#hasBegun = true;
    // pg returns an array when the message contains several statements, but its types don't say so.
    const query: ValuedQuery = {
      text: parts.join('; '),
      textWithoutValues: () => sent.map(({ text }) => text).join('; ') || first,
    };
    const results = (await this.#client.query(query)) as pg.QueryResult | pg.QueryResult[];
    return Array.isArray(results) ? results : [results];
  }

  async #prepare(statements: readonly PreparedStatement[]): Promise<void> {
    const prepared = preparedOn.get(this.#client) ?? new Set();
    preparedOn.set(this.#client, prepared);
    const missing = new Map(statements.flatMap(({ name, text }) => (prepared.has(name) ? [] : [[name, text]])));
    if (missing.size === 0) return;
    try {
      await this.#client.query(Array.from(missing, ([name, text]) => `PREPARE "${name}" AS ${text}`).join('; '));
    } catch (error) {
      // Some statements may have been prepared and others not.
      this.fault = error as Error;
      throw error;
    }
    for (const name of missing.keys()) prepared.add(name);
  }
}

/** A pool, as far as a transaction uses it. */
interface Connects {
  connect(): Promise<pg.PoolClient>;
}

/**
 * Runs `work` in a transaction and returns its result after the commit. Deadlocks, serialization failures, id
 * collisions and StaleReadError are retried with jitter, up to `maxAttempts` attempts in total. Any other error is
 * rethrown after a rollback.
 */
export async function inTransaction<T>(
  pool: Connects,
  work: (transaction: Transaction) => Promise<T>,
  maxAttempts: number = MAX_ATTEMPTS,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await attemptOnce(pool, work);
    } catch (error) {
      if (attempt >= maxAttempts || !(error instanceof StaleReadError || isConflict(error))) throw error;
      await sleep(Math.random() * BACKOFF_STEP_MS * 2 ** attempt);
    }
  }
}

/**
 * Runs `work` as `inTransaction` does, but with limits suited to work that an operator waits for, such as an import, a
 * publication or a first start. On a slow machine, its statements, and the process between them, may take minutes.
 * `work` must read everything else in advance.
 */
export function inLongTransaction<T>(pool: pg.Pool, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, (transaction) => {
    transaction.later(LONG_LIMITS);
    return work(transaction);
  });
}

const LONG_LIMITS: PreparedStatement = {
  name: 'long-limits',
  text: `select set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true),
           set_config('lock_timeout', $2, true)`,
  values: [LONG_LIMIT_MS, LONG_LOCK_LIMIT_MS],
};

async function attemptOnce<T>(pool: Connects, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const transaction = new Transaction(client);
  let broken: Error | undefined;
  // If a connection breaks while it is checked out, it emits an error, which would end the process without a listener.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
    if (isReadOnly(error)) broken = error as Error;
    await transaction.rollback().catch((fault: Error) => {
      broken = fault;
    });
    throw error;
  } finally {
    client.off('error', onError);
    client.release(broken ?? transaction.fault);
  }
}

function execution({ name, values }: PreparedStatement): string {
  return values.length === 0 ? `EXECUTE "${name}"` : `EXECUTE "${name}"(${values.map(literal).join(', ')})`;
}

/**
 * Quotes a value. Throws if it contains a zero byte: unlike a parameter, a statement ends there, so the rest would be
 * read as another message.
 */
function literal(value: PreparedStatement['values'][number]): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return `ARRAY[${value.map(literal).join(', ')}]::text[]`;
  const text = String(value);
  if (text.includes('\0')) throw new Error('a database value contains a NUL byte');
  return pg.escapeLiteral(text);
}
