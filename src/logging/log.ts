import { hostname } from 'node:os';
import { type Logger, pino } from 'pino';
import type { RequestLine, WriteRequest } from '../http/request-log.js';
import { LogOutput } from './log-output.js';
import { withoutSecrets } from './redact.js';

/** Number of buffered characters at which the buffer is flushed immediately. */
const BUFFERED_CHARACTERS = 16_384;
const FLUSH_EVERY_MS = 1_000;
const INFO = 30;

export interface Log {
  /** Writes each line immediately, after any buffered ones. */
  log: Logger;
  /** Buffers a request's line. Null if the log level excludes it. */
  writeRequest: WriteRequest | null;
  /** Returns the number of lines dropped because the log wasn't read. */
  dropped(): number;
  /** Resolves once all lines have been passed to the operating system, or after `withinMs`. */
  written(withinMs: number): Promise<void>;
}

/**
 * Opens the log on stderr. Stdout is for people, and the demo key printed there must never be logged. Writing each
 * request separately would halve a public route's throughput, so request lines are buffered for up to one second.
 * Buffered lines are also written when the process exits, unless it is killed with SIGKILL or the log isn't read.
 */
export function openLog(level: string): Log {
  const output = new LogOutput(process.stderr);
  let buffered = '';
  let lines = 0;
  const flush = () => {
    if (lines === 0) return;
    const [text, count] = [buffered, lines];
    buffered = '';
    lines = 0;
    output.write(text, count);
  };
  const write = (line: string, limit: number) => {
    buffered += line;
    lines += 1;
    if (buffered.length >= limit) flush();
  };
  setInterval(flush, FLUSH_EVERY_MS).unref();
  process.on('exit', flush);
  const log = pino({ level }, { write: (line) => write(withoutSecrets(line), 0) });
  const format = createFormat();
  output.onDropped = (count) => log.warn({ lines: count }, 'log lines dropped because the log was not read');
  const writeRequest: WriteRequest = (line) => write(format(line), BUFFERED_CHARACTERS);
  return {
    log,
    writeRequest: log.isLevelEnabled('info') ? writeRequest : null,
    dropped: () => output.dropped,
    written: (withinMs) => {
      flush();
      return output.written(withinMs);
    },
  };
}

/**
 * Returns a function that formats a line as pino would, but in 0.3 µs instead of 1.4 µs, which saves a tenth of a
 * cached public response's CPU time.
 */
function createFormat(): (line: RequestLine) => string {
  const origin = `"pid":${process.pid},"hostname":${JSON.stringify(hostname())}`;
  // Ids, methods and routes contain no characters that JSON escapes.
  return ({ id, method, route, status, ms, bytes, account, operation, address, trace, aborted }) =>
    `{"level":${INFO},"time":${Date.now()},${origin},"id":"${id}","method":"${method}","route":"${route}",` +
    `"status":${status},"ms":${ms},"bytes":${bytes},"account":${quoted(account)},"operation":${quoted(operation)},` +
    `"address":${quoted(address)},${trace === undefined ? '' : `"trace":"${trace}",`}${aborted ? '"aborted":true,' : ''}"msg":"request"}\n`;
}

function quoted(text: string | null): string {
  return text === null ? 'null' : JSON.stringify(text);
}
