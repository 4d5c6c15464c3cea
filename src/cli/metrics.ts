import type { Command } from 'commander';
import type { InstanceMetrics, MetricRange } from '../client/index.js';
import { amount } from './market.js';
import { openSession } from './session.js';
import { type Output, show, type View } from './show.js';
import { type Column, table, text, when } from './table.js';

type Point = InstanceMetrics['points'][number];
type Gpu = Point['gpus'][number];

const BYTES_OF_GB = 1_000_000_000;
const BYTES_OF_MB = 1_000_000;

const decimal = (value: number | null | undefined, decimals = 0) =>
  value === null || value === undefined ? '-' : value.toFixed(decimals);

/** Returns a column that shows a value for each of the instance's GPUs by index, such as `97 12`. */
const ofGpus = (heading: string, unit: string, pick: (gpu: Gpu) => number | null, spare = 0): Column<Point> =>
  text<Point>(heading, ({ gpus }) => gpus.map((gpu) => decimal(pick(gpu))).join(' ') || '-', {
    unit,
    right: true,
    spare,
  });

const ofAll = (heading: string, unit: string, pick: (point: Point) => string, spare = 0): Column<Point> =>
  text<Point>(heading, pick, { unit, right: true, spare });

const COLUMNS: readonly Column<Point>[] = [
  when('TIME', ({ at }) => at),
  ofGpus('GPU', '%', ({ busy_percent }) => busy_percent),
  ofGpus('GPU MEMORY', 'MIB', ({ memory_used_mb }) => memory_used_mb, 1),
  ofGpus('POWER', 'W', ({ power_watts }) => power_watts, 5),
  ofGpus('TEMPERATURE', 'C', ({ celsius }) => celsius, 6),
  ofAll('CPU', '%', ({ cpu_percent }) => decimal(cpu_percent)),
  ofAll('MEMORY', 'GB', ({ memory_used_bytes: used }) => decimal(used === null ? null : used / BYTES_OF_GB, 2), 2),
  ofAll('DISK', 'GB', ({ disk_used_bytes: used }) => decimal(used === null ? null : used / BYTES_OF_GB, 2), 7),
  ofAll('IN', 'MB/S', (point) => rate(point.network_in_bytes_per_second), 4),
  ofAll('OUT', 'MB/S', (point) => rate(point.network_out_bytes_per_second), 3),
];

function rate(bytesPerSecond: number | null): string {
  return decimal(bytesPerSecond === null ? null : bytesPerSecond / BYTES_OF_MB, 2);
}

const VIEW: View<InstanceMetrics> = {
  lines: ({ points }) => (points.length === 0 ? [] : table(points, COLUMNS)),
  ids: ({ points }) => points.map(({ at }) => at),
  remark: ({ points, step_seconds }) =>
    points.length === 0
      ? 'There are no measurements in this period.'
      : `One line per ${step_seconds} s. \`gpu metrics ID --points 12\` prints fewer.`,
};

export function addMetricsCommand(program: Command): void {
  program
    .command('metrics <instance>')
    .description("Show an instance's load over time: GPUs, CPU, memory, disk and network")
    .option('--from <time>', 'Start, such as 2026-11-23T18:00:00Z (default: an hour before the end)')
    .option('--to <time>', 'End (default: now)')
    .option('--points <number>', 'Maximum number of lines, 1 to 1000 (default: 360)', amount)
    .option('--json', "Print the service's JSON response unchanged")
    .action((id: string, { from, to, points, ...options }: MetricRange & Pick<Output, 'json'>, command: Command) => {
      const range = { ...(from && { from }), ...(to && { to }), ...(points !== undefined && { points }) };
      return show(
        openSession(command, { needsKey: true }),
        options,
        (client) => client.instances.metrics(id, range),
        VIEW,
      );
    });
}
