import { useComputed } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { chartsOf, type LoadCharts, momentText, valueText } from '../figures/load.js';
import { InstanceMetrics } from '../graph/documents.js';
import { Fold } from '../parts/fold.js';
import { Failure } from '../parts/notice.js';
import { Plot } from '../parts/plot.js';
import { Table } from '../parts/table.js';
import { loads } from '../state/account.js';
import { serverNow } from '../state/clock.js';
import { query, withQuery } from '../state/location.js';
import { useRead } from '../state/read.js';
import { texts } from '../texts/en/instance-load.js';

/** The ranges, each with its name in the URL, label, length in seconds and refresh interval. */
const RANGES = [
  ['1h', texts.ranges['1h'], 3_600, 10],
  ['2d', texts.ranges['2d'], 172_800, 60],
  ['90d', texts.ranges['90d'], 7_776_000, 900],
] as const;
const POINTS = 360;
/** Maximum number of rows in the table, which shows the newest steps. */
const MAX_ROWS = 60;

/**
 * Shows an instance's current and past load in charts that update automatically. Those of the last hour begin no
 * earlier than `since`, the second in which it was deployed. `ramGb` is its memory, if it is known.
 */
export function InstanceLoad({ id, since, ramGb }: { id: string; since: number; ramGb: number | null }) {
  const requested = query.value.get('range');
  const [range, name, seconds, every] = RANGES.find(([each]) => each === requested) ?? RANGES[0];
  // The charts are refreshed when there is new data. One-hour charts are refreshed with each sample, and charts for
  // longer periods with each of their steps.
  const age = useComputed(() => (every === 10 ? (loads.value.get(id)?.at ?? '') : Math.floor(serverNow.value / every)));
  const step = age.value;
  const from = useMemo(
    () => (every === 10 ? null : new Date((serverNow.peek() - seconds) * 1_000).toISOString()),
    [range, every === 10 ? '' : step],
  );
  const { data, error } = useRead(InstanceMetrics, { id, from, points: POINTS }, every === 10 ? age : undefined);
  const metrics = data.value?.instance?.metrics ?? null;
  const shown = useMemo(() => (metrics === null ? null : chartsOf(metrics, ramGb)), [metrics, ramGb]);
  return (
    <section class="panel load-panel" aria-labelledby="load">
      <div class="panel-head">
        <h2 id="load">{texts.title}</h2>
        <nav class="segments" aria-label={texts.period}>
          {RANGES.map(([each, title], index) => (
            <a
              key={each}
              href={withQuery({ range: index === 0 ? null : each })}
              aria-current={each === range ? 'page' : undefined}
              title={title}
            >
              {texts.shortRanges[each]}
            </a>
          ))}
        </nav>
      </div>
      <div class="padded stack-tight">
        <Failure error={error.value} />
        {shown === null ? (
          <>
            <Frames />
            <div class="load-fold" />
          </>
        ) : shown.charts.length === 0 ? (
          <p class="quiet load-none">{texts.nothing(name)}</p>
        ) : (
          <Charts shown={shown} span={seconds} from={every === 10 ? since : 0} />
        )}
      </div>
    </section>
  );
}

/** Number of charts that are shown without unfolding. */
const MAIN = 4;

/** Keeps the charts' place while they load. */
const Frames = () => (
  <div class="load-charts" role="status" aria-label={texts.moment}>
    {Array.from({ length: MAIN }, (_, place) => (
      <div key={place} class="load-chart load-frame" />
    ))}
  </div>
);

interface ChartsProps {
  shown: LoadCharts;
  span: number;
  from: number;
}

function Charts({ shown: { times, charts }, span, from }: ChartsProps) {
  const plots = (some: LoadCharts['charts'], name = '') => (
    <div class={`load-charts ${name}`}>
      {some.map((chart) => (
        <Plot key={chart.title} {...chart} times={times} span={span} from={from} />
      ))}
    </div>
  );
  return (
    <>
      {plots(charts.slice(0, MAIN), 'load-main')}
      <Fold title={texts.more}>
        <div class="stack">
          {charts.length > MAIN && plots(charts.slice(MAIN))}
          <Rows times={times} charts={charts} />
        </div>
      </Fold>
    </>
  );
}

/** Shows the newest steps of all charts as a table, for screen readers and for copying. */
function Rows({ times, charts }: LoadCharts) {
  const columns = charts.flatMap(({ title, of, lines }) => lines.map((line) => ({ title, of, line })));
  const newest = times
    .map((_, index) => index)
    .slice(-MAX_ROWS)
    .reverse();
  const nameOf = (title: string, name: string) => (title === name ? title : `${title}: ${name}`);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section class="load-table" tabIndex={0} aria-label={texts.table}>
      <Table
        caption={texts.newest}
        columns={[[texts.time], ...columns.map(({ title, line }) => [nameOf(title, line.name), 'number'] as const)]}
      >
        {newest.map((index) => (
          <tr key={times[index]}>
            <th scope="row">{momentText(times[index]!)}</th>
            {columns.map(({ title, of, line }) => (
              <td key={`${title} ${line.name}`} class="number">
                {valueText(line.values[index] ?? null, of)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </section>
  );
}
