import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { NotifyMode } from './pool.js';
import type { PrimaryCheck } from './primary-check.js';

/** A change, as reported by the triggers in the migrations `change_notices` and `market_recheck`. */
export type Notice =
  | { table: 'instance'; id: string; account: string; machine: string }
  /** The container's state changed, but its instance did not. */
  | { table: 'container'; id: string; account: string; machine: string }
  | { table: 'account'; id: string }
  | { table: 'api_key'; id: string }
  /** Without `ids`, any machine may have changed. */
  | { table: 'machine'; ids?: string[] }
  /** A machine agent's token was revoked or replaced. */
  | { table: 'host'; machine: string }
  | { table: 'catalogue' }
  | { table: 'top_up'; id: string; account: string }
  /** TCP port assignments changed. */
  | { table: 'tcp_port' }
  /** An instance's public ports changed. */
  | { table: 'open_port'; id: string }
  /**
   * A client requests a tunnel to an instance (domain/fleet/tunnel-requests.ts). Requests are not stored in a table,
   * because they last only seconds.
   */
  | { table: 'stream'; machine: string; id: string; url: string | null }
  | { table: 'ssh_key'; id: string; account: string }
  | { table: 'market_recheck' }
  /** A root was added to the public log, or a signing key was created. */
  | { table: 'proof' }
  /** Not a table. Background work may be due earlier than expected (domain/kernel/background.ts, migration `due_work`). */
  | { table: 'due_work' };

export const DUE_WORK: Notice = { table: 'due_work' };

export interface Listener {
  /**
   * Receives a notice. `isOwn` is true if this process made the change. A process's own notices arrive in the order of
   * its writes to an account. Others may arrive in any order.
   */
  onNotice(notice: Notice, isOwn: boolean): void;
  /** Called when notices may have been missed, so that everything cached must be read again. */
  onLost?(loss: Loss): void;
}

/**
 * Why notices may have been missed. `connection` means that this process's connection broke at some point. `peer` means
 * that another gateway is gone, possibly before it sent the notices for its last writes.
 */
export type Loss = 'connection' | 'peer';

const CHANNEL = 'gateway';
const APPLICATION_NAME = 'gpu-rental-gateway notices';
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_AFTER_MS = 200;
/** A silently lost connection is detected within the sum of these two. */
const PROBE_EVERY_MS = 500;
const PROBE_TIMEOUT_MS = 2_000;
/** Time that an answered probe proves that notices arrive. It ends when the next probe is overdue. */
const PROBE_COUNTS_MS = 2 * PROBE_EVERY_MS;
/** Notices published during this pause are sent together, because each notification is a separate commit. */
const SEND_PAUSE_MS = 100;
/**
 * If there are more unsent notices than this, they are replaced by a single one, which says that any machine may have
 * changed.
 */
const MAX_UNSENT = 1_000;

/**
 * The database's change notices, received on a dedicated connection that opens on first use. If the connection breaks,
 * it is reopened, and `isListening` is false in the meantime.
 *
 * A process that notifies `after` its transactions may crash between a commit and its notices. The other processes then
 * see that its connection is gone and read everything again. For this to work, a process announces its connection
 * before it counts as listening. Until then, its transactions send the notices.
 */
export class Notices {
  readonly #connectionString: string;
  readonly #notifyMode: NotifyMode;
  readonly #primary: PrimaryCheck | null;
  readonly #sender = randomUUID();
  readonly #listeners = new Set<Listener>();
  #client: pg.Client | null = null;
  #connecting: Promise<void> | null = null;
  #unsent: Notice[] = [];
  /** When the oldest unsent notice was published, on the performance.now() clock. */
  #unsentSinceMs: number | null = null;
  /** The same for each batch of notices currently being sent. */
  readonly #sendingSinceMs = new Set<number>();
  /** Called after sending, with the number of milliseconds that the oldest notice waited. */
  onSent: (waitedMs: number) => void = () => {};
  /** Set while unsent notices wait for more to be sent with them. */
  #pause: NodeJS.Timeout | null = null;
  #probe: Promise<void> | null = null;
  /** When the newest answered probe was sent, on the performance.now() clock. */
  #provenAtMs = Number.NEGATIVE_INFINITY;
  /** The most recent query. Only one runs at a time. */
  #last: Promise<unknown> = Promise.resolve();
  /** Known notice connections of other gateways. */
  #peers = new Set<string>();
  /** Whether a peer was gone at the last probe. Its last commit may be newer than anything read since. */
  #isLossFresh = false;
  #timer: NodeJS.Timeout | undefined;
  #isAnswering = true;
  #isClosed = false;

  constructor(connectionString: string, notifyMode: NotifyMode, primary: PrimaryCheck | null = null) {
    this.#connectionString = connectionString;
    this.#notifyMode = notifyMode;
    this.#primary = primary;
  }

  get isListening(): boolean {
    return this.#client !== null;
  }

  /**
   * Whether the notices for everything that other processes had committed until a moment ago have been delivered. A
   * silently lost connection still counts as listening, but counts as current for at most one second.
   */
  get isCurrent(): boolean {
    return this.isListening && performance.now() - this.#provenAtMs < PROBE_COUNTS_MS;
  }

  /** Whether the server responds at all. False once it lets a probe or a new connection time out. */
  get isAnswering(): boolean {
    return this.#isAnswering;
  }

  /** Age of the oldest notice that other gateways may not have received, or 0 if there is none. */
  get lagMs(): number {
    const oldest = Math.min(this.#unsentSinceMs ?? Number.POSITIVE_INFINITY, ...this.#sendingSinceMs);
    return oldest === Number.POSITIVE_INFINITY ? 0 : performance.now() - oldest;
  }

  /** Subscribes a listener. Returns a function that unsubscribes it. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Publishes the changes that one of this process's transactions has committed. Call it before sending the response.
   */
  publish(notices: readonly Notice[]): void {
    for (const notice of notices) this.#deliver(notice, true);
    if (this.#notifyMode === 'within' || notices.length === 0) return;
    this.#unsentSinceMs ??= performance.now();
    this.#unsent = this.#unsent.length < MAX_UNSENT ? [...this.#unsent, ...notices] : [{ table: 'machine' }];
    // Tunnel requests are sent without a pause, because a client is waiting.
    if (this.#pause === null || notices.some(({ table }) => table === 'stream')) void this.#sendPending();
  }

  /** Resolves once notices are being received. Throws if the connection can't be opened. */
  async ready(): Promise<void> {
    if (this.#client === null) await this.#connect();
  }

  /** Resolves once all unsent notices are sent and every notice sent earlier has been delivered to the listeners. */
  async caughtUp(): Promise<void> {
    await this.ready();
    await this.#sendPending();
    // The server delivers pending notices before it reports a query as complete.
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
    if (this.#isClosed) return Promise.reject(new Error('connection terminated: the process is exiting'));
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
      // Losing a notice in a crash does no harm, so there is no need to wait for the disk.
      options: '-c synchronous_commit=off',
    });
    const onDisconnect = () => this.#onDisconnect(client);
    client.on('error', onDisconnect).on('end', onDisconnect);
    client.on('notification', ({ payload }) => {
      const { sender, ...received } = JSON.parse(payload ?? '') as (Notice | Announcement) & { sender?: string };
      if (sender === this.#sender) return;
      if ('connection' in received) this.#peers.add(received.connection);
      else this.#deliver(received as Notice, false);
    });
    try {
      await client.connect();
      await this.#primary?.check(client);
      await client.query(`listen ${CHANNEL}`);
      await client.query(ANNOUNCE, [this.#sender, CHANNEL]);
      for (const peer of await peersOf(client)) this.#peers.add(peer);
    } catch (error) {
      this.#isAnswering = !isTimeout(error);
      void client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#isAnswering = true;
    this.#provenAtMs = performance.now();
    this.#timer ??= setInterval(() => this.#check(), PROBE_EVERY_MS).unref();
    void this.#sendPending();
  }

  #deliver(notice: Notice, isOwn: boolean): void {
    for (const listener of this.#listeners) listener.onNotice(notice, isOwn);
  }

  /** Sends the unsent notices. If the connection breaks, they are sent on the next one. */
  async #sendPending(): Promise<void> {
    if (this.#unsent.length === 0 || this.#client === null) return;
    const batch = this.#unsent;
    const since = this.#unsentSinceMs ?? performance.now();
    this.#unsent = [];
    this.#unsentSinceMs = null;
    this.#sendingSinceMs.add(since);
    this.#pause ??= setTimeout(() => {
      this.#pause = null;
      void this.#sendPending();
    }, SEND_PAUSE_MS).unref();
    const payloads = batch.map((notice) => JSON.stringify({ ...notice, sender: this.#sender }));
    const sent = this.#query(`select pg_notify('${CHANNEL}', payload) from unnest($1::text[]) payload`, [payloads]);
    try {
      await sent;
      this.onSent(performance.now() - since);
    } catch {
      this.#unsent = [...batch, ...this.#unsent];
      this.#unsentSinceMs = since;
    } finally {
      this.#sendingSinceMs.delete(since);
    }
  }

  #query(text: string, values: unknown[] = []): Promise<unknown> {
    const client = this.#client;
    this.#last = this.#last.catch(() => {}).then(() => client?.query(text, values));
    return this.#last;
  }

  /** Detects a dead connection and gateways that are gone. Begins no transaction if there are no other gateways. */
  #check(): void {
    const client = this.#client;
    if (client === null || this.#probe !== null) return;
    const probe = async () => {
      await this.#last.catch(() => {});
      const sentAtMs = performance.now();
      // All other gateways are known: each has either announced itself or already existed when this connection opened.
      if (this.#peers.size === 0 && !this.#isLossFresh) await answered(client);
      else await this.#checkPeers(client);
      this.#provenAtMs = sentAtMs;
    };
    this.#last = probe();
    this.#probe = this.#last
      .then(
        () => {},
        (error) => {
          if (this.#client === client) this.#isAnswering = !isTimeout(error);
          this.#onDisconnect(client);
        },
      )
      .finally(() => {
        this.#probe = null;
      });
  }

  async #checkPeers(client: pg.Client): Promise<void> {
    const known = [...this.#peers];
    const peers = new Set(await peersOf(client));
    const gone = known.filter((peer) => !peers.has(peer));
    // A peer announced since the query may be missing from its result, so the next probe checks it.
    for (const peer of gone) this.#peers.delete(peer);
    for (const peer of peers) this.#peers.add(peer);
    if (gone.length > 0 || this.#isLossFresh) this.#reportLoss('peer');
    this.#isLossFresh = gone.length > 0;
  }

  #onDisconnect(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
    this.#reportLoss('connection');
    void this.#reconnect();
  }

  #reportLoss(loss: Loss): void {
    for (const listener of this.#listeners) listener.onLost?.(loss);
  }

  async #reconnect(): Promise<void> {
    while (!this.#isClosed && this.#client === null) {
      await this.#connect().catch(() => sleep(RECONNECT_AFTER_MS, undefined, { ref: false }));
    }
  }
}

/** Whether node-postgres gave up waiting for the server, either for a connection or for an answer. */
function isTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout/i.test(error.message);
}

/** Sent to the other gateways when a notice connection opens. */
interface Announcement {
  connection: string;
}

/** Resolves once the server has answered an empty message, which doesn't begin a transaction. */
function answered(client: pg.Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query<pg.Submittable>(new Sync((error) => (error === undefined ? resolve() : reject(error))));
  });
}

/** A single Sync message (see PostgreSQL's "Extended Query"). node-postgres calls these methods on queries. */
class Sync implements pg.Submittable {
  /** node-postgres replaces this callback with one that also clears its timeout. */
  callback: (error?: Error) => void;

  constructor(callback: (error?: Error) => void) {
    this.callback = callback;
  }

  submit(connection: pg.Connection): void {
    connection.sync();
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  handleError(error: Error): void {
    this.callback(error);
  }
}

/** Identifies the server process behind a connection. It includes the start time, because process ids are reused. */
const CONNECTION = `pid || ' ' || extract(epoch from backend_start)`;

const ANNOUNCE = `
  select pg_notify($2, json_build_object('sender', $1::text, 'connection', ${CONNECTION})::text)
  from pg_stat_activity where pid = pg_backend_pid()`;

/** Returns other gateways' notice connections. */
async function peersOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ connection: string }>({
    name: 'peers',
    text: `select ${CONNECTION} as connection from pg_stat_activity
           where application_name = $1 and datname = current_database() and pid <> pg_backend_pid()`,
    values: [APPLICATION_NAME],
  });
  return rows.map(({ connection }) => connection);
}
