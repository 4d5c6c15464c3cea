import { type Logger, pino } from 'pino';

/** Length of text that is written at once under load. */
const BUFFERED_CHARACTERS = 16_384;
const FLUSH_EVERY_MS = 1_000;
const STDERR = 2;

export interface Log {
  /** Writes each line at once, after those that are buffered. */
  log: Logger;
  /** For lines of requests: buffered, since one write for each would take half of a public route's throughput. */
  requestLog: Logger;
}

/**
 * Logs to stderr: stdout is for people, and the demo key printed there must never be in a log. A buffered line waits for
 * a second at most, and never longer than the process: whatever ends it but SIGKILL writes the rest.
 */
export function openLog(level: string): Log {
  const stderr = pino.destination({ dest: STDERR, sync: true });
  let buffered = '';
  const flush = () => {
    if (buffered === '') return;
    const text = buffered;
    buffered = '';
    stderr.write(text);
  };
  const write = (line: string, limit: number) => {
    buffered += line;
    if (buffered.length >= limit) flush();
  };
  setInterval(flush, FLUSH_EVERY_MS).unref();
  process.on('exit', flush);
  return {
    log: pino({ level }, { write: (line) => write(line, 0) }),
    requestLog: pino({ level }, { write: (line) => write(line, BUFFERED_CHARACTERS) }),
  };
}
