import { fixed } from './number.js';

/**
 * Returns the tick values for an axis from 0 to at least `most`, which must be positive. There are at most `steps` round
 * steps, in multiples of 1, 2 or 5.
 */
export function ticks(most: number, steps = 5): number[] {
  const size = 10 ** Math.floor(Math.log10(most / steps));
  const step = [1, 2, 5, 10].find((round) => most / (round * size) <= steps)! * size;
  // The values are multiplied rather than added, because sums of 0.1 are inexact.
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, count) => count * step);
}

/** Formats a tick value with as many decimals as the step needs. */
export function tickText(value: number, step: number): string {
  return fixed(value, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
