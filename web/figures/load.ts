import type { ResultOf } from 'gql.tada';
import type { InstanceMetrics } from '../graph/documents.js';
import { texts } from '../texts/en/load.js';
import { locale } from '../texts/en/locale.js';
import { fixed, percent } from './number.js';
import { fileSize, unitOf } from './size.js';
import { tickText } from './ticks.js';
import { secondsOf } from './time.js';

export type Metrics = NonNullable<ResultOf<typeof InstanceMetrics>['instance']>['metrics'];
type Point = Metrics['points'][number];
type Gpu = Point['gpus'][number];

/** A line in a chart. Unknown values are null. */
export interface Line {
  name: string;
  values: (number | null)[];
  isDashed?: boolean;
}

/** The kind of a chart's values. Sizes are in bytes, and rates in bytes per second. */
export type Quantity = 'percent' | 'size' | 'rate' | 'power' | 'temperature';

export interface LoadChart {
  title: string;
  of: Quantity;
  /** The end of the chart's axis, or null to use the highest value. */
  top: number | null;
  lines: Line[];
}

export interface LoadCharts {
  /** Times of all steps in seconds since 1970, including steps without a measurement. */
  times: number[];
  charts: LoadChart[];
}

/** Maximum number of lines in a chart. If there are more GPUs, their mean is drawn instead. */
const MAX_LINES = 5;
const PERCENT = 100;
const GB = 1_000_000_000;
/** Drivers count a GPU's memory in MiB, but models are named after GiB. So a card of 24 GB has 24 GB here. */
const GPU_MB = GB / 1_024;

/**
 * Returns the charts that contain a known value, most important first, each with only the lines that do. `ramGb` is the
 * instance's memory, if it is known.
 */
export function chartsOf({ stepSeconds, points }: Metrics, ramGb: number | null = null): LoadCharts {
  const byTime = new Map(points.map((point) => [secondsOf(point.at), point]));
  const known = [...byTime.keys()];
  const times: number[] = [];
  for (let at = known[0] ?? 0; at <= (known.at(-1) ?? -1); at += stepSeconds) times.push(at);
  const line = (name: string, pick: (point: Point) => number | null): Line => ({
    name,
    values: times.map((at) => {
      const point = byTime.get(at);
      return point === undefined ? null : pick(point);
    }),
  });
  const places = [...new Set(points.flatMap(({ gpus }) => gpus.map(({ place }) => place)))].sort((a, b) => a - b);
  const ofGpus = (pick: (gpu: Gpu) => number | null): Line[] => {
    if (places.length > MAX_LINES) return [line(texts.meanOf(places.length), ({ gpus }) => meanOf(gpus.map(pick)))];
    return places.map((place) =>
      line(`GPU ${place}`, ({ gpus }) => {
        const gpu = gpus.find((each) => each.place === place);
        return gpu === undefined ? null : pick(gpu);
      }),
    );
  };
  const areMeans = stepSeconds > 10 && places.length === 1;
  const most = areMeans ? [line(texts.most, ({ gpus }) => gpus[0]?.busyMaxPercent ?? null)] : [];
  const inBytes = (mib: number | null | undefined) => (mib == null ? null : mib * GPU_MB);
  const total = Math.max(0, ...points.flatMap(({ gpus }) => gpus.map(({ memoryTotalMb }) => memoryTotalMb ?? 0)));
  const all: LoadChart[] = [
    {
      title: texts.gpuLoad,
      of: 'percent',
      top: PERCENT,
      lines: [...ofGpus(({ busyPercent }) => busyPercent), ...most],
    },
    {
      title: texts.gpuMemory,
      of: 'size',
      top: total === 0 ? null : total * GPU_MB,
      lines: ofGpus(({ memoryUsedMb }) => inBytes(memoryUsedMb)),
    },
    { title: texts.cpu, of: 'percent', top: PERCENT, lines: [line(texts.cpu, ({ cpuPercent }) => cpuPercent)] },
    {
      title: texts.memory,
      of: 'size',
      top: ramGb === null ? null : ramGb * GB,
      lines: [line(texts.memory, ({ memoryUsedBytes }) => memoryUsedBytes)],
    },
    {
      title: texts.network,
      of: 'rate',
      top: null,
      lines: [
        { ...line(texts.in, (point) => point.networkInBytesPerSecond), isDashed: true },
        line(texts.out, (point) => point.networkOutBytesPerSecond),
      ],
    },
    { title: texts.disk, of: 'size', top: null, lines: [line(texts.disk, ({ diskUsedBytes }) => diskUsedBytes)] },
    { title: texts.gpuPower, of: 'power', top: null, lines: ofGpus(({ powerWatts }) => powerWatts) },
    { title: texts.gpuTemperature, of: 'temperature', top: null, lines: ofGpus(({ celsius }) => celsius) },
  ];
  const isKnown = ({ values }: Line) => values.some((value) => value !== null);
  const charts = all.map((chart) => ({ ...chart, lines: chart.lines.filter(isKnown) }));
  return { times, charts: charts.filter(({ lines }) => lines.length > 0) };
}

const clock = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' });
const clockOfSeconds = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });

/** Formats a local time: "23 Nov, 18:02:10". */
export function momentText(at: number): string {
  const date = new Date(at * 1_000);
  return `${day.format(date)}, ${clockOfSeconds.format(date)}`;
}

/** Formats a local time for an axis whose marks are `apart` seconds apart: "18:02:10", "18:02" or "23 Nov". */
export function markText(at: number, apart: number): string {
  const date = new Date(at * 1_000);
  return (apart >= 86_400 ? day : apart >= 60 ? clock : clockOfSeconds).format(date);
}

function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : known.reduce((sum, each) => sum + each, 0) / known.length;
}

/** Returns the newest known value. */
export function newestOf({ values }: Line): number | null {
  return values.findLast((value) => value !== null) ?? null;
}

/** Formats a value with the unit that suits it: "97%", "4.3 kB/s", "25.8 GB". */
export function valueText(value: number | null, of: Quantity): string {
  if (value === null) return '–';
  switch (of) {
    case 'percent':
      return percent(value);
    case 'size':
      return fileSize(value);
    case 'rate':
      return `${fileSize(value)}/s`;
    case 'power':
      return `${fixed(value, 0)} W`;
    case 'temperature':
      return `${fixed(value, 0)} °C`;
  }
}

/** The largest part of a unit by which an axis's mark is rounded. */
const MAX_ROUNDING = 0.1;

const AXIS_UNITS = { power: 'W', temperature: '°C' };

/** Formats the marks of an axis, which are equally far apart. They all have the same unit. */
export function marksText(marks: readonly number[], of: Quantity): string[] {
  if (of === 'percent') return marks.map((mark) => (mark === 0 ? '0' : percent(mark)));
  const isBytes = of === 'size' || of === 'rate';
  const unit = isBytes ? unitOf(marks.at(-1) ?? 0) : { name: AXIS_UNITS[of], bytes: 1 };
  const name = of === 'rate' ? `${unit.name}/s` : unit.name;
  const apart = ((marks[1] ?? unit.bytes) - (marks[0] ?? 0)) / unit.bytes;
  // Half of 23 GB is 11.5 GB. A card's 23.99 GB are still 24 GB.
  const isUneven = apart >= 1 && Math.abs(apart - Math.round(apart)) > MAX_ROUNDING;
  const step = isUneven ? MAX_ROUNDING : apart;
  return marks.map((mark) => (mark === 0 ? '0' : `${tickText(mark / unit.bytes, step)} ${name}`));
}
