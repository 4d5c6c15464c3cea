import { fixed } from './number.js';

/** Returns the values of an axis from 0 to at least `most`, which is above 0: at most five round steps of 1, 2 or 5. */
export function ticks(most: number): number[] {
  const size = 10 ** Math.floor(Math.log10(most / 5));
  const step = [1, 2, 5, 10].find((round) => most / (round * size) <= 5)! * size;
  // Multiplied rather than added, because sums of 0.1 are inexact.
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, count) => count * step);
}

/** Formats with the decimals that its step needs. */
export function tickText(value: number, step: number): string {
  return fixed(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
