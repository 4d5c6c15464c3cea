import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type LoadChart, markText, newestOf, valueText } from '../figures/load.js';
import { tickText } from '../figures/ticks.js';
import { useWidth } from './use-width.js';

const HEIGHT = 144;
const SERIES = ['a', 'b', 'c', 'd', 'e'] as const;
const AXIS_WIDTH = 44;
const AXIS_HEIGHT = 28;
/** Minimum end of the axis, because a lower one would need more decimals than fit. */
const MIN_TOP = 0.01;
/** Key that synchronizes the cursors of all charts on a page. */
const MOMENT = 'load';

interface Props extends LoadChart {
  times: readonly number[];
}

/**
 * Draws a chart with a legend whose entries show and hide the lines. For screen readers, a table next to the chart
 * contains the figures.
 */
export function Plot({ title, unit, top, times, lines }: Props) {
  const [frame, width] = useWidth<HTMLElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const [moment, setMoment] = useState<number | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const drawn = draw(place.current!, { title, unit, top, times, lines }, setMoment);
    plot.current = drawn;
    return () => {
      plot.current = null;
      drawn.destroy();
    };
  }, [names]);
  useEffect(() => plot.current?.setSize({ width, height: HEIGHT }), [width, names]);
  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines]);
  useEffect(() => {
    for (const [index, { name }] of lines.entries()) plot.current?.setSeries(index + 1, { show: !hidden.has(name) });
  }, [hidden, names]);
  const toggle = (name: string) =>
    setHidden(hidden.has(name) ? new Set([...hidden].filter((each) => each !== name)) : new Set([...hidden, name]));
  return (
    <figure class="load-chart" ref={frame}>
      <figcaption>
        <h3 class="small">{title}</h3>
        <span class="load-key">
          {lines.map((line, index) => {
            const value = moment === null ? newestOf(line) : (line.values[moment] ?? null);
            return (
              <button
                key={line.name}
                type="button"
                aria-pressed={!hidden.has(line.name)}
                onClick={() => toggle(line.name)}
              >
                <span class={`key-swatch swatch-${SERIES[index % SERIES.length]}`} /> {line.name}{' '}
                {valueText(value, unit)}
              </button>
            );
          })}
        </span>
      </figcaption>
      <div class="load-plot" ref={place} aria-hidden="true" />
    </figure>
  );
}

function dataOf(times: readonly number[], lines: LoadChart['lines']): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => values)] as UPlot.AlignedData;
}

/** Draws the chart. The page's colours are read for each drawing, so that the chart's colours change with them. */
function draw(place: HTMLElement, { top, times, lines }: Props, onMoment: (index: number | null) => void): UPlot {
  const quiet = () => getComputedStyle(place).color;
  const grid = { stroke: () => getComputedStyle(place).borderTopColor, width: 1 };
  const swatches = place.parentElement!.querySelectorAll('.key-swatch');
  const font = `11px ${getComputedStyle(place).fontFamily}`;
  const axis = { stroke: quiet, grid, ticks: { show: false }, font };
  const plot = new UPlot(
    {
      width: place.clientWidth || HEIGHT,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, sync: { key: MOMENT }, points: { size: 6 } },
      scales: {
        x: { time: true },
        y: { range: (_, _least, most) => [0, top ?? (most > 0 ? Math.max(most * 1.1, MIN_TOP) : 1)] },
      },
      axes: [
        {
          ...axis,
          size: AXIS_HEIGHT,
          space: 70,
          values: (_, marks, __, ___, apart) => marks.map((at) => markText(at, apart)),
        },
        { ...axis, size: AXIS_WIDTH, values: (_, marks, __, ___, apart) => marks.map((mark) => tickText(mark, apart)) },
      ],
      series: [
        {},
        ...lines.map((_line, index) => ({
          stroke: () => getComputedStyle(swatches[index]!).backgroundColor,
          width: 1.5,
          points: { show: false },
        })),
      ],
      hooks: { setCursor: [({ cursor }) => onMoment(cursor.idx ?? null)] },
    },
    dataOf(times, lines),
    place,
  );
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const redraw = () => plot.redraw(false);
  dark.addEventListener('change', redraw);
  const destroy = plot.destroy.bind(plot);
  plot.destroy = () => {
    dark.removeEventListener('change', redraw);
    destroy();
  };
  return plot;
}
