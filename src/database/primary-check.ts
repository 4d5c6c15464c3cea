import type pg from 'pg';
import { only } from './only.js';

/** Maximum time that a server has to answer each of the check's queries while requests wait. */
export const CHECK_TIMEOUT_MS = 2_000;
/**
 * SQLSTATE codes of servers that don't report their position, such as some hosted ones: insufficient privilege, feature
 * not supported, object not in prerequisite state, and undefined function.
 */
const HIDES_POSITION = ['42501', '0A000', '55000', '42883'];

/**
 * Rejects connections to servers that must not be used: standbys, and a former primary that continues although a
 * standby was promoted, for example because it was frozen. A promotion starts a new timeline, so a server on an older
 * timeline than one seen before in the same cluster is such a former primary. A server that doesn't report its timeline
 * is only rejected if it is a standby.
 */
export class PrimaryCheck {
  #cluster: string | null = null;
  #newestTimeline = 0;

  /** Resolves if the client's server is the primary. */
  async check(client: Pick<pg.ClientBase, 'query'>, timeoutMs: number = CHECK_TIMEOUT_MS): Promise<void> {
    const { cluster, file } = await positionOf(client, timeoutMs);
    if (cluster === null) return;
    // For example, a database that was moved to a new cluster.
    if (cluster !== this.#cluster) this.#newestTimeline = 0;
    this.#cluster = cluster;
    const timeline = timelineOf(file);
    if (timeline < this.#newestTimeline) {
      throw new NotPrimaryError(`a former primary (timeline ${timeline}, newest ${this.#newestTimeline})`);
    }
    this.#newestTimeline = timeline;
  }
}

/** Identifies a cluster, and names the file that it writes to. */
type Position = { cluster: string; file: string } | { cluster: null; file: null };

/** Returns the server's position, or nulls if it doesn't report it. Throws if it is a standby. */
async function positionOf(client: Pick<pg.ClientBase, 'query'>, timeoutMs: number): Promise<Position> {
  const isInRecovery = 'select pg_is_in_recovery() as "isStandby"';
  const { isStandby } = await rowOf<{ isStandby: boolean }>(client, isInRecovery, timeoutMs);
  if (isStandby) throw new NotPrimaryError('a standby');
  try {
    return await rowOf<Position>(client, POSITION, timeoutMs);
  } catch (error) {
    if (HIDES_POSITION.includes((error as { code?: string }).code ?? '')) return { cluster: null, file: null };
    throw error;
  }
}

async function rowOf<Row extends object>(
  client: Pick<pg.ClientBase, 'query'>,
  text: string,
  timeoutMs: number,
): Promise<Row> {
  const query = { text, query_timeout: timeoutMs } as pg.QueryConfig;
  return only((await client.query<Row>(query)).rows);
}

/** A WAL file's name begins with its timeline, in hexadecimal digits. */
const TIMELINE_DIGITS = 8;

/** Returns the timeline of the WAL file with this name. */
export function timelineOf(file: string): number {
  return Number.parseInt(file.slice(0, TIMELINE_DIGITS), 16);
}

const POSITION = `select system_identifier::text as cluster, pg_walfile_name(pg_current_wal_lsn()) as file
  from pg_control_system()`;

class NotPrimaryError extends Error {
  /** PostgreSQL's code for a server that doesn't accept connections now. */
  readonly code = '57P03';

  constructor(what: string) {
    super(`the database server is ${what}`);
  }
}
