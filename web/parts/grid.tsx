import { tickText } from '../figures/ticks.js';

interface Props {
  values: readonly number[];
  left: number;
  right: number;
  y(value: number): number;
}

/** Draws the lines along a chart's axis, each with its value. */
export const Grid = ({ values, left, right, y }: Props) => (
  <>
    {values.map((value) => (
      <g key={value}>
        <line class="axis" x1={left} x2={right} y1={y(value)} y2={y(value)} />
        <text x={left - 6} y={y(value) + 4} text-anchor="end">
          {tickText(value, values[1]!)}
        </text>
      </g>
    ))}
  </>
);
