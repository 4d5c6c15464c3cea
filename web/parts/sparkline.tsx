import { percent } from '../figures/number.js';

/** Dimensions in units of the view box. */
const [WIDTH, HEIGHT, EDGE] = [80, 22, 2];

/**
 * Shows a price history without figures, oldest first. Screen readers read the text next to it instead. Empty if there
 * are fewer than two values.
 */
export function Sparkline({ values }: { values: readonly number[] }) {
  if (values.length < 2) return null;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const x = (at: number) => EDGE + (at / (values.length - 1)) * (WIDTH - 2 * EDGE);
  const y = (value: number) =>
    high === low ? HEIGHT / 2 : EDGE + ((high - value) / (high - low)) * (HEIGHT - 2 * EDGE);
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      <polyline points={points.join(' ')} />
      <circle cx={x(values.length - 1)} cy={y(values.at(-1)!)} r="2" />
    </svg>
  );
}

/** Returns the change from the first value to the last, such as "−4%", or null if there is nothing to compare. */
export function changeOf(values: readonly number[]): string | null {
  const [first, last] = [values[0], values.at(-1)];
  if (values.length < 2 || first === undefined || last === undefined || first === 0) return null;
  const change = Math.round((last / first - 1) * 100);
  return `${change === 0 ? '' : change > 0 ? '+' : '−'}${percent(Math.abs(change))}`;
}
