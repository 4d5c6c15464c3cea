import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

/** What the triggers of the migration `change_notices` tell. */
export type Notice =
  | { table: 'instance'; id: string; account: string; machine: string }
  | {
      table: 'account';
      id: string;
      suspended: boolean;
      /** The account's line: units spent at the second `settled`, growing by `burn` each second. */
      spend: string;
      burn: string;
      settled: string;
    }
  | { table: 'api_key'; id: string }
  /** Without `ids`: any. */
  | { table: 'machine'; ids?: string[] }
  | { table: 'catalogue' };

export interface Listener {
  onNotice(notice: Notice): void;
  /** From now on changes may be missed: what is kept must be read anew. */
  onLost?(): void;
}

const CHANNEL = 'gateway';
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_AFTER_MS = 200;
/** A connection that is gone without a word is found out in the sum of both. */
const PROBE_EVERY_MS = 1_000;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * The change notices of the database, in order of commit, on a connection of their own. Opened by the first that needs
 * them; when the connection breaks it is made again, and meanwhile `isListening` is false.
 */
export class Notices {
  readonly #connectionString: string;
  readonly #listeners = new Set<Listener>();
  #client: pg.Client | null = null;
  #connecting: Promise<void> | null = null;
  #probe: Promise<void> | null = null;
  #query: Promise<unknown> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connectionString: string) {
    this.#connectionString = connectionString;
  }

  get isListening(): boolean {
    return this.#client !== null;
  }

  /** Returns what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves while notices come in; throws the fault when they can't. */
  async ready(): Promise<void> {
    if (this.#client === null) await this.#connect();
  }

  /** Resolves once every notice of what was committed before has been handed on. */
  async caughtUp(): Promise<void> {
    await this.ready();
    const client = this.#client;
    // The server hands out waiting notices before it says that a query is done. One query at a time.
    this.#query = this.#query.catch(() => {}).then(() => client?.query('select 1'));
    await this.#query;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#connecting?.catch(() => {});
    await this.#client?.end().catch(() => {});
  }

  #connect(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new Error('connection terminated: the process ends'));
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #open(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#connectionString,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
      application_name: 'gpu-rental-gateway notices',
    });
    const lose = () => this.#lose(client);
    client.on('error', lose).on('end', lose);
    client.on('notification', ({ payload }) => this.#hand(JSON.parse(payload!)));
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#timer ??= setInterval(() => this.#check(), PROBE_EVERY_MS).unref();
  }

  #hand(notice: Notice): void {
    for (const listener of this.#listeners) listener.onNotice(notice);
  }

  /** Also a connection that only seems to stand ends here. */
  #check(): void {
    const client = this.#client;
    if (client === null) return;
    this.#probe ??= this.caughtUp()
      .catch(() => this.#lose(client))
      .finally(() => {
        this.#probe = null;
      });
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
    for (const listener of this.#listeners) listener.onLost?.();
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    while (!this.#isClosed && this.#client === null) {
      await this.#connect().catch(() => sleep(RECONNECT_AFTER_MS, undefined, { ref: false }));
    }
  }
}
