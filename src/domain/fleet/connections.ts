import type { Database } from '../../database/database.js';
import { type Clock, formatInstant } from '../rules/time.js';

/** Interval at which continued use is written. */
const WRITE_EVERY_MS = 60_000;

/**
 * Tracks clients connected to instances through this process: tunnels and SSH logins, but not logs. For instances that
 * stop when idle it writes when they were last in use: immediately if they were not in use in the previous minute, then
 * once per minute, so that any gateway can decide. When a gateway crashes its connections close, and at most one minute
 * of use is unwritten.
 */
export class Connections {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #onFault: (error: unknown) => void;
  readonly #open = new Map<string, number>();
  /** Instances used since the last write; bounded by the connections of one minute, each of which had a tunnel. */
  #used = new Set<string>();
  /** Runs while an instance is in use, so that a process without connections has none. */
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, clock: Clock, onFault: (error: unknown) => void) {
    this.#db = db;
    this.#clock = clock;
    this.#onFault = onFault;
  }

  /** Records a connection to the instance until the returned function is called. */
  begin(instanceId: string): () => void {
    this.#open.set(instanceId, (this.#open.get(instanceId) ?? 0) + 1);
    if (!this.#used.has(instanceId)) {
      this.#used.add(instanceId);
      this.#startTurns();
      void this.#write([instanceId]).catch(this.#onFault);
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const left = this.#open.get(instanceId)! - 1;
      if (left > 0) this.#open.set(instanceId, left);
      else this.#open.delete(instanceId);
    };
  }

  /** Writes what was in use since the last time. What can't be written is written with the next. */
  write(): Promise<void> {
    this.#writing = this.#writing.catch(() => {}).then(() => this.#writeUsed());
    return this.#writing;
  }

  close(): Promise<void> {
    return this.write().finally(() => this.#endTurns());
  }

  #startTurns(): void {
    this.#timer ??= setInterval(() => void this.write().catch(this.#onFault), WRITE_EVERY_MS).unref();
  }

  #endTurns(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async #writeUsed(): Promise<void> {
    const used = this.#used;
    // Instances that come into use after this are written separately.
    this.#used = new Set(this.#open.keys());
    if (this.#used.size === 0) this.#endTurns();
    try {
      await this.#write([...used]);
    } catch (error) {
      for (const id of used) this.#used.add(id);
      this.#startTurns();
      throw error;
    }
  }

  async #write(instanceIds: readonly string[]): Promise<void> {
    if (instanceIds.length === 0) return;
    const values = [instanceIds, formatInstant(this.#clock.now())];
    await this.#db.pool.query({ name: 'instances-in-use', text: IN_USE_SQL, values });
  }
}

const IN_USE_SQL = `
  with used as (
    select instance_id from idle_watch where instance_id = any($1::text[]) order by instance_id for no key update
  )
  update idle_watch set active_at = greatest(active_at, $2::timestamptz) from used where idle_watch.instance_id = used.instance_id`;
