import { formatInstant, parseInstant } from './time.js';

/** Maximum characters of a line's text; longer ones are cut. */
export const MAX_LOG_LINE = 16_384;

export interface LogLine {
  /** RFC 3339 in UTC with nine decimals, so that texts compare like times. Podman reports whole seconds. */
  time: string;
  stream: 'STDOUT' | 'STDERR';
  text: string;
}

const TIMED = /^[oe](\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

/**
 * Reads a line as agents send it: `o` or `e` for the stream, its time, a space, and the container's output. Null for
 * any other line.
 */
export function readLogLine(line: string): LogLine | null {
  const match = TIMED.exec(line);
  if (match === null) return null;
  const [head, seconds, decimals = '', zone] = match;
  const text = line.slice(head.length).replace(/\r$/, '').slice(0, MAX_LOG_LINE);
  // An agent may write any digits.
  const at = parseInstant(`${seconds}${zone}`);
  if (at === null) return null;
  const utc = formatInstant(at).slice(0, seconds!.length);
  return { time: `${utc}.${decimals.padEnd(9, '0')}Z`, stream: line.startsWith('o') ? 'STDOUT' : 'STDERR', text };
}
