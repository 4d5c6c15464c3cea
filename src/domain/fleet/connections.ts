import type { Database } from '../../database/database.js';
import { type Clock, formatInstant } from '../kernel/time.js';

/** Interval at which ongoing use is written to the database, in milliseconds. */
const WRITE_EVERY_MS = 60_000;

/**
 * Tracks clients connected to instances through this process, by tunnel or SSH but not by log stream. For instances
 * that stop when idle, it records when they were last in use, so that any gateway can decide whether to stop them. It
 * writes immediately if the instance was not in use in the previous minute, and otherwise once per minute. If a gateway
 * crashes, its connections close, and at most one minute of use goes unrecorded.
 */
export class Connections {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #onFault: (error: unknown) => void;
  readonly #open = new Map<string, number>();
  /**
   * Instances used since the last write. Bounded by the number of connections that can be opened within a minute, each
   * of which needs a tunnel.
   */
  #used = new Set<string>();
  /** Runs only while an instance is in use, so a process without connections has no timer. */
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(db: Database, clock: Clock, onFault: (error: unknown) => void) {
    this.#db = db;
    this.#clock = clock;
    this.#onFault = onFault;
  }

  /** Marks the instance as being in use until the returned function is called. */
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
      const left = (this.#open.get(instanceId) ?? 0) - 1;
      if (left > 0) this.#open.set(instanceId, left);
      else this.#open.delete(instanceId);
    };
  }

  /** Records all use since the last write. If the write fails, the next one includes it. */
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
    // Instances that come into use after this point are written separately.
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
