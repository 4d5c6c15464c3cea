import type { Pool } from 'pg';
import type { ActivityNote } from '../kernel/activity-note.js';
import { formatInstant, type Instant, SECONDS_PER_HOUR } from '../kernel/time.js';

/** Maximum number of rows waiting to be written. Further rows are dropped and counted. */
const MAX_WAITING = 5_000;

interface Waiting {
  note: ActivityNote;
  at: Instant;
  /** Error code if the request was rejected, null if it succeeded. */
  code: string | null;
  times: number;
}

/**
 * Buffers activity that is written separately from its effect: rejected requests, and the few successful requests that
 * take effect without a transaction. Rejections with the same key, operation and code within an hour are combined into
 * one row with a count, so that a flood of rejections can't fill the disk. The count is bounded by the rate limit.
 */
export class ActivityLog {
  readonly #pool: Pool;
  #waiting = new Map<string, Waiting>();
  #successes = 0;
  #dropped = 0;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Number of rows dropped since the process started. */
  get dropped(): number {
    return this.#dropped;
  }

  note(note: ActivityNote, at: Instant, code: string | null): void {
    this.#successes += 1;
    const key = code === null ? `${this.#successes}` : [note.actor.keyId, note.operation, code, slotOf(at)].join(' ');
    const known = this.#waiting.get(key);
    if (known !== undefined) Object.assign(known, { note, at, times: known.times + 1 });
    else if (this.#waiting.size < MAX_WAITING) this.#waiting.set(key, { note, at, code, times: 1 });
    else this.#dropped += 1;
  }

  /** Writes the waiting rows in one statement. If the database is down, the rows are lost. */
  async flush(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const rows = [...this.#waiting.values()];
    this.#waiting = new Map();
    await this.#pool.query(WRITE, [JSON.stringify(rows.map(toJson))]);
  }
}

function toJson({ note, at, code, times }: Waiting): object {
  const { accountId, keyId, session, address } = note.actor;
  return {
    account_id: accountId,
    key_id: keyId,
    is_session: session !== undefined,
    address,
    operation: note.operation,
    targets: note.targets,
    at: formatInstant(at),
    code,
    times,
    slot: code === null ? null : Number(slotOf(at)),
  };
}

/** Returns the time slot that contains an instant. Rejections in the same slot are counted together. */
function slotOf(at: Instant): bigint {
  return at / SECONDS_PER_HOUR;
}

const WRITE = `
  insert into activity (account_id, key_id, is_session, address, operation, targets, at, code, times, slot)
  select account_id, key_id, is_session, address, operation, targets, at, code, times, slot
  from jsonb_to_recordset($1::jsonb) as waiting (account_id text, key_id text, is_session boolean, address text,
    operation text, targets text[], at timestamptz, code text, times int, slot bigint)
  order by account_id, key_id, operation, code, slot
  on conflict (key_id, operation, code, slot) where code is not null do update set
    times = activity.times + excluded.times, at = greatest(activity.at, excluded.at), targets = excluded.targets,
    address = excluded.address, is_session = excluded.is_session`;
