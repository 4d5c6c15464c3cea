import { fixed } from './number.js';

export interface SizeUnit {
  name: string;
  bytes: number;
}

const UNITS: readonly SizeUnit[] = ['B', 'kB', 'MB', 'GB', 'TB'].map((name, place) => ({
  name,
  bytes: 1_000 ** place,
}));

/** Returns the unit that suits a size. A size that would round to 1,000 of a unit is in the next one. */
export const unitOf = (bytes: number): SizeUnit =>
  UNITS.findLast(({ bytes: size }) => bytes >= size * 0.99995) ?? UNITS[0]!;

/** Formats a size in bytes with one decimal: "12 B", "4.3 kB", "200.0 MB". */
export function fileSize(bytes: number): string {
  const { name, bytes: size } = unitOf(bytes);
  return `${fixed(bytes / size, size === 1 ? 0 : 1)} ${name}`;
}
