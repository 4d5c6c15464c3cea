import type { ByteRange } from '../../domain/volumes/store.js';

const RANGE = /^bytes=(\d{1,15})-(\d{1,15})?$/;

/** The part of an object that is asked for. */
export type WantedRange = { from: number; to: number } | null;

/** The one range of the header; null for all of it, as also for headers that ask for something else (RFC 9110). */
export function rangeOf(header: string | undefined): WantedRange {
  const [, from, to] = RANGE.exec(header ?? '') ?? [];
  if (from === undefined) return null;
  const range = { from: Number(from), to: to === undefined ? Number.MAX_SAFE_INTEGER : Number(to) };
  return range.to < range.from ? null : range;
}

/** Its part of an object; undefined where the object ends before it. */
export function rangeWithin(wanted: WantedRange, size: number): ByteRange | null | undefined {
  if (wanted === null) return null;
  return wanted.from >= size ? undefined : { from: wanted.from, to: Math.min(wanted.to, size - 1) };
}
