import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { NotifyMode } from './pool.js';

/** What changed, as the triggers of the migrations `change_notices` and `market_recheck` tell it. */
export type Notice =
  | { table: 'instance'; id: string; account: string; machine: string }
  | { table: 'account'; id: string }
  | { table: 'api_key'; id: string }
  /** Without `ids`: any. */
  | { table: 'machine'; ids?: string[] }
  | { table: 'catalogue' }
  | { table: 'market_recheck' };

export interface Listener {
  /** `isOwn`: of a write of this process, in the order of its writes of one account; others come in any order. */
  onNotice(notice: Notice, isOwn: boolean): void;
  /** Changes may have been missed: what is kept must be read anew. */
  onLost?(): void;
}

const CHANNEL = 'gateway';
const APPLICATION_NAME = 'gpu-rental-gateway notices';
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_AFTER_MS = 200;
/** A connection that is gone without a word is found out in the sum of both. */
const PROBE_EVERY_MS = 500;
const PROBE_TIMEOUT_MS = 2_000;
/** What is committed meanwhile is told together: each notification is a commit of its own. */
const TELL_PAUSE_MS = 100;
/** More than this untold: one notice that anything may have changed says as much. */
const MAX_UNTOLD = 1_000;

/**
 * The change notices of the database, on a connection of their own. Opened by the first that needs them; when the
 * connection breaks it is made again, and meanwhile `isListening` is false.
 *
 * A process that tells `after` its transactions may die between the two: the others see that its connection is gone and
 * read everything anew.
 */
export class Notices {
  readonly #connectionString: string;
  readonly #notifyMode: NotifyMode;
  readonly #sender = randomUUID();
  readonly #listeners = new Set<Listener>();
  #client: pg.Client | null = null;
  #connecting: Promise<void> | null = null;
  #untold: Notice[] = [];
  /** Runs while what is to be told waits for more. */
  #pause: NodeJS.Timeout | null = null;
  #probe: Promise<void> | null = null;
  /** One query at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #peers: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connectionString: string, notifyMode: NotifyMode) {
    this.#connectionString = connectionString;
    this.#notifyMode = notifyMode;
  }

  get isListening(): boolean {
    return this.#client !== null;
  }

  /** Returns what ends it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** To be called with what a transaction of this process committed, before the request is answered. */
  tell(notices: readonly Notice[]): void {
    for (const notice of notices) this.#hand(notice, true);
    if (this.#notifyMode === 'within' || notices.length === 0) return;
    this.#untold = this.#untold.length < MAX_UNTOLD ? [...this.#untold, ...notices] : [{ table: 'machine' }];
    if (this.#pause === null) void this.#tellOthers();
  }

  /** Resolves while notices come in; throws the fault when they can't. */
  async ready(): Promise<void> {
    if (this.#client === null) await this.#connect();
  }

  /** Resolves once all that is to be told is told, and every notice that was told before has been handed on. */
  async caughtUp(): Promise<void> {
    await this.ready();
    await this.#tellOthers();
    // The server hands out waiting notices before it says that a query is done.
    await this.#query('select 1');
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    await this.#connecting?.catch(() => {});
    await this.#last.catch(() => {});
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
      application_name: APPLICATION_NAME,
      // A notice is worth no wait for the disk.
      options: '-c synchronous_commit=off',
    });
    const lose = () => this.#lose(client);
    client.on('error', lose).on('end', lose);
    client.on('notification', ({ payload }) => {
      const { sender, ...notice } = JSON.parse(payload!) as Notice & { sender?: string };
      if (sender !== this.#sender) this.#hand(notice as Notice, false);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      this.#peers = await peersOf(client);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#timer ??= setInterval(() => this.#check(), PROBE_EVERY_MS).unref();
    void this.#tellOthers();
  }

  #hand(notice: Notice, isOwn: boolean): void {
    for (const listener of this.#listeners) listener.onNotice(notice, isOwn);
  }

  /** What is untold when the connection breaks is told on the next. */
  async #tellOthers(): Promise<void> {
    if (this.#untold.length === 0 || this.#client === null) return;
    const told = this.#untold;
    this.#untold = [];
    this.#pause ??= setTimeout(() => {
      this.#pause = null;
      void this.#tellOthers();
    }, TELL_PAUSE_MS).unref();
    const payloads = told.map((notice) => JSON.stringify({ ...notice, sender: this.#sender }));
    const tell = this.#query(`select pg_notify('${CHANNEL}', payload) from unnest($1::text[]) payload`, [payloads]);
    await tell.catch(() => {
      this.#untold = [...told, ...this.#untold];
    });
  }

  #query(text: string, values: unknown[] = []): Promise<unknown> {
    const client = this.#client;
    this.#last = this.#last.catch(() => {}).then(() => client?.query(text, values));
    return this.#last;
  }

  /** Also a connection that only seems to stand ends here. */
  #check(): void {
    const client = this.#client;
    if (client === null || this.#probe !== null) return;
    const look = async () => {
      await this.#last.catch(() => {});
      const peers = await peersOf(client);
      const gone = this.#peers.some((pid) => !peers.includes(pid));
      this.#peers = peers;
      if (gone) this.#forgetAll();
    };
    this.#last = look();
    this.#probe = this.#last
      .then(
        () => {},
        () => this.#lose(client),
      )
      .finally(() => {
        this.#probe = null;
      });
  }

  #lose(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
    this.#forgetAll();
    void this.#reconnect();
  }

  #forgetAll(): void {
    for (const listener of this.#listeners) listener.onLost?.();
  }

  async #reconnect(): Promise<void> {
    while (!this.#isClosed && this.#client === null) {
      await this.#connect().catch(() => sleep(RECONNECT_AFTER_MS, undefined, { ref: false }));
    }
  }
}

/** The server's processes for the notices of other gateways. */
async function peersOf(client: pg.Client): Promise<number[]> {
  const { rows } = await client.query<{ pid: number }>({
    name: 'peers',
    text: `select pid from pg_stat_activity
           where application_name = $1 and datname = current_database() and pid <> pg_backend_pid()`,
    values: [APPLICATION_NAME],
  });
  return rows.map(({ pid }) => pid);
}
