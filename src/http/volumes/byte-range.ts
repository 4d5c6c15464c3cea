import type { ByteRange } from '../../domain/volumes/store.js';

const RANGE = /^bytes=(\d{1,15})-(\d{1,15})?$/;

/** The requested part of an object, or null for the whole object. */
export type WantedRange = { from: number; to: number } | null;

/**
 * Returns the single range specified by the header. Returns null for the whole object, which is also what any other
 * header means (RFC 9110).
 */
export function rangeOf(header: string | undefined): WantedRange {
  const [, from, to] = RANGE.exec(header ?? '') ?? [];
  if (from === undefined) return null;
  const range = { from: Number(from), to: to === undefined ? Number.MAX_SAFE_INTEGER : Number(to) };
  return range.to < range.from ? null : range;
}

/** Limits a requested range to an object's size. Returns undefined if the object ends before the range begins. */
export function rangeWithin(wanted: WantedRange, size: number): ByteRange | null | undefined {
  if (wanted === null) return null;
  return wanted.from >= size ? undefined : { from: wanted.from, to: Math.min(wanted.to, size - 1) };
}
