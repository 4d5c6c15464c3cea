import { formatInstant, parseInstant } from './time.js';

/** Maximum characters of a line's text; longer ones are cut. */
export const MAX_LOG_LINE = 16_384;

export interface LogLine {
  /** RFC 3339 in UTC with nine decimals, so that texts compare like times. Podman reports whole seconds. */
  time: string;
  stream: 'STDOUT' | 'STDERR';
  text: string;
  /** Whether it has no end yet: a later line of the same stream and time replaces it. */
  isPartial: boolean;
}

const TIMED = /^[oOeE](\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

/**
 * Parses a line as agents send it: `o` or `e` for the stream (in upper case if the line has no end yet), its time, a
 * space, and the container's output. Null for any other line.
 */
export function readLogLine(line: string): LogLine | null {
  const match = TIMED.exec(line);
  if (match === null) return null;
  const [head, seconds, decimals = '', zone] = match;
  const text = line.slice(head.length).replace(/\r$/, '').slice(0, MAX_LOG_LINE);
  // An agent may send any digits.
  const at = parseInstant(`${seconds}${zone}`);
  if (at === null) return null;
  const utc = formatInstant(at).slice(0, seconds!.length);
  const mark = line[0]!;
  return {
    time: `${utc}.${decimals.padEnd(9, '0')}Z`,
    stream: mark.toLowerCase() === 'o' ? 'STDOUT' : 'STDERR',
    text,
    isPartial: mark === mark.toUpperCase(),
  };
}
