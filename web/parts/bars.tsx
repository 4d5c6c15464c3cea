import { useEffect, useRef } from 'preact/hooks';
import { type Micro, usd } from '../figures/money.js';

interface Day {
  date: string;
  total: Micro;
  parts: readonly Micro[];
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [1200, 210, 60, 24, 12];
const LETTERS = 'abcde';
/** Less than this is told to a hundredth of a cent. */
const ONE_USD = 1_000_000n;
/** Days under the axis, at most. */
const MAX_LABELS = 8;

/** One bar a day, its parts on top of each other in the order of their colours. The figures stand in a table beside it. */
export function Bars({ days, label }: { days: readonly Day[]; label: string }) {
  const most = days.reduce((so, { total }) => (total > so ? total : so), 1n);
  const room = HEIGHT - BOTTOM - TOP;
  const step = (WIDTH - LEFT) / days.length;
  const height = (amount: Micro) => (Number(amount) / Number(most)) * room;
  const every = Math.ceil(days.length / MAX_LABELS);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Where it is narrower than its days, today is what is seen first.
    frame.current!.scrollLeft = frame.current!.scrollWidth;
  }, []);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls can be reached by keyboard
    <div class="scroll" ref={frame} tabIndex={0}>
      <svg class="chart wide-chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        <line class="axis" x1={LEFT} x2={WIDTH} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
        <line class="axis" x1={LEFT} x2={WIDTH} y1={TOP} y2={TOP} />
        <text x={LEFT - 6} y={TOP + 4} text-anchor="end">
          {usd(most, most < ONE_USD ? 4 : 2)}
        </text>
        <text x={LEFT - 6} y={HEIGHT - BOTTOM + 4} text-anchor="end">
          0
        </text>
        {days.map(({ date, total, parts }, index) => {
          let top = HEIGHT - BOTTOM;
          const x = LEFT + index * step;
          return (
            <g key={date}>
              <title>{`${date}: ${usd(total, 4)} USD`}</title>
              {parts.map((amount, kind) => {
                const size = height(amount);
                top -= size;
                return (
                  size > 0 && (
                    <rect
                      class={`bar ${LETTERS[kind]}`}
                      x={x + step * 0.14}
                      y={top}
                      width={step * 0.72}
                      height={Math.max(size, 0.75)}
                    />
                  )
                );
              })}
              {(days.length - 1 - index) % every === 0 && (
                <text x={x + step * 0.86} y={HEIGHT - 6} text-anchor="end">
                  {date.slice(5)}
                </text>
              )}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
