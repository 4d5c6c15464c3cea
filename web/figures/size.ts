import { POINT } from './number.js';

const UNITS = ['kB', 'MB', 'GB', 'TB'] as const;

/** Formats a size in bytes with three digits: "12 B", "4.31 kB", "200 MB". */
export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  let [size, place] = [bytes / 1_000, 0];
  // A value that rounds to 1,000 is shown in the next unit.
  for (; size >= 999.5 && place < UNITS.length - 1; place += 1) size /= 1_000;
  return `${size
    .toPrecision(3)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace('.', POINT)} ${UNITS[place]}`;
}
