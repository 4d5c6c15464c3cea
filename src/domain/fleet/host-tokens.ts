import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import type { Database } from '../../database/database.js';
import { hashHostToken } from './rules/host-token.js';

/** Maximum number of tokens looked up by one statement. All agents connect at the same time when a gateway starts. */
const MAX_BATCH = 200;
/** Maximum number of cached tokens. */
const MAX_CACHED = 20_000;

/**
 * Looks up machines by token. Results are cached while change notices are being received, because a notice reports
 * every revoked or replaced token. Unknown tokens are not cached.
 */
export class HostTokens {
  readonly #db: Database;
  readonly #loader: DataLoader<Buffer, string | null, string>;
  readonly #machines = new LRUCache<string, string>({ max: MAX_CACHED });
  /** Number of cache invalidations. A row read before the latest one may be stale. */
  #changes = 0;

  constructor(db: Database) {
    this.#db = db;
    this.#loader = new DataLoader((hashes) => readMachines(db, hashes), {
      cache: false,
      maxBatchSize: MAX_BATCH,
      batchScheduleFn: (send) => setImmediate(send),
    });
    db.notices.subscribe({
      onNotice: (notice) => {
        if (notice.table === 'host') this.#forget(notice.machine);
      },
      onLost: () => {
        this.#changes += 1;
        this.#machines.clear();
      },
    });
  }

  /** Returns the machine whose agent has this token, or null if the token is unknown. */
  async machineOf(token: string): Promise<string | null> {
    const hash = hashHostToken(token);
    if (hash === null) return null;
    const { notices } = this.#db;
    const name = hash.toString('latin1');
    const known = this.#machines.get(name);
    if (known !== undefined && notices.isListening) return known;
    const [seen, wasListening] = [this.#changes, notices.isListening];
    const machine = await this.#loader.load(hash);
    const mayKeep = wasListening && notices.isListening && seen === this.#changes;
    if (machine !== null && mayKeep) this.#machines.set(name, machine);
    return machine;
  }

  #forget(machineId: string): void {
    this.#changes += 1;
    for (const [name, machine] of this.#machines.entries()) if (machine === machineId) this.#machines.delete(name);
  }
}

async function readMachines({ pool }: Database, hashes: readonly Buffer[]): Promise<(string | null)[]> {
  const { rows } = await pool.query<{ hash: Buffer; machine: string }>({
    name: 'hosts-of-tokens',
    text: `select token_hash as hash, machine_id as machine from machine_host
           where token_hash = any($1::bytea[]) and revoked_at is null`,
    values: [hashes],
  });
  const machines = new Map(rows.map(({ hash, machine }) => [hash.toString('latin1'), machine]));
  return hashes.map((hash) => machines.get(hash.toString('latin1')) ?? null);
}
