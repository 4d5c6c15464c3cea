import { micro, rate } from '../figures/money.js';
import { ticks } from '../figures/ticks.js';
import { texts } from '../texts/en/charts.js';
import { Grid } from './grid.js';
import { useSize } from './use-size.js';

interface Price {
  snapshot: string;
  onDemand: number;
  listings: number;
}

const [HEIGHT, LEFT, RIGHT, BOTTOM, TOP] = [170, 44, 8, 22, 10];
/** Maximum number of snapshots drawn, which covers two years of weekly ones. Only the newest are drawn. */
const MAX_POINTS = 104;
const SMALLEST_USD = 0.000001;

const priced = ({ onDemand, snapshot }: Price) => ({ price: rate(micro(onDemand)), date: snapshot });

/** Shows the on-demand price by snapshot, followed by the same figures as text for screen readers. */
export function HistoryChart({ history, name }: { history: readonly Price[]; name: string }) {
  const [frame, width] = useSize<HTMLElement>();
  const points = history.slice(-MAX_POINTS);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) return null;
  const summary =
    points.length === 1
      ? texts.first(name, priced(last), last.listings)
      : texts.since(name, priced(last), last.listings, priced(first), points.length);
  const values = ticks(Math.max(SMALLEST_USD, ...points.map(({ onDemand }) => onDemand)));
  const age = ({ snapshot }: Price) => Date.parse(snapshot) - Date.parse(first.snapshot);
  const span = Math.max(1, age(last));
  const x = (point: Price) => LEFT + RIGHT + (age(point) / span) * (width - LEFT - 2 * RIGHT);
  const y = (price: number) => HEIGHT - BOTTOM - (price / values.at(-1)!) * (HEIGHT - BOTTOM - TOP);
  return (
    <figure ref={frame}>
      {points.length > 1 && (
        <svg class="chart" width={width} height={HEIGHT} role="img" aria-label={summary}>
          <Grid values={values} left={LEFT} right={width} y={y} />
          <polyline class="line" points={points.map((point) => `${x(point)},${y(point.onDemand)}`).join(' ')} />
          {points.map((point) => (
            <circle class="point" cx={x(point)} cy={y(point.onDemand)} r="3">
              <title>{texts.point(priced(point), point.listings)}</title>
            </circle>
          ))}
          <text x={LEFT} y={HEIGHT - 6}>
            {first.snapshot}
          </text>
          <text x={width} y={HEIGHT - 6} text-anchor="end">
            {last.snapshot}
          </text>
        </svg>
      )}
      <figcaption class="small quiet">{summary}</figcaption>
    </figure>
  );
}
