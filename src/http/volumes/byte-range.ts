import type { ByteRange } from '../../domain/volumes/store.js';

const RANGE = /^bytes=(\d{1,15})-(\d{1,15})?$/;

/** The requested part of an object; null: all of it. */
export type WantedRange = { from: number; to: number } | null;

/**
 * Returns the single range of the header; null for the whole object, including headers with anything else (RFC 9110).
 */
export function rangeOf(header: string | undefined): WantedRange {
  const [, from, to] = RANGE.exec(header ?? '') ?? [];
  if (from === undefined) return null;
  const range = { from: Number(from), to: to === undefined ? Number.MAX_SAFE_INTEGER : Number(to) };
  return range.to < range.from ? null : range;
}

/** Returns the range within an object; undefined if the object ends before it. */
export function rangeWithin(wanted: WantedRange, size: number): ByteRange | null | undefined {
  if (wanted === null) return null;
  return wanted.from >= size ? undefined : { from: wanted.from, to: Math.min(wanted.to, size - 1) };
}
