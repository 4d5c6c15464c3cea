import { formatInstant, parseInstant } from '../../kernel/time.js';

/** Maximum length of a line's text, in characters. Longer lines are truncated. */
export const MAX_LOG_LINE = 16_384;

export interface LogLine {
  /** RFC 3339 in UTC with nine decimals, so that the strings sort in time order. Podman reports only whole seconds. */
  time: string;
  stream: 'STDOUT' | 'STDERR';
  text: string;
  /**
   * Whether the end of the line is still missing. If so, a later line with the same stream and time replaces this one.
   */
  isPartial: boolean;
}

const TIMED = /^[oOeE](\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

/**
 * Parses a line in the format sent by agents. It consists of `o` or `e` for the stream (in upper case if the end of the
 * line is still missing), the time, a space, and the container's output. Returns null for any other line.
 */
export function readLogLine(line: string): LogLine | null {
  const match = TIMED.exec(line);
  if (match === null) return null;
  const [head, seconds = '', decimals = '', zone] = match;
  const text = line.slice(head.length).replace(/\r$/, '').slice(0, MAX_LOG_LINE);
  // An agent might send digits that don't form a valid time.
  const at = parseInstant(`${seconds}${zone}`);
  if (at === null) return null;
  const utc = formatInstant(at).slice(0, seconds.length);
  const mark = line.charAt(0);
  return {
    time: `${utc}.${decimals.padEnd(9, '0')}Z`,
    stream: mark.toLowerCase() === 'o' ? 'STDOUT' : 'STDERR',
    text,
    isPartial: mark === mark.toUpperCase(),
  };
}
