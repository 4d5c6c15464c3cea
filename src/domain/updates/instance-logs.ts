import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { isAccepted } from '../accounts/api-keys.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields } from '../fields.js';
import type { LogSource, WantedLogs } from '../log-source.js';
import { DomainError } from '../rules/errors.js';
import { type LogLine, MAX_LOG_LINE, readLogLine } from '../rules/log-line.js';
import type { Instant } from '../rules/time.js';
import type { Stream, Subscriber } from './subscriptions.js';

/** Characters of one answer: of more the last are kept. */
const MAX_ANSWER = 1_000_000;
/** Lines and characters that wait for a slow reader; then the container's lines wait in the engine's file. */
const MAX_WAITING_LINES = 500;
const MAX_WAITING = 250_000;
const READ_WITHIN_MS = 20_000;
/** With its time. */
const MAX_RAW_LINE = MAX_LOG_LINE + 64;

export interface LogsInput {
  id: string;
  tail?: number | null | undefined;
  since?: Instant | null | undefined;
}

/** The last lines, oldest first. Counts as one of the account's open subscriptions while it is read. */
export async function instanceLogs(
  deps: Deps,
  caller: Subscriber,
  { id, ...input }: LogsInput,
  gone: AbortSignal,
): Promise<LogLine[]> {
  const tail = checkOptional('tail', fields.logTail, input.tail)!;
  const slot = deps.subscriptions.open('logs', caller);
  const signal = AbortSignal.any([gone, AbortSignal.timeout(READ_WITHIN_MS)]);
  try {
    const wanted = { opener: caller, instanceId: id, tail, since: input.since ?? null, follow: false };
    const source = await opened(deps, wanted, signal);
    const queue = new LineQueue(source, signal);
    const lines: LogLine[] = [];
    let size = 0;
    for (let batch = await queue.next(); batch !== null; batch = await queue.next()) {
      for (const line of batch) {
        lines.push(line);
        size += line.text.length;
        while (size > MAX_ANSWER || lines.length > tail) size -= lines.shift()!.text.length;
      }
    }
    return lines.sort(byTime);
  } finally {
    slot.close();
  }
}

/**
 * The last lines and then each as it is written, in batches. It goes on over stops and starts of the container, and ends
 * with the instance, the key or the reader.
 */
export async function followLogs(
  deps: Deps,
  caller: Subscriber,
  { id, ...input }: LogsInput,
  gone: AbortSignal,
): Promise<AsyncIterableIterator<LogLine[]>> {
  const tail = checkOptional('tail', fields.logTail, input.tail)!;
  const slot = deps.subscriptions.open('logs', caller);
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    slot.close();
  };
  gone.addEventListener('abort', end, { once: true });
  if (gone.aborted) end();
  const wanted = { opener: caller, instanceId: id, tail, since: input.since ?? null, follow: true };
  try {
    const first = await opened(deps, wanted, ending.signal);
    const lines = batchesOf(deps, wanted, first, slot, ending);
    const iterator: AsyncIterableIterator<LogLine[]> = {
      next: () => lines.next(),
      return: () => {
        end();
        return lines.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  } catch (error) {
    end();
    throw error;
  }
}

async function* batchesOf(
  deps: Deps,
  wanted: WantedLogs,
  first: LogSource,
  slot: Stream,
  ending: AbortController,
): AsyncGenerator<LogLine[], void> {
  let last = '';
  try {
    for (let source: LogSource | null = first; source !== null; ) {
      const queue = new LineQueue(source, ending.signal);
      for (let batch = await queue.next(); batch !== null; batch = await queue.next()) {
        const news = batch.filter(({ time }) => time === '' || time > last);
        if (news.length > 0) yield news;
        last = news.at(-1)?.time || last;
      }
      source = await reopened(deps, { ...wanted, tail: last === '' ? wanted.tail : null }, last, slot, ending.signal);
    }
  } catch (error) {
    if (ending.signal.aborted) return;
    if (!(await isAccepted(deps, wanted.opener)))
      throw new DomainError('unauthorized', 'the API key is no longer accepted');
    throw error;
  } finally {
    ending.abort();
    slot.close();
  }
}

/** The engine ends what it sends when the container ends: looks again when that may have changed. Null at the end. */
async function reopened(
  deps: Deps,
  wanted: WantedLogs,
  last: string,
  slot: Stream,
  signal: AbortSignal,
): Promise<LogSource | null> {
  if ((await slot.nextChanges()) === null) return null;
  const since = last === '' ? wanted.since : BigInt(Math.floor(Date.parse(last) / 1_000));
  return opened(deps, { ...wanted, since }, signal);
}

function opened({ openLogs }: Deps, wanted: WantedLogs, signal: AbortSignal): Promise<LogSource> {
  if (openLogs === null) throw new DomainError('unavailable', 'nothing reaches into instances here');
  return openLogs(wanted, signal);
}

function byTime(a: LogLine, b: LogLine): number {
  return a.time < b.time ? -1 : a.time > b.time ? 1 : 0;
}

/** Both streams of a container as lines. Stops reading while too many wait. */
class LineQueue {
  readonly #source: LogSource;
  #waiting: LogLine[] = [];
  #size = 0;
  #open = 2;
  #fault: Error | null = null;
  #wake: () => void = () => {};

  constructor(source: LogSource, signal: AbortSignal) {
    this.#source = source;
    this.#read(source.stdout, 'STDOUT');
    this.#read(source.stderr, 'STDERR');
    const abort = () => this.#fail(new DomainError('unavailable', 'the machine takes too long to answer'));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  }

  /** What has come since the last call, oldest first; null at the end. */
  async next(): Promise<LogLine[] | null> {
    while (this.#waiting.length === 0 && this.#open > 0 && this.#fault === null) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      this.#size = 0;
      this.#source.stdout.resume();
      this.#source.stderr.resume();
      return batch.sort(byTime);
    }
    if (this.#fault !== null) throw this.#fault;
    this.#source.destroy();
    return null;
  }

  #read(stream: Readable, name: LogLine['stream']): void {
    const decoder = new StringDecoder('utf8');
    let rest = '';
    const take = (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!.slice(0, MAX_RAW_LINE);
      for (const line of lines) this.#add(readLogLine(line, name));
    };
    stream.on('data', (chunk: Buffer) => {
      take(decoder.write(chunk));
      if (this.#waiting.length >= MAX_WAITING_LINES || this.#size >= MAX_WAITING) stream.pause();
    });
    stream.once('end', () => {
      if (rest !== '') this.#add(readLogLine(rest, name));
      this.#open -= 1;
      this.#wake();
    });
    stream.once('error', () => this.#fail(new DomainError('unavailable', 'the machine broke the stream off')));
  }

  #add(line: LogLine): void {
    this.#waiting.push(line);
    this.#size += line.text.length;
    this.#wake();
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#source.destroy();
    this.#wake();
  }
}
