import { performance } from 'node:perf_hooks';
import type { Notice, Notices } from '../../database/notices.js';
import { DomainError } from '../rules/errors.js';

/** Streams of one account open at once in this process: several pages of one console, no more. */
export const MAX_STREAMS_PER_ACCOUNT = 10;
/** Streams without a key open at once in this process: a change of the offers is work for each of them. */
export const MAX_STREAMS_WITHOUT_KEY = 200;
/** Nobody knows when a place is free; a page that was closed frees one at once. */
const RETRY_AFTER_SECONDS = 5;
const ENDING_RETRY_AFTER_SECONDS = 1;
/** Offers change with every rental of anybody: a stream of them looks no more often than this. */
const OFFERS_EVERY_MS = 1_000;
/** A reader that is slow hears of more than this: then any instance may have changed. */
const MAX_HEARD_INSTANCES = 1_000;

/** Whose key opened a stream. */
export interface Subscriber {
  accountId: string;
  keyId: string;
}

export type Subject = 'instances' | 'balance' | 'offers';

/** What may have changed since a stream last looked. */
export interface News {
  /** Whether the key is accepted. */
  access: boolean;
  /** What the stream shows. */
  content: boolean;
  /** Of the content, the instances; null for any. */
  instances: ReadonlySet<string> | null;
}

/**
 * The open streams of this process, which hear of changes by the change notices, whichever process made them. A stream
 * hears only that something changed, and reads it when its reader asks for more: however many changes a slow reader
 * misses, what is kept for it is bounded.
 */
export class SubscriptionRegistry {
  /** By account; those without a key under null. */
  readonly #streams = new Map<string | null, Set<Stream>>();
  readonly #offers = new Set<Stream>();
  #isClosed = false;

  constructor(notices: Notices) {
    notices.subscribe({
      onNotice: (notice) => this.#hear(notice),
      onLost: () => {
        for (const stream of this.#all()) stream.hearOfAnything();
      },
    });
  }

  /** Streams that are open. */
  get size(): number {
    return this.#all().length;
  }

  /** To be closed in any case. Refuses with rate_limited when too many are open. */
  open(subject: Subject, subscriber: Subscriber | null): Stream {
    if (this.#isClosed) {
      throw new DomainError('unavailable', 'the gateway is ending; connect again', {
        retryAfterSeconds: ENDING_RETRY_AFTER_SECONDS,
      });
    }
    const name = subscriber?.accountId ?? null;
    const streams = this.#streams.get(name) ?? new Set();
    checkRoom(subscriber, streams.size);
    const stream = new Stream(subject, subscriber, () => {
      streams.delete(stream);
      this.#offers.delete(stream);
      if (streams.size === 0) this.#streams.delete(name);
    });
    this.#streams.set(name, streams.add(stream));
    if (subject === 'offers') this.#offers.add(stream);
    return stream;
  }

  /** Ends all streams, and refuses new ones. */
  close(): void {
    this.#isClosed = true;
    for (const stream of this.#all()) stream.close();
  }

  #all(): Stream[] {
    return [...this.#streams.values()].flatMap((streams) => [...streams]);
  }

  #hear(notice: Notice): void {
    const { table } = notice;
    if (table === 'api_key') {
      for (const stream of this.#all()) if (stream.subscriber?.keyId === notice.id) stream.hear({ access: true });
    }
    if (table === 'account') {
      for (const stream of this.#streams.get(notice.id) ?? []) {
        stream.hear({ access: true, content: stream.subject === 'balance' });
      }
    }
    if (table === 'instance') {
      for (const stream of this.#streams.get(notice.account) ?? []) {
        // A balance too: what leaving a reserved term costs need not change the burn, which is all an account tells.
        if (stream.subject !== 'offers') stream.hear({ content: true, instance: notice.id });
      }
    }
    if (table === 'instance' || table === 'machine' || table === 'catalogue') {
      for (const stream of this.#offers) stream.hear({ content: true });
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

/** One open subscription: what it has heard of and not yet looked at. */
export class Stream {
  readonly subject: Subject;
  readonly subscriber: Subscriber | null;
  readonly #onClose: () => void;
  #access = true;
  #content = true;
  #instances: Set<string> | null = null;
  #wake: (() => void) | null = null;
  /** By the monotonic clock: content heard of earlier waits until then. */
  #quietUntilMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(subject: Subject, subscriber: Subscriber | null, onClose: () => void) {
    this.subject = subject;
    this.subscriber = subscriber;
    this.#onClose = onClose;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  hear({
    access = false,
    content = false,
    instance,
  }: {
    access?: boolean;
    content?: boolean;
    instance?: string;
  }): void {
    this.#access ||= access;
    if (content && instance === undefined) this.#instances = null;
    // Already any, or none before.
    if (instance !== undefined && !this.#content) this.#instances = new Set();
    if (instance !== undefined) this.#instances?.add(instance);
    if (this.#instances !== null && this.#instances.size > MAX_HEARD_INSTANCES) this.#instances = null;
    this.#content ||= content;
    this.#rouse();
  }

  hearOfAnything(): void {
    this.hear({ access: true, content: true });
  }

  /** Resolves as soon as there is news, which is then taken; null once the stream is closed. */
  async news(): Promise<News | null> {
    while (!this.#isClosed && !this.#access && !this.#isContentDue) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#rouse();
      });
    }
    if (this.#isClosed) return null;
    const isContent = this.#isContentDue;
    const news = { access: this.#access, content: isContent, instances: this.#instances };
    this.#access = false;
    if (isContent) {
      this.#content = false;
      this.#instances = null;
      if (this.subject === 'offers') this.#quietUntilMs = performance.now() + OFFERS_EVERY_MS;
    }
    return news;
  }

  /** A reader that waits is told that there is no more. Again: nothing happens. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#onClose();
    this.#wake?.();
  }

  get #isContentDue(): boolean {
    return this.#content && performance.now() >= this.#quietUntilMs;
  }

  #rouse(): void {
    if (this.#wake === null || this.#isClosed) return;
    if (this.#access || this.#isContentDue) {
      this.#wake();
      this.#wake = null;
    } else if (this.#content && this.#timer === undefined) {
      const later = () => {
        this.#timer = undefined;
        this.#rouse();
      };
      this.#timer = setTimeout(later, Math.ceil(this.#quietUntilMs - performance.now()));
    }
  }
}
