import type pg from 'pg';

/**
 * Rejects connections to servers that must not be used: standbys, and a former primary that continues although a
 * standby was promoted, for example because it was frozen. A promotion starts a new timeline, so a server on an older
 * timeline than one seen before is such a former primary.
 */
export class PrimaryCheck {
  #newestTimeline = 0;

  /** Resolves if the client's server is the primary. */
  async check(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    const { rows } = await client.query<{ file: string | null }>(WAL_FILE);
    const file = rows[0]!.file;
    if (file === null) throw new NotPrimaryError('a standby');
    const timeline = Number.parseInt(file.slice(0, TIMELINE_DIGITS), 16);
    if (timeline < this.#newestTimeline) {
      throw new NotPrimaryError(`a former primary (timeline ${timeline}, newest ${this.#newestTimeline})`);
    }
    this.#newestTimeline = timeline;
  }
}

/** A WAL file's name begins with its timeline, in hexadecimal digits. */
const TIMELINE_DIGITS = 8;

/** Returns the file that the server writes to. Null on a standby, where the functions would fail. */
const WAL_FILE = 'select case when not pg_is_in_recovery() then pg_walfile_name(pg_current_wal_lsn()) end as file';

class NotPrimaryError extends Error {
  /** PostgreSQL's code for a server that doesn't accept connections now. */
  readonly code = '57P03';

  constructor(what: string) {
    super(`the database server is ${what}`);
  }
}
