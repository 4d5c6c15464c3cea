import { performance } from 'node:perf_hooks';
import type { Notice, Notices } from '../../database/notices.js';
import { DomainError } from '../rules/errors.js';

/** Most open streams of one account in this process: enough for several pages of one console. */
export const MAX_STREAMS_PER_ACCOUNT = 10;
/** Most open streams without a key in this process: each of them costs work whenever the offers change. */
export const MAX_STREAMS_WITHOUT_KEY = 200;
/** A guess: a stream ends whenever its reader closes the page. */
const RETRY_AFTER_SECONDS = 5;
const SHUTDOWN_RETRY_AFTER_SECONDS = 1;
/** Every rental by any account changes the offers: a stream reads them no more often than this. */
const OFFERS_INTERVAL_MS = 1_000;
/** Above this many, the ids are dropped: any instance may have changed. */
const MAX_CHANGED_INSTANCES = 1_000;

/** The account and key that opened a stream. */
export interface Subscriber {
  accountId: string;
  keyId: string;
  /** Of the console session that it came by. */
  session?: Buffer;
}

/** `account` is all that an account follows: its balance, instances and top-ups. */
export type Topic = 'instances' | 'balance' | 'offers' | 'topUps' | 'account' | 'logs';

/** What may have changed since a stream's last read. */
export interface Changes {
  /** Whether the key is still accepted. */
  access: boolean;
  /** The data that the stream shows. */
  content: boolean;
  /** The ids of the changed instances; null when any may have changed. */
  instances: ReadonlySet<string> | null;
  /** Whether a top-up may have changed. */
  topUps: boolean;
}

/**
 * The open streams of this process. Change notices, from whichever process, mark a stream as changed; the stream reads
 * the new state when its reader asks for more. So a slow reader takes bounded memory, however many changes it misses.
 */
export class SubscriptionRegistry {
  /** By account; streams without a key are under null. */
  readonly #streams = new Map<string | null, Set<Stream>>();
  readonly #offers = new Set<Stream>();
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

  /** The caller must close the stream. Refuses with rate_limited when too many are open. */
  open(topic: Topic, subscriber: Subscriber | null): Stream {
    if (this.#isClosed) {
      throw new DomainError('unavailable', 'the gateway is shutting down; connect again', {
        retryAfterSeconds: SHUTDOWN_RETRY_AFTER_SECONDS,
      });
    }
    const account = subscriber?.accountId ?? null;
    const streams = this.#streams.get(account) ?? new Set();
    checkRoom(subscriber, streams.size);
    const stream = new Stream(topic, subscriber, () => {
      streams.delete(stream);
      this.#offers.delete(stream);
      if (streams.size === 0) this.#streams.delete(account);
    });
    this.#streams.set(account, streams.add(stream));
    if (topic === 'offers') this.#offers.add(stream);
    return stream;
  }

  /** Closes all streams and refuses new ones. */
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
        // The balance too: leaving a reserved term early costs money but need not change the burn, and only a change of burn,
        // credit or suspension makes an account notice.
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

function checkRoom(subscriber: Subscriber | null, open: number): void {
  const [most, whose] =
    subscriber === null
      ? [MAX_STREAMS_WITHOUT_KEY, 'the gateway holds at most %d open subscriptions without a key']
      : [MAX_STREAMS_PER_ACCOUNT, 'an account holds at most %d open subscriptions'];
  if (open < most) return;
  throw new DomainError('rate_limited', whose.replace('%d', String(most)), { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/** One open subscription: what has changed and is not yet read. */
export class Stream {
  readonly topic: Topic;
  readonly subscriber: Subscriber | null;
  readonly #onClose: () => void;
  #access = true;
  #content = true;
  #instances: Set<string> | null = null;
  #topUps = true;
  #resume: (() => void) | null = null;
  /** Changed content waits until then (monotonic clock). */
  #nextContentMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(topic: Topic, subscriber: Subscriber | null, onClose: () => void) {
    this.topic = topic;
    this.subscriber = subscriber;
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
    /** The one that changed; null: none did. Left out, any may have. */
    instance?: string | null;
    topUps?: boolean;
  }): void {
    this.#access ||= access;
    this.#topUps ||= topUps;
    if (content && instance === undefined) this.#instances = null;
    // Collects ids only from the first change on; null already stands for any instance.
    if (instance !== undefined && !this.#content) this.#instances = new Set();
    if (instance != null) this.#instances?.add(instance);
    if (this.#instances !== null && this.#instances.size > MAX_CHANGED_INSTANCES) this.#instances = null;
    this.#content ||= content;
    this.#wakeReader();
  }

  markAllChanged(): void {
    this.markChanged({ access: true, content: true, topUps: true });
  }

  /** Resolves to the changes as soon as there are any, and clears them; null once the stream is closed. */
  async nextChanges(): Promise<Changes | null> {
    while (!this.#isClosed && !this.#access && !this.#isContentDue) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
        this.#wakeReader();
      });
    }
    if (this.#isClosed) return null;
    const isContent = this.#isContentDue;
    const changes = { access: this.#access, content: isContent, instances: this.#instances, topUps: this.#topUps };
    this.#access = false;
    if (isContent) {
      this.#content = false;
      this.#instances = null;
      this.#topUps = false;
      if (this.topic === 'offers') this.#nextContentMs = performance.now() + OFFERS_INTERVAL_MS;
    }
    return changes;
  }

  /** Ends the wait of the reader. Closing again does nothing. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#onClose();
    this.#resume?.();
  }

  get #isContentDue(): boolean {
    return this.#content && performance.now() >= this.#nextContentMs;
  }

  #wakeReader(): void {
    if (this.#resume === null || this.#isClosed) return;
    if (this.#access || this.#isContentDue) {
      this.#resume();
      this.#resume = null;
    } else if (this.#content && this.#timer === undefined) {
      const later = () => {
        this.#timer = undefined;
        this.#wakeReader();
      };
      this.#timer = setTimeout(later, Math.ceil(this.#nextContentMs - performance.now()));
    }
  }
}
