import type { ResultOf } from 'gql.tada';
import type { InstanceMetrics } from '../graph/documents.js';
import { texts } from '../texts/en/load.js';
import { locale } from '../texts/en/locale.js';
import { fixed } from './number.js';
import { secondsOf } from './time.js';

export type Metrics = NonNullable<ResultOf<typeof InstanceMetrics>['instance']>['metrics'];
type Point = Metrics['points'][number];
type Gpu = Point['gpus'][number];

/** A line in a chart. Unknown values are null. */
export interface Line {
  name: string;
  values: (number | null)[];
}

export interface LoadChart {
  title: string;
  unit: string;
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
const MIB_OF_GIB = 1_024;
const BYTES_OF_GB = 1e9;
const BYTES_OF_MB = 1e6;

/** Returns the charts that contain a known value, each with only the lines that do. */
export function chartsOf({ stepSeconds, points }: Metrics): LoadCharts {
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
  const scaled = (value: number | null, by: number) => (value === null ? null : value / by);
  const all: LoadChart[] = [
    { title: texts.gpuLoad, unit: '%', top: PERCENT, lines: [...ofGpus(({ busyPercent }) => busyPercent), ...most] },
    {
      title: texts.gpuMemory,
      unit: 'GiB',
      top: null,
      lines: ofGpus(({ memoryUsedMb }) => scaled(memoryUsedMb, MIB_OF_GIB)),
    },
    { title: texts.gpuPower, unit: 'W', top: null, lines: ofGpus(({ powerWatts }) => powerWatts) },
    { title: texts.gpuTemperature, unit: '°C', top: null, lines: ofGpus(({ celsius }) => celsius) },
    { title: texts.cpu, unit: '%', top: PERCENT, lines: [line(texts.cpu, ({ cpuPercent }) => cpuPercent)] },
    {
      title: texts.memoryAndDisk,
      unit: 'GB',
      top: null,
      lines: [
        line(texts.memory, ({ memoryUsedBytes }) => scaled(memoryUsedBytes, BYTES_OF_GB)),
        line(texts.disk, ({ diskUsedBytes }) => scaled(diskUsedBytes, BYTES_OF_GB)),
      ],
    },
    {
      title: texts.network,
      unit: 'MB/s',
      top: null,
      lines: [
        line(texts.in, (point) => scaled(point.networkInBytesPerSecond, BYTES_OF_MB)),
        line(texts.out, (point) => scaled(point.networkOutBytesPerSecond, BYTES_OF_MB)),
      ],
    },
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

export function valueText(value: number | null, unit: string): string {
  if (value === null) return '–';
  const decimals = unit === 'GiB' || unit === 'GB' || unit === 'MB/s' ? 2 : 0;
  return `${fixed(value, decimals)} ${unit}`;
}
