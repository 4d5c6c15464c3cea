import { deadline } from '../../std/deadline.js';
import { ByteQueue } from '../../std/untrusted/byte-queue.js';
import { LineSplitter } from '../../std/untrusted/line-splitter.js';
import { turn } from '../../std/untrusted/turn.js';
import { isAccepted } from '../accounts/api-keys.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional } from '../kernel/field.js';
import type { Instant } from '../kernel/time.js';
import type { UpdateDeps } from './deps.js';
import { updateFields } from './fields.js';
import type { LogSource, WantedLogs } from './log-source.js';
import { type LogLine, MAX_LOG_LINE, readLogLine } from './rules/log-line.js';
import type { Stream, Subscriber } from './subscriptions.js';

/** Maximum number of characters in a response. If there are more, the last ones are kept. */
const MAX_ANSWER = 1_000_000;
/** Maximum number of bytes buffered for a slow reader. Further lines wait in the engine's file. */
const MAX_WAITING = 250_000;
/** Number of bytes split into lines before other work gets a turn. */
const READ_CHUNK_BYTES = 32_768;
const MAX_LINES = 1_000;
const READ_TIMEOUT_MS = 20_000;
/** Maximum length of a line in UTF-8 bytes, including its mark and time. */
const MAX_RAW_LINE_BYTES = 4 * MAX_LOG_LINE + 64;
const RETRY_AFTER_SECONDS = 5;

export interface LogsInput {
  id: string;
  tail?: number | null | undefined;
  since?: Instant | null | undefined;
}

/** Returns the last lines, oldest first. Reading counts as one of the account's open subscriptions. */
export async function instanceLogs(
  deps: Pick<UpdateDeps, 'subscriptions' | 'openLogs'>,
  caller: Subscriber,
  { id, ...input }: LogsInput,
  gone: AbortSignal,
): Promise<LogLine[]> {
  const tail = checkOptional('tail', updateFields.logTail, input.tail);
  const slot = deps.subscriptions.open('logs', caller);
  try {
    const wanted = { opener: caller, instanceId: id, tail, since: input.since ?? null, follow: false };
    return lastOf(await readLines(deps, wanted, gone), tail);
  } finally {
    slot.close();
  }
}

/** Returns all retained lines, or only the last ones. */
async function readLines(
  deps: Pick<UpdateDeps, 'openLogs'>,
  wanted: WantedLogs,
  gone: AbortSignal,
): Promise<LogLine[]> {
  const limit = deadline(READ_TIMEOUT_MS, gone);
  try {
    return await readAll(new LineQueue(await opened(deps, wanted, limit.signal), limit.signal));
  } finally {
    limit.clear();
  }
}

/**
 * Yields all lines that the machine retains, oldest first, in batches. Waits for slow readers. Counts as an open
 * subscription.
 */
export async function* keptLog(
  deps: Pick<UpdateDeps, 'subscriptions' | 'openLogs'>,
  caller: Subscriber,
  id: string,
  gone: AbortSignal,
): AsyncGenerator<LogLine[], void> {
  const slot = deps.subscriptions.open('logs', caller);
  try {
    const wanted = { opener: caller, instanceId: id, tail: null, since: null, follow: false };
    const queue = new LineQueue(await opened(deps, wanted, gone), gone);
    for (let batch = await queue.next(); batch !== null; batch = await queue.next()) yield batch;
  } finally {
    slot.close();
  }
}

async function readAll(queue: LineQueue): Promise<LogLine[]> {
  const lines: LogLine[] = [];
  let size = 0;
  for (let batch = await queue.next(); batch !== null; batch = await queue.next()) {
    for (const line of batch) {
      lines.push(line);
      size += line.text.length;
      while (size > MAX_ANSWER || lines.length > MAX_LINES) size -= lines.shift()?.text.length ?? 0;
    }
  }
  return lines;
}

/** Returns the last `tail` lines, because Podman returns more than requested. */
function lastOf(lines: LogLine[], tail: number): LogLine[] {
  return tail === 0 ? [] : lines.slice(-tail);
}

/**
 * Yields the last lines and then new ones as they are written, in batches. Continues when the container stops and
 * restarts, and ends when the instance is destroyed, the key is no longer accepted or the reader stops.
 */
export async function followLogs(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'subscriptions' | 'openLogs'>,
  caller: Subscriber,
  { id, ...input }: LogsInput,
  gone: AbortSignal,
): Promise<AsyncIterableIterator<LogLine[]>> {
  const tail = checkOptional('tail', updateFields.logTail, input.tail);
  const slot = deps.subscriptions.open('logs', caller);
  const ending = new AbortController();
  const end = () => {
    ending.abort();
    slot.close();
  };
  gone.addEventListener('abort', end, { once: true });
  if (gone.aborted) end();
  const wanted = { opener: caller, instanceId: id, since: input.since ?? null };
  try {
    const read = await readLines(deps, { ...wanted, tail: MAX_LINES, follow: false }, ending.signal);
    // An unfinished line is read again once it is complete.
    const kept = read.filter(({ isPartial }) => !isPartial);
    const place = placeAfter(kept);
    const first = await opened(deps, { ...wanted, ...place.from(wanted.since), follow: true }, ending.signal);
    const lines = batchesOf(deps, { wanted, earlier: lastOf(kept, tail), place, first, slot, ending });
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

/**
 * A reader's position: the time of the last line, and the number of lines with that time. Podman reports only whole
 * seconds, so several lines may share a time.
 */
interface Place {
  time: string;
  lines: number;
  /** Parameters that make the engine resume from this position. */
  from(since: Instant | null): { tail: null; since: Instant | null };
}

function placeAfter(lines: readonly LogLine[]): Place {
  const time = lines.at(-1)?.time ?? '';
  return {
    time,
    lines: lines.filter((line) => line.time === time).length,
    from: (since) => ({ tail: null, since: time === '' ? since : BigInt(Math.floor(Date.parse(time) / 1_000)) }),
  };
}

interface Following {
  wanted: Pick<WantedLogs, 'opener' | 'instanceId' | 'since'>;
  earlier: LogLine[];
  place: Place;
  first: LogSource;
  slot: Stream;
  ending: AbortController;
}

async function* batchesOf(
  deps: Pick<UpdateDeps, 'db' | 'clock' | 'openLogs'>,
  following: Following,
): AsyncGenerator<LogLine[], void> {
  const { wanted, earlier, first, slot, ending } = following;
  let { place } = following;
  const isGrown = unlessShown();
  try {
    if (earlier.length > 0) yield earlier;
    for (let source = first; ; ) {
      const queue = new LineQueue(source, ending.signal);
      const before = place;
      let atBoundary = 0;
      const isNew = (line: LogLine) => {
        const { time } = line;
        if (line.isPartial) return isGrown(line);
        if (time !== before.time) return time > before.time;
        atBoundary += 1;
        return atBoundary > before.lines;
      };
      for (let batch = await queue.next(); batch !== null; batch = await queue.next()) {
        const newLines = batch.filter(isNew);
        if (newLines.length === 0) continue;
        const whole = newLines.filter(({ isPartial }) => !isPartial);
        if (whole.length > 0) {
          const after = placeAfter(whole);
          place = after.time === place.time ? { ...after, lines: place.lines + after.lines } : after;
        }
        yield newLines;
      }
      // The engine ends its output when the container stops. It is queried again once the container may have restarted.
      if ((await slot.nextChanges()) === null) return;
      source = await opened(deps, { ...wanted, ...place.from(wanted.since), follow: true }, ending.signal);
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

/**
 * Returns a filter that drops an unfinished line if it equals the last one in its stream, because unfinished lines are
 * read again whenever the source is reopened.
 */
function unlessShown(): (line: LogLine) => boolean {
  const shown = new Map<LogLine['stream'], string>();
  return ({ stream, time, text }) => {
    const isSame = shown.get(stream) === `${time} ${text}`;
    shown.set(stream, `${time} ${text}`);
    return !isSame;
  };
}

function opened(
  { openLogs }: Pick<UpdateDeps, 'openLogs'>,
  wanted: WantedLogs,
  signal: AbortSignal,
): Promise<LogSource> {
  if (openLogs === null) throw new DomainError('unavailable', "this process can't connect to instances");
  return openLogs(wanted, signal);
}

/** Splits the source into lines, one chunk at a time. Pauses the source while too much is buffered. */
class LineQueue {
  readonly #source: LogSource;
  readonly #lines = new LineSplitter(MAX_RAW_LINE_BYTES);
  readonly #waiting = new ByteQueue();
  #isOver = false;
  #fault: Error | null = null;
  #wake: () => void = () => {};

  constructor(source: LogSource, signal: AbortSignal) {
    this.#source = source;
    source.on('data', (chunk: Buffer) => {
      this.#waiting.push(chunk);
      if (this.#waiting.length >= MAX_WAITING) source.pause();
      this.#wake();
    });
    source.once('end', () => {
      this.#isOver = true;
      this.#wake();
    });
    source.on('error', () => this.#fail('the machine closed the stream'));
    source.once('close', () => this.#isOver || this.#fail('the machine closed the stream'));
    const abort = () => this.#fail('the machine did not respond in time');
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  }

  /** Returns the next lines, oldest first, or null at the end. */
  async next(): Promise<LogLine[] | null> {
    for (;;) {
      if (this.#waiting.length > 0) {
        const lines = this.#lines.push(this.#waiting.take(READ_CHUNK_BYTES)).flatMap((text) => readLogLine(text) ?? []);
        if (this.#waiting.length === 0) this.#source.resume();
        // Other work gets a turn, because the host decides how much there is to read.
        await turn();
        if (lines.length > 0) return lines;
      } else if (this.#fault !== null) throw this.#fault;
      else if (this.#isOver) {
        this.#source.destroy();
        return null;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #fail(message: string): void {
    this.#fault ??= new DomainError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
    this.#source.destroy();
    this.#wake();
  }
}
