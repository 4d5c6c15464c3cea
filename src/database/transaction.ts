import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { isConflict } from './faults.js';

/** Tries of one transaction that meets conflicts. */
const MAX_ATTEMPTS = 6;
const BACKOFF_STEP_MS = 8;

/** A write that lost against another and must be decided again from fresh rows. */
export class StaleReadError extends Error {}

/** A statement that is prepared once on a connection, by its name; `null` text for null, lists as text[]. */
export interface PreparedStatement {
  name: string;
  text: string;
  values: readonly (string | number | bigint | null | readonly string[])[];
}

/** Names that are prepared on a connection. */
const preparedOn = new WeakMap<pg.PoolClient, Set<string>>();

/**
 * A READ COMMITTED transaction that takes few messages: statements that need not wait for an answer travel together, the
 * first with BEGIN and the last with COMMIT. Each is still executed by itself and sees what was committed before it
 * began, so that one that reads after one that locks reads what the lock protects.
 */
export class Transaction {
  readonly #client: pg.PoolClient;
  #hasBegun = false;
  #waiting: PreparedStatement[] = [];
  /** Why the connection can't be used again. */
  fault: Error | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  /** Executes what waits and then these, in one message. Gives the rows of each of these. */
  async run(...statements: PreparedStatement[]): Promise<pg.QueryResultRow[][]> {
    return (await this.#send(statements)).slice(-statements.length).map(({ rows }) => rows);
  }

  /** Executes them with the next message, at the latest with COMMIT. */
  later(...statements: PreparedStatement[]): void {
    this.#waiting.push(...statements);
  }

  /** Executes a statement in a message of its own, after what waits. */
  async query<T extends pg.QueryResultRow>(
    query: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<T>> {
    if (!this.#hasBegun || this.#waiting.length > 0) await this.#send([]);
    return this.#client.query<T>(query, values);
  }

  async commit(): Promise<void> {
    if (this.#hasBegun || this.#waiting.length > 0) await this.#send([], 'COMMIT');
  }

  async rollback(): Promise<void> {
    if (this.#hasBegun) await this.#client.query('ROLLBACK');
  }

  async #send(statements: readonly PreparedStatement[], last?: string): Promise<pg.QueryResult[]> {
    const sent = [...this.#waiting, ...statements];
    this.#waiting = [];
    await this.#prepare(sent);
    // Planned once for all values: the statements find their rows by key, whatever the values.
    const begin = sent.length > 0 ? 'BEGIN; SET LOCAL plan_cache_mode = force_generic_plan' : 'BEGIN';
    const parts = [...(this.#hasBegun ? [] : [begin]), ...sent.map(execution), ...(last === undefined ? [] : [last])];
    this.#hasBegun = true;
    // Several results where the message holds several statements, which the types don't know.
    const results = (await this.#client.query(parts.join('; '))) as pg.QueryResult | pg.QueryResult[];
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
      // Some may be prepared and some not.
      this.fault = error as Error;
      throw error;
    }
    for (const name of missing.keys()) prepared.add(name);
  }
}

/**
 * Runs `work` in one transaction and commits what it returns. Deadlocks, serialization failures, id collisions and
 * StaleReadError are tried again with jitter, at most `maxAttempts` times in all; everything else rolls back and is thrown.
 */
export async function inTransaction<T>(
  pool: pg.Pool,
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

async function attemptOnce<T>(pool: pg.Pool, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  const transaction = new Transaction(client);
  let broken: Error | undefined;
  // A connection that ends while it is checked out says so by an event, which unheard would end the process.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    const result = await work(transaction);
    await transaction.commit();
    return result;
  } catch (error) {
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

/** Unlike a parameter, text in a statement ends at a zero byte, and what follows would be taken for another message. */
function literal(value: PreparedStatement['values'][number]): string {
  if (value === null) return 'null';
  if (typeof value === 'object') return `ARRAY[${value.map(literal).join(', ')}]::text[]`;
  const text = String(value);
  if (text.includes('\0')) throw new Error('a value for the database holds a zero byte');
  return pg.escapeLiteral(text);
}
