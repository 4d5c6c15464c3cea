import { performance } from 'node:perf_hooks';
import type { Notice, Notices } from '../../database/notices.js';
import { DomainError } from '../kernel/errors.js';
import type { Instant } from '../kernel/time.js';
import type { InstanceLoad } from '../samples/metric-points.js';

/** Maximum number of open streams per account in this process. It is enough for several console pages. */
export const MAX_STREAMS_PER_ACCOUNT = 10;
/** Maximum number of open unauthenticated streams in this process. Each one costs work whenever the offers change. */
export const MAX_STREAMS_WITHOUT_KEY = 200;
/**
 * Maximum number of unauthenticated streams per address. Several people may share an address, each with several pages
 * open.
 */
export const MAX_STREAMS_PER_ADDRESS = 20;
/** Number of unauthenticated streams reserved for addresses that have none open. */
export const STREAMS_FOR_NEWCOMERS = 50;
/** Only an estimate, because streams end whenever their readers close the page. */
const RETRY_AFTER_SECONDS = 5;
const SHUTDOWN_RETRY_AFTER_SECONDS = 1;
/** Minimum interval between a stream's reads of the offers, because every rental by any account changes them. */
const OFFERS_INTERVAL_MS = 1_000;
/** Time between one batch of turns and the next. */
const TURN_MS = 4;
/** Above this number of changed instances, their ids are dropped and any instance is assumed to have changed. */
const MAX_CHANGED_INSTANCES = 1_000;

/** The account and key that opened a stream. */
export interface Subscriber {
  accountId: string;
  keyId: string;
  /** Hash of the token for the key's console session, if there is one. */
  session?: Buffer;
  /** When the key or session expires. Null or undefined means never. */
  expiresAt?: Instant | null;
}

/** A client that opened a stream without a key. */
export interface Visitor {
  /** The visitor's network, derived from the address by `clientNetworkOf`. */
  address: string;
}

/** A stream's topic. `account` combines an account's balance, instances and top-ups. */
export type Topic = 'instances' | 'balance' | 'offers' | 'topUps' | 'account' | 'logs';

/** The data that may have changed since a stream's last read. */
export interface StreamChanges {
  /** Whether the key may no longer be accepted. */
  access: boolean;
  /** Whether the stream's data may have changed. */
  content: boolean;
  /** Ids of the changed instances. Null if any instance may have changed. */
  instances: ReadonlySet<string> | null;
  /** Whether a top-up may have changed. */
  topUps: boolean;
  /** Instances with a newer sample than the one last sent. Empty unless the reader requested loads. */
  loads: readonly InstanceLoad[];
}

/**
 * This process's open streams. A change notice from any process marks the affected streams as changed. Each stream then
 * reads the new state when its reader requests more. This bounds the memory used by a slow reader, however many changes
 * it misses.
 */
export class SubscriptionRegistry {
  /** Streams by account. Unauthenticated ones are stored under null. */
  readonly #streams = new Map<string | null, Set<Stream>>();
  readonly #offers = new Set<Stream>();
  /** Number of unauthenticated streams, by address. */
  readonly #ofAddress = new Map<string, number>();
  readonly #turns = new Turns();
  #isClosed = false;

  constructor(notices: Notices) {
    notices.subscribe({
      onNotice: (notice) => this.#dispatch(notice),
      onLost: () => {
        for (const stream of this.#all()) stream.markAllChanged();
      },
    });
  }

  /** The number of open streams. */
  get size(): number {
    return this.#all().length;
  }

  /** Opens a stream, which the caller must close. Throws rate_limited if too many are open. */
  open(topic: Topic, reader: Subscriber | Visitor): Stream {
    if (this.#isClosed) {
      throw new DomainError('unavailable', 'the gateway is shutting down; connect again', {
        retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
      });
    }
    const subscriber = 'keyId' in reader ? reader : null;
    const account = subscriber?.accountId ?? null;
    const streams = this.#streams.get(account) ?? new Set();
    // A client with a key has an address too, but only visitors are counted by address.
    const address = 'keyId' in reader ? null : reader.address;
    if (address === null) checkAccountLimit(streams.size);
    else this.#enter(address, streams.size);
    const stream = new Stream(topic, subscriber, this.#turns, () => {
      streams.delete(stream);
      this.#offers.delete(stream);
      if (streams.size === 0) this.#streams.delete(account);
      if (address !== null) this.#leave(address);
    });
    this.#streams.set(account, streams.add(stream));
    if (topic === 'offers') this.#offers.add(stream);
    return stream;
  }

  #enter(address: string, openWithoutKey: number): void {
    const held = this.#ofAddress.get(address) ?? 0;
    checkAddressLimit(held, openWithoutKey);
    this.#ofAddress.set(address, held + 1);
  }

  #leave(address: string): void {
    const left = (this.#ofAddress.get(address) ?? 0) - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
  }

  /** Closes all streams and rejects new ones. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#all()) stream.close();
  }

  #all(): Stream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams]);
  }

  #dispatch(notice: Notice): void {
    const { table } = notice;
    if (table === 'api_key') {
      for (const stream of this.#all())
        if (stream.subscriber?.keyId === notice.id) stream.markChanged({ access: true });
    }
    if (table === 'account') {
      for (const stream of this.#streams.get(notice.id) ?? []) {
        if (stream.topic === 'account') stream.markChanged({ access: true, content: true, instance: null });
        else stream.markChanged({ access: true, content: stream.topic === 'balance' });
      }
    }
    if (table === 'top_up') {
      for (const stream of this.#streams.get(notice.account) ?? []) {
        if (stream.topic === 'topUps') stream.markChanged({ content: true });
        if (stream.topic === 'account') stream.markChanged({ content: true, instance: null, topUps: true });
      }
    }
    if (table === 'instance') {
      for (const stream of this.#streams.get(notice.account) ?? []) {
        // The balance may have changed too. For example, leaving a reserved term early costs money without necessarily
        // changing the burn rate, and an account notice is only sent when the burn rate, credit or suspension changes.
        if (stream.topic !== 'offers' && stream.topic !== 'topUps') {
          stream.markChanged({ content: true, instance: notice.id });
        }
      }
    }
    if (table === 'container') {
      for (const stream of this.#streams.get(notice.account) ?? []) {
        if (stream.topic === 'instances' || stream.topic === 'account' || stream.topic === 'logs') {
          stream.markChanged({ content: true, instance: notice.id });
        }
      }
    }
    if (table === 'instance' || table === 'machine' || table === 'catalogue') {
      for (const stream of this.#offers) stream.markChanged({ content: true });
    }
  }
}

function checkAccountLimit(held: number): void {
  if (held >= MAX_STREAMS_PER_ACCOUNT)
    throw tooManyStreams(
      `this account already has ${MAX_STREAMS_PER_ACCOUNT} open subscriptions, the maximum; close one first`,
    );
}

function checkAddressLimit(held: number, openWithoutKey: number): void {
  const shared = MAX_STREAMS_WITHOUT_KEY - STREAMS_FOR_NEWCOMERS;
  if (openWithoutKey >= MAX_STREAMS_WITHOUT_KEY) {
    throw tooManyStreams(
      `the gateway already has ${MAX_STREAMS_WITHOUT_KEY} open subscriptions without a key, the maximum; retry later`,
    );
  }
  if (held >= MAX_STREAMS_PER_ADDRESS) {
    throw tooManyStreams(
      `this IP address already has ${MAX_STREAMS_PER_ADDRESS} open subscriptions without a key, the maximum; close one first`,
    );
  }
  if (held > 0 && openWithoutKey >= shared) {
    throw tooManyStreams(
      `an IP address may have only one subscription without a key while more than ${shared} are open`,
    );
  }
}

function tooManyStreams(message: string): DomainError {
  return new DomainError('rate_limited', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/**
 * Spreads the reads caused by a single change over up to one second. Streams read sequentially, so that other work can
 * run in between.
 */
class Turns {
  /** Callbacks of the waiting streams, at most one per stream. */
  #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | null = null;

  /** Calls `go` when its turn comes, which is immediately if no stream is waiting. */
  take(go: () => void): void {
    this.#waiting.push(go);
    if (this.#timer === null) this.#runNext();
  }

  #runNext(): void {
    const now = this.#waiting.splice(0, Math.ceil((this.#waiting.length * TURN_MS) / OFFERS_INTERVAL_MS));
    const dueAt = performance.now() + TURN_MS;
    for (const go of now) go();
    this.#timer = setTimeout(() => this.#next(performance.now() - dueAt), TURN_MS).unref();
  }

  /** If the timer fired late, the process is busy, so its other work gets the same amount of time again. */
  #next(lateMs: number): void {
    this.#timer = null;
    if (this.#waiting.length === 0) return;
    if (lateMs > TURN_MS) this.#timer = setTimeout(() => this.#next(0), lateMs).unref();
    else this.#runNext();
  }
}

/** An open subscription and its unread changes. */
export class Stream {
  readonly topic: Topic;
  readonly subscriber: Subscriber | null;
  readonly #turns: Turns;
  readonly #onClose: () => void;
  #access = true;
  #content = true;
  #instances: Set<string> | null = null;
  #topUps = true;
  /** Each instance's newest unread sample. */
  #loads = new Map<string, InstanceLoad>();
  #resume: (() => void) | null = null;
  /**
   * Time on the monotonic clock before which changed content is not read. After that, the stream waits for its turn.
   */
  #nextContentMs = 0;
  #turn: 'none' | 'requested' | 'granted' = 'granted';
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** Called once the stream is closed. */
  onClosed: () => void = () => {};

  constructor(topic: Topic, subscriber: Subscriber | null, turns: Turns, onClose: () => void) {
    this.topic = topic;
    this.subscriber = subscriber;
    this.#turns = turns;
    this.#onClose = onClose;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  markChanged({
    access = false,
    content = false,
    instance,
    topUps = false,
  }: {
    access?: boolean;
    content?: boolean;
    /** The instance that changed. Null means none, and undefined means any. */
    instance?: string | null;
    topUps?: boolean;
  }): void {
    this.#access ||= access;
    this.#topUps ||= topUps;
    if (content && instance === undefined) this.#instances = null;
    // Only the first unread change starts a set of ids. Later on, null already stands for any instance.
    if (instance !== undefined && !this.#content) this.#instances = new Set();
    if (instance != null) this.#instances?.add(instance);
    if (this.#instances !== null && this.#instances.size > MAX_CHANGED_INSTANCES) this.#instances = null;
    this.#content ||= content;
    this.#wakeReader();
  }

  markAllChanged(): void {
    this.markChanged({ access: true, content: true, topUps: true });
  }

  /** Adds instances' newest samples. */
  addLoads(loads: readonly InstanceLoad[]): void {
    for (const load of loads) this.#loads.set(load.instanceId, load);
    this.#wakeReader();
  }

  /**
   * Resolves to the unread changes, and clears them, as soon as there are any. Resolves to null once the stream is
   * closed.
   */
  async nextChanges(): Promise<StreamChanges | null> {
    while (!this.#isClosed && !this.#access && !this.#isContentDue && this.#loads.size === 0) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
        this.#wakeReader();
      });
    }
    if (this.#isClosed) return null;
    const isContent = this.#isContentDue;
    const loads = [...this.#loads.values()];
    const changes = {
      access: this.#access,
      content: isContent,
      instances: this.#instances,
      topUps: this.#topUps,
      loads,
    };
    this.#access = false;
    this.#loads = new Map();
    if (isContent) {
      this.#content = false;
      this.#instances = null;
      this.#topUps = false;
      if (this.topic === 'offers') {
        this.#nextContentMs = performance.now() + OFFERS_INTERVAL_MS;
        this.#turn = 'none';
      }
    }
    return changes;
  }

  /** Closes the stream and ends its reader's wait. Further calls have no effect. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#onClose();
    this.onClosed();
    this.#resume?.();
  }

  get #isContentDue(): boolean {
    return this.#content && this.#turn === 'granted';
  }

  #wakeReader(): void {
    if (this.#resume === null || this.#isClosed) return;
    if (this.#access || this.#isContentDue || this.#loads.size > 0) {
      this.#resume();
      this.#resume = null;
    } else if (this.#content && this.#turn === 'none' && this.#timer === undefined) {
      const waitMs = this.#nextContentMs - performance.now();
      if (waitMs > 0) this.#timer = setTimeout(() => this.#requestTurn(), Math.ceil(waitMs));
      else this.#requestTurn();
    }
  }

  #requestTurn(): void {
    this.#timer = undefined;
    this.#turn = 'requested';
    this.#turns.take(() => {
      this.#turn = 'granted';
      this.#wakeReader();
    });
  }
}
