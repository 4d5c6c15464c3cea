import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { databaseState } from './database-state.js';
import { isConflict, isUnavailable, unavailableReason } from './faults.js';
import { only } from './only.js';
import { createPool } from './pool.js';
import { timelineOf } from './primary-check.js';
import { closeSilentConnections } from './silent-server.js';
import { inTransaction, type Transaction } from './transaction.js';

/** Maximum time that a read waits until the replica has caught up. */
const CATCH_UP_MS = 2_000;
const POLL_MS = 10;
const ACQUIRE_TIMEOUT_MS = 1_000;
const PROBE_EVERY_MS = 1_000;
/** Time for which the primary serves all reads after the replica failed. */
const PAUSE_MS = 10_000;

/**
 * A streaming replica of the primary. It serves a read only once it has everything that the primary had committed when
 * the read began. Otherwise, the primary serves the read.
 */
export class Replica {
  readonly pool: pg.Pool;
  /** Number of reads by the server that served them. */
  readonly served = { replica: 0, primary: 0 };
  /** Called with a one-line reason when the replica can't serve a read. */
  onFallback: (reason: string) => void = () => {};
  readonly #primary: pg.Pool;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  #reading = 0;
  #isAnswering = true;
  readonly #stopClosing: () => void;
  readonly #timer: NodeJS.Timeout;

  constructor(connectionString: string, primary: pg.Pool) {
    this.pool = createPool(connectionString, 'within', ACQUIRE_TIMEOUT_MS);
    this.#primary = primary;
    this.#stopClosing = closeSilentConnections(this.pool, () => this.#isAnswering);
    this.#timer = setInterval(() => void this.#probe(), PROBE_EVERY_MS).unref();
  }

  /**
   * Runs `work`, which only reads, in a transaction. If the replica fails, `work` runs again on the primary, unless
   * `canRepeat` returns false.
   */
  async read<T>(work: (transaction: Transaction) => Promise<T>, canRepeat: () => boolean): Promise<T> {
    if (performance.now() >= this.#pausedUntilMs) {
      const position = await positionOf(this.#primary);
      this.#reading += 1;
      try {
        // Addresses with several servers behind them may connect to another one each time, so each connection waits.
        const result = await inTransaction({ connect: () => this.#connect(position) }, work, 1);
        this.served.replica += 1;
        return result;
      } catch (error) {
        if (!(error instanceof ReplicaUnusable || isUnavailable(error) || isConflict(error))) throw error;
        this.#pausedUntilMs = performance.now() + PAUSE_MS;
        this.onFallback(unavailableReason(error));
        if (!canRepeat()) throw error;
      } finally {
        this.#reading -= 1;
      }
    }
    this.served.primary += 1;
    return inTransaction(this.#primary, work);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopClosing();
    await this.pool.end();
  }

  /** Returns a connection to a replica that has reached the position. Rejects with ReplicaUnusable. */
  async #connect(position: Position): Promise<pg.PoolClient> {
    const lateAtMs = performance.now() + CATCH_UP_MS;
    let client: pg.PoolClient | undefined;
    try {
      client = await this.pool.connect();
      while (!(await hasReached(client, position))) {
        if (performance.now() > lateAtMs) throw new Error(`it was behind the primary for ${CATCH_UP_MS / 1_000} s`);
        await sleep(POLL_MS);
      }
      return client;
    } catch (error) {
      client?.release(true);
      throw new ReplicaUnusable(unavailableReason(error), { cause: error });
    }
  }

  /** Detects a frozen server while reads wait for it. */
  async #probe(): Promise<void> {
    this.#isAnswering = this.#reading === 0 || (await databaseState(this.pool)) === 'ok';
  }
}

class ReplicaUnusable extends Error {}

/** A position in the write-ahead log of one cluster. */
interface Position {
  lsn: string;
  timeline: number;
  /** Identifies the cluster and the database. */
  identity: string;
}

/** Identifies the database. Replicas have the same identity. */
const IDENTITY = `(select system_identifier from pg_control_system()) || '/' || current_database()`;

async function positionOf(primary: pg.Pool): Promise<Position> {
  const { rows } = await primary.query<{ lsn: string; file: string; identity: string }>(
    `select lsn::text, pg_walfile_name(lsn) as file, ${IDENTITY} as identity from pg_current_wal_lsn() as lsn`,
  );
  const { lsn, file, identity } = only(rows);
  return { lsn, timeline: timelineOf(file), identity };
}

/**
 * Whether the replica has everything up to the position. Throws if it isn't a replica of that primary. Positions of
 * different timelines can't be compared: a replica of a former primary may have come further, but lack the new rows.
 */
async function hasReached(client: pg.PoolClient, { lsn, timeline, identity }: Position): Promise<boolean> {
  const { rows } = await client.query<{ identity: string; timeline: number; reached: boolean | null }>({
    text: `select ${IDENTITY} as identity, min_recovery_end_timeline as timeline,
             pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $1::pg_lsn as reached
           from pg_control_recovery()`,
    values: [lsn],
    query_timeout: CATCH_UP_MS,
  } as pg.QueryConfig);
  const replica = only(rows);
  if (replica.identity !== identity) throw new Error('it is not a replica of this database');
  if (replica.timeline !== timeline) throw new Error(`it is not on the primary's timeline, ${timeline}`);
  return replica.reached === true;
}
