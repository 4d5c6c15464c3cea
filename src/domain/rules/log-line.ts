/** Of a line's text, in characters; what is longer is cut. */
export const MAX_LOG_LINE = 16_384;

export interface LogLine {
  /** RFC 3339 in UTC with nine decimals, so that texts compare as times do; empty when the engine told none. */
  time: string;
  stream: 'STDOUT' | 'STDERR';
  text: string;
}

const TIMED = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ?/;

/** A line as engines give it: its time, a space, and what the container wrote. */
export function readLogLine(line: string, stream: LogLine['stream']): LogLine {
  const [head = '', seconds = '', decimals = '', zone = ''] = TIMED.exec(line) ?? [];
  const text = line.slice(head.length).replace(/\r$/, '').slice(0, MAX_LOG_LINE);
  if (head === '') return { time: '', stream, text };
  const utc = zone === 'Z' ? seconds : new Date(`${seconds}${zone}`).toISOString().slice(0, seconds.length);
  return { time: `${utc}.${decimals.padEnd(9, '0')}Z`, stream, text };
}
