import { useEffect, useRef, useState } from 'preact/hooks';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { type LoadChart, marksText, markText, newestOf, valueText } from '../figures/load.js';
import { ticks } from '../figures/ticks.js';
import { texts } from '../texts/en/load.js';
import { useSize } from './use-size.js';

const HEIGHT = 136;
const SERIES = ['a', 'b', 'c', 'd', 'e'] as const;
/** Widths of an axis with percentages, and of any other, in pixels. */
const [PERCENT_AXIS, AXIS] = [40, 60];
const AXIS_HEIGHT = 28;
/** Maximum number of steps between the marks of an axis without a fixed end. */
const STEPS = 3;
/** Share of the time axis at its end without labels. */
const EDGE = 0.06;
/** Minimum length of the time axis in seconds. */
const MIN_SPAN = 120;
/** Minimum end of an axis without a fixed one, so that its marks are whole numbers. */
const MIN_TOP = 10;
/** Key that synchronizes the cursors of all charts on a page. */
const MOMENT = 'load';

interface Props extends LoadChart {
  times: readonly number[];
  /** Length of the time axis in seconds, which ends with the newest step. */
  span: number;
  /** The earliest start of the time axis in seconds since 1970, if it may be shorter. */
  from: number;
}

/**
 * Draws a chart with a legend whose entries show and hide the lines. For screen readers, a table next to the chart
 * contains the figures.
 */
export function Plot({ title, of, top, times, span, from, lines }: Props) {
  const [frame, width] = useSize<HTMLElement>();
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const [moment, setMoment] = useState<number | null>(null);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const drawn = draw(place.current!, { title, of, top, times, span, from, lines }, setMoment);
    plot.current = drawn;
    return () => {
      plot.current = null;
      drawn.destroy();
    };
  }, [names, top, span, from]);
  useEffect(() => {
    // A chart in a folded section has no width.
    if (width > 0) plot.current?.setSize({ width, height: HEIGHT });
  }, [width, names, top, span, from]);
  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines]);
  useEffect(() => {
    for (const [index, { name }] of lines.entries()) plot.current?.setSeries(index + 1, { show: !hidden.has(name) });
  }, [hidden, names, span, from]);
  const toggle = (name: string) =>
    setHidden(hidden.has(name) ? new Set([...hidden].filter((each) => each !== name)) : new Set([...hidden, name]));
  const shownValue = (line: LoadChart['lines'][number]) =>
    valueText(moment === null ? newestOf(line) : (line.values[moment] ?? null), of);
  return (
    <figure class="load-chart" ref={frame}>
      <figcaption>
        <h3 class="small">{title}</h3>
        <span class="load-key">
          {lines.map((line, index) => {
            const swatch = <span class={`key-swatch swatch-${SERIES[index % SERIES.length]}`} />;
            return lines.length === 1 ? (
              <span key={line.name} class="load-now figure">
                {swatch} <strong>{shownValue(line)}</strong>
                {of === 'size' && top !== null && <span>{texts.ofTotal(valueText(top, of))}</span>}
              </span>
            ) : (
              <button
                key={line.name}
                type="button"
                aria-pressed={!hidden.has(line.name)}
                onClick={() => toggle(line.name)}
              >
                {swatch} <span>{line.name}</span> <strong>{shownValue(line)}</strong>
              </button>
            );
          })}
        </span>
      </figcaption>
      <div class="load-plot" ref={place} aria-hidden="true" />
    </figure>
  );
}

/** Returns the indexes of values without a known neighbour, which no line shows. */
function alone(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values, (value, index) =>
    value != null && values[index - 1] == null && values[index + 1] == null ? index : -1,
  ).filter((index) => index >= 0);
}

function dataOf(times: readonly number[], lines: LoadChart['lines']): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => values)] as UPlot.AlignedData;
}

/** Draws the chart. The page's colours are read for each drawing, so that the chart's colours change with them. */
function draw(
  place: HTMLElement,
  { of, top, times, span, from, lines }: Props,
  onMoment: (index: number | null) => void,
): UPlot {
  const quiet = () => getComputedStyle(place).color;
  const grid = { stroke: () => getComputedStyle(place).borderTopColor, width: 1 };
  const swatches = place.parentElement!.querySelectorAll('.key-swatch');
  const colour = (index: number) => getComputedStyle(swatches[index]!).backgroundColor;
  const end = (most: number) => top ?? ticks(Math.max(most, MIN_TOP), STEPS).at(-1)!;
  const font = `11px ${getComputedStyle(place).fontFamily}`;
  const axis = { stroke: quiet, grid, ticks: { show: false }, font };
  // A label at the right edge would be cut off, so there is no line either.
  const withoutEdge = ({ scales: { x } }: UPlot, marks: readonly number[]) =>
    marks.map((at) => (x!.max! - at < (x!.max! - x!.min!) * EDGE ? null : at));
  const plot = new UPlot(
    {
      width: place.clientWidth || HEIGHT,
      height: HEIGHT,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, sync: { key: MOMENT }, points: { size: 6 } },
      padding: [8, 8, 0, 0],
      scales: {
        x: {
          time: true,
          range: (chart) => {
            const newest = chart.data[0].at(-1)!;
            const start = Math.max(newest - span, Math.min(from, newest));
            return [start, Math.max(newest, start + MIN_SPAN)];
          },
        },
        y: { range: (_, _least, most) => [0, end(most ?? 0)] },
      },
      axes: [
        {
          ...axis,
          size: AXIS_HEIGHT,
          space: 70,
          filter: withoutEdge,
          grid: { ...grid, filter: withoutEdge },
          values: (_, marks, __, ___, apart) => marks.map((at) => (at === null ? '' : markText(at, apart))),
        },
        {
          ...axis,
          // Charts that are below each other begin at the same place.
          size: of === 'percent' && place.clientWidth < innerWidth / 2 ? PERCENT_AXIS : AXIS,
          splits: (_, __, ___, most) => (top === null ? ticks(most, STEPS) : [0, top / 2, top]),
          values: (_, marks) => marksText(marks, of),
        },
      ],
      series: [
        {},
        ...lines.map(({ isDashed }, index) => ({
          stroke: () => colour(index),
          width: 1.5,
          ...(lines.length === 1 && { fill: () => colour(index).replace(')', ', 0.1)') }),
          ...(isDashed && { dash: [5, 4] }),
          points: { show: true, size: 4, filter: (chart: UPlot, series: number) => alone(chart.data[series]!) },
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
