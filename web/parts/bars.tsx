import { type Micro, sum } from '../figures/money.js';
import { ticks } from '../figures/ticks.js';
import { utcDay } from '../figures/time.js';
import { texts } from '../texts/en/spend.js';
import { Grid } from './grid.js';
import { useSize } from './use-size.js';

interface Day {
  date: string;
  total: Micro;
  parts: readonly Micro[];
}

const [MIN_HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [220, 44, 20, 24, 24];
/** Minimum end of the axis, so that its marks are whole cents. */
const MIN_TOP_USD = 0.05;
const LETTERS = 'abcde';
/** Maximum width of a bar. */
const MAX_BAR_PX = 40;
/** Width of a day's label under the axis, including its margin. */
const LABEL_PX = 56;

const inUsd = (amount: Micro): number => Number(amount) / 1e6;

/**
 * Shows one bar per day, with its parts stacked in the order of their colours. A table next to the chart contains the
 * same figures.
 */
export function Bars({ days, label }: { days: readonly Day[]; label: string }) {
  const [frame, width, frameHeight] = useSize<HTMLDivElement>();
  const height = Math.max(MIN_HEIGHT, frameHeight);
  const most = days.reduce((so, { total }) => (total > so ? total : so), 1n);
  const values = ticks(Math.max(MIN_TOP_USD, inUsd(most)));
  const y = (value: number) => height - BOTTOM - (value / values.at(-1)!) * (height - BOTTOM - TOP);
  // A folded or hidden chart has no width.
  const step = Math.max(1, (width - LEFT - RIGHT) / days.length);
  const bar = Math.min(step * 0.72, MAX_BAR_PX);
  const every = Math.ceil(LABEL_PX / step);
  return (
    <div ref={frame} class="bars">
      <svg class="chart" width={width} height={height} role="img" aria-label={label}>
        <text x={LEFT - 6} y={TOP - 12} text-anchor="end">
          {texts.usd}
        </text>
        <Grid values={values} left={LEFT} right={width} y={y} />
        {days.map(({ date, total, parts }, index) => {
          let top = height - BOTTOM;
          const x = LEFT + index * step;
          return (
            <g key={date}>
              <title>{texts.ofDay(utcDay(date), sum(total))}</title>
              {parts.map((amount, kind) => {
                const size = height - BOTTOM - y(inUsd(amount));
                top -= size;
                return (
                  size > 0 && (
                    <rect
                      class={`bar ${LETTERS[kind]}`}
                      x={x + (step - bar) / 2}
                      y={top}
                      width={bar}
                      height={Math.max(size, 0.75)}
                    />
                  )
                );
              })}
              {(days.length - 1 - index) % every === 0 && (
                <text x={x + step / 2} y={height - 6} text-anchor="middle">
                  {utcDay(date)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
