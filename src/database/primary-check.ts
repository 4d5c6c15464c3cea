import type pg from 'pg';

/**
 * Rejects connections to servers that must not be used: standbys, and a former primary that continues although a
 * standby was promoted, for example because it was frozen. A promotion starts a new timeline, so a server on an older
 * timeline than one seen before is such a former primary.
 */
export class PrimaryCheck {
  #newestTimeline = 0;

  /** Resolves if the client's server is the primary. PostgreSQL itself rejects the query on a standby (55000). */
  async check(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
    const { rows } = await client.query<{ file: string }>('select pg_walfile_name(pg_current_wal_lsn()) as file');
    const timeline = Number.parseInt(rows[0]!.file.slice(0, TIMELINE_DIGITS), 16);
    if (timeline < this.#newestTimeline) throw new FormerPrimaryError(timeline, this.#newestTimeline);
    this.#newestTimeline = timeline;
  }
}

/** A WAL file's name begins with its timeline, in hexadecimal digits. */
const TIMELINE_DIGITS = 8;

class FormerPrimaryError extends Error {
  /** PostgreSQL's code for a server that doesn't accept connections now. */
  readonly code = '57P03';

  constructor(timeline: number, newest: number) {
    super(`the database server is a former primary (timeline ${timeline}, newest ${newest})`);
  }
}
