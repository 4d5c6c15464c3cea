import { micro, rate } from '../figures/money.js';

interface Price {
  snapshot: string;
  onDemand: number;
  listings: number;
}

const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [480, 130, 52, 22, 10];
/** Most snapshots drawn: the newest, two years of weeks. */
const MAX_POINTS = 104;

/** On-demand price by snapshot. The same figures follow as a table for those who do not see it. */
export function HistoryChart({ history, name }: { history: readonly Price[]; name: string }) {
  const points = history.slice(-MAX_POINTS);
  const [first, last] = [points[0]!, points.at(-1)!];
  const most = Math.max(...points.map(({ onDemand }) => onDemand)) * 1.1;
  const days = points.map(({ snapshot }) => Date.parse(snapshot));
  const span = Math.max(1, days.at(-1)! - days[0]!);
  const x = (index: number) => LEFT + ((days[index]! - days[0]!) / span) * (WIDTH - LEFT - 8);
  const y = (price: number) => HEIGHT - BOTTOM - (price / most) * (HEIGHT - BOTTOM - TOP);
  const summary = `${name}: ${rate(micro(last.onDemand))} USD per GPU-hour on demand at ${last.snapshot}, from ${last.listings} listings; ${
    points.length === 1
      ? 'the first snapshot'
      : `${rate(micro(first.onDemand))} at ${first.snapshot}, ${points.length} snapshots`
  }.`;
  if (points.length === 1) return <p class="small quiet">{summary}</p>;
  return (
    <figure>
      <svg class="chart" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={summary}>
        <line class="axis" x1={LEFT} x2={WIDTH} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} />
        <text x={LEFT - 6} y={y(last.onDemand) + 4} text-anchor="end">
          {rate(micro(last.onDemand))}
        </text>
        {first.onDemand !== last.onDemand && Math.abs(y(first.onDemand) - y(last.onDemand)) > 12 && (
          <text x={LEFT - 6} y={y(first.onDemand) + 4} text-anchor="end">
            {rate(micro(first.onDemand))}
          </text>
        )}
        <polyline class="line" points={points.map(({ onDemand }, index) => `${x(index)},${y(onDemand)}`).join(' ')} />
        {points.map((point, index) => (
          <circle class="point" cx={x(index)} cy={y(point.onDemand)} r="3">
            <title>{`${point.snapshot}: ${rate(micro(point.onDemand))} from ${point.listings} listings`}</title>
          </circle>
        ))}
        <text x={LEFT} y={HEIGHT - 6}>
          {first.snapshot}
        </text>
        <text x={WIDTH} y={HEIGHT - 6} text-anchor="end">
          {last.snapshot}
        </text>
      </svg>
      <figcaption class="small quiet">{summary}</figcaption>
    </figure>
  );
}
