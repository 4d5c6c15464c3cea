import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { NotifyMode } from './pool.js';

/** A change, as the triggers of the migrations `change_notices` and `market_recheck` report it. */
export type Notice =
  | { table: 'instance'; id: string; account: string; machine: string }
  /** A container changed what it does; its instance did not change. */
  | { table: 'container'; id: string; account: string; machine: string }
  | { table: 'account'; id: string }
  | { table: 'api_key'; id: string }
  /** Without `ids`: any machine may have changed. */
  | { table: 'machine'; ids?: string[] }
  /** The token of a machine's agent was revoked or replaced. */
  | { table: 'host'; machine: string }
  | { table: 'catalogue' }
  | { table: 'top_up'; id: string; account: string }
  /** The assignment of TCP ports changed. */
  | { table: 'tcp_port' }
  /** The public ports of an instance changed. */
  | { table: 'open_port'; id: string }
  /**
   * A client requests a tunnel into an instance (domain/fleet/tunnel-requests.ts). It has no row, because it is over
   * within seconds.
   */
  | { table: 'stream'; machine: string; id: string; url: string | null }
  | { table: 'ssh_key'; id: string; account: string }
  | { table: 'market_recheck' }
  /** No table: background work may be due earlier than expected (domain/background.ts, migration `due_work`). */
  | { table: 'due_work' };

export const DUE_WORK: Notice = { table: 'due_work' };

export interface Listener {
  /**
   * Receives a notice. `isOwn`: this process made the change. Its own notices arrive in the order of its writes to one
   * account, others in any order.
   */
  onNotice(notice: Notice, isOwn: boolean): void;
  /** Notices may have been missed: everything cached must be read again. */
  onLost?(loss: Loss): void;
}

/**
 * Why notices may have been missed: the own connection broke, at any earlier time; or another gateway is gone, maybe
 * without having sent notices of its last writes.
 */
export type Loss = 'connection' | 'peer';

const CHANNEL = 'gateway';
const APPLICATION_NAME = 'gpu-rental-gateway notices';
const CONNECT_TIMEOUT_MS = 5_000;
const RECONNECT_AFTER_MS = 200;
/** A silently lost connection is detected within the sum of both. */
const PROBE_EVERY_MS = 500;
const PROBE_TIMEOUT_MS = 2_000;
/** How long an answered probe proves that notices arrive: until the next one is overdue. */
const PROBE_COUNTS_MS = 2 * PROBE_EVERY_MS;
/** Notices published during the pause are sent together: each notification is its own commit. */
const SEND_PAUSE_MS = 100;
/** Above this many unsent notices, a single one says that any machine may have changed. */
const MAX_UNSENT = 1_000;

/**
 * The change notices of the database, on a dedicated connection, which opens at the first use. When the connection
 * breaks it is reopened; until then `isListening` is false.
 *
 * A process that notifies `after` its transactions may crash between the two. The others see that its connection is
 * gone and read everything again. So it announces its connection before it counts as listening, and until then its
 * transactions notify.
 */
export class Notices {
  readonly #connectionString: string;
  readonly #notifyMode: NotifyMode;
  readonly #sender = randomUUID();
  readonly #listeners = new Set<Listener>();
  #client: pg.Client | null = null;
  #connecting: Promise<void> | null = null;
  #unsent: Notice[] = [];
  /** Time at which the oldest of them was published, on the performance.now() clock. */
  #unsentSinceMs: number | null = null;
  /** The same for the notices being sent. */
  readonly #sendingSinceMs = new Set<number>();
  /** Receives how long the oldest of the notices just sent has waited, in ms. */
  onSent: (waitedMs: number) => void = () => {};
  /** Set while unsent notices wait for more to join them. */
  #pause: NodeJS.Timeout | null = null;
  #probe: Promise<void> | null = null;
  /** Time at which the newest answered probe was sent, on the performance.now() clock. */
  #provenAtMs = Number.NEGATIVE_INFINITY;
  /** The last query; one runs at a time. */
  #last: Promise<unknown> = Promise.resolve();
  /** The known notice connections of other gateways. */
  #peers = new Set<string>();
  /** Whether a peer was gone at the last probe: its last commit may be newer than what was read since. */
  #isLossFresh = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connectionString: string, notifyMode: NotifyMode) {
    this.#connectionString = connectionString;
    this.#notifyMode = notifyMode;
  }

  get isListening(): boolean {
    return this.#client !== null;
  }

  /**
   * Whether the notices of everything that other processes committed until a moment ago have been delivered. A silently
   * lost connection still counts as listening, but not as current for longer than one second.
   */
  get isCurrent(): boolean {
    return this.isListening && performance.now() - this.#provenAtMs < PROBE_COUNTS_MS;
  }

  /** Age of the oldest notice that the other gateways may not have; 0 without any. */
  get lagMs(): number {
    const oldest = Math.min(this.#unsentSinceMs ?? Number.POSITIVE_INFINITY, ...this.#sendingSinceMs);
    return oldest === Number.POSITIVE_INFINITY ? 0 : performance.now() - oldest;
  }

  /** Subscribes a listener. Returns a function that ends the subscription. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Publishes what a transaction of this process committed. Call it before the response is sent. */
  publish(notices: readonly Notice[]): void {
    for (const notice of notices) this.#deliver(notice, true);
    if (this.#notifyMode === 'within' || notices.length === 0) return;
    this.#unsentSinceMs ??= performance.now();
    this.#unsent = this.#unsent.length < MAX_UNSENT ? [...this.#unsent, ...notices] : [{ table: 'machine' }];
    // A client waits for a tunnel.
    if (this.#pause === null || notices.some(({ table }) => table === 'stream')) void this.#sendPending();
  }

  /** Resolves once notices are received; throws if the connection can't be opened. */
  async ready(): Promise<void> {
    if (this.#client === null) await this.#connect();
  }

  /** Resolves once all unsent notices are sent and every notice sent before has been delivered to the listeners. */
  async caughtUp(): Promise<void> {
    await this.ready();
    await this.#sendPending();
    // The server delivers pending notices before it reports that a query is complete.
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
      // A notice lost in a crash costs nothing, so it doesn't have to wait for the disk.
      options: '-c synchronous_commit=off',
    });
    const onDisconnect = () => this.#onDisconnect(client);
    client.on('error', onDisconnect).on('end', onDisconnect);
    client.on('notification', ({ payload }) => {
      const { sender, ...received } = JSON.parse(payload!) as (Notice | Announcement) & { sender?: string };
      if (sender === this.#sender) return;
      if ('connection' in received) this.#peers.add(received.connection);
      else this.#deliver(received as Notice, false);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      await client.query(ANNOUNCE, [this.#sender, CHANNEL]);
      for (const peer of await peersOf(client)) this.#peers.add(peer);
    } catch (error) {
      await client.end().catch(() => {});
      throw error;
    }
    this.#client = client;
    this.#provenAtMs = performance.now();
    this.#timer ??= setInterval(() => this.#check(), PROBE_EVERY_MS).unref();
    void this.#sendPending();
  }

  #deliver(notice: Notice, isOwn: boolean): void {
    for (const listener of this.#listeners) listener.onNotice(notice, isOwn);
  }

  /** Sends the unsent notices. Those unsent when the connection breaks are sent on the next one. */
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

  /** Detects a dead connection, and other gateways that have gone. Without others it begins no transaction. */
  #check(): void {
    const client = this.#client;
    if (client === null || this.#probe !== null) return;
    const probe = async () => {
      await this.#last.catch(() => {});
      const sentAtMs = performance.now();
      // Every other gateway has announced itself, or existed before this one.
      if (this.#peers.size === 0 && !this.#isLossFresh) await answered(client);
      else await this.#checkPeers(client);
      this.#provenAtMs = sentAtMs;
    };
    this.#last = probe();
    this.#probe = this.#last
      .then(
        () => {},
        () => this.#onDisconnect(client),
      )
      .finally(() => {
        this.#probe = null;
      });
  }

  async #checkPeers(client: pg.Client): Promise<void> {
    const known = [...this.#peers];
    const peers = new Set(await peersOf(client));
    const gone = known.filter((peer) => !peers.has(peer));
    // A peer announced in the meantime may be missing here: the next probe checks it.
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

/** Sent to the others when a connection for notices opens. */
interface Announcement {
  connection: string;
}

/** Resolves once the server has answered an empty message, which begins no transaction. */
function answered(client: pg.Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.query<pg.Submittable>(new Sync((error) => (error === undefined ? resolve() : reject(error))));
  });
}

/** A single Sync message (PostgreSQL: "Extended Query"). The methods are those that node-postgres calls on a query. */
class Sync implements pg.Submittable {
  /** node-postgres replaces it by one that also ends its time limit. */
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

/** Names the server process behind a connection; a process id is reused. */
const CONNECTION = `pid || ' ' || extract(epoch from backend_start)`;

const ANNOUNCE = `
  select pg_notify($2, json_build_object('sender', $1::text, 'connection', ${CONNECTION})::text)
  from pg_stat_activity where pid = pg_backend_pid()`;

/** Returns the notice connections of other gateways. */
async function peersOf(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ connection: string }>({
    name: 'peers',
    text: `select ${CONNECTION} as connection from pg_stat_activity
           where application_name = $1 and datname = current_database() and pid <> pg_backend_pid()`,
    values: [APPLICATION_NAME],
  });
  return rows.map(({ connection }) => connection);
}
