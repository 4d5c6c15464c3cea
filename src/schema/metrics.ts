import { check, checkOptional, fields } from '../domain/fields.js';
import { DomainError } from '../domain/rules/errors.js';
import { DEFAULT_POINTS, LOAD_SECONDS, MAX_POINTS, STEPS } from '../domain/rules/samples.js';
import { parseInstant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../domain/rules/time.js';
import type { GpuMetrics, InstanceLoad, InstanceMetrics, MetricPoint } from '../domain/samples/metric-points.js';
import { builder, fromField, lengthFrom } from './builder.js';
import type { GatewayContext } from './context.js';
import { InstanceType } from './instances.js';

const unknown = (description: string) => ({ nullable: true as const, description: `${description} Null: not known.` });

/** The measure of an answer counts as many as most instances have; what comes out is counted as it is. */
const USUAL_GPUS = { extensions: { mostEntries: 2 } };

const GpuMetricsType = builder.objectRef<GpuMetrics>('GpuMetrics').implement({
  description: 'What one GPU of an instance did in the seconds of a point: means, where several samples are in them.',
  fields: (t) => ({
    place: t.exposeInt('place', { description: "Its number among the instance's GPUs, from 0." }),
    busyPercent: t.exposeFloat('busyPercent', unknown('Share of the time in which a kernel ran.')),
    busyMaxPercent: t.exposeFloat('busyMaxPercent', unknown('The greatest such share of a sample.')),
    memoryUsedMb: t.exposeInt('memoryUsedMb', unknown('Memory in use, in MiB.')),
    memoryTotalMb: t.exposeInt('memoryTotalMb', unknown('Memory that it has, in MiB.')),
    powerWatts: t.exposeFloat('powerWatts', unknown('Power that it draws, in watts.')),
    celsius: t.exposeFloat('celsius', unknown('Temperature in degrees Celsius.')),
    smMhz: t.exposeFloat('smMhz', unknown('Clock of its processors, in MHz.')),
    faults: t.exposeInt(
      'faults',
      unknown('Memory errors that could not be corrected, since the host loaded its driver.'),
    ),
    processes: t.exposeInt('processes', unknown('Processes that compute on it.')),
  }),
});

const MetricPointType = builder.objectRef<MetricPoint>('MetricPoint').implement({
  description:
    'What an instance did, as the host agent of its machine measured it, in the seconds that begin at `at`: means, where several samples are in them.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The first second.' }),
    cpuPercent: t.exposeFloat('cpuPercent', unknown('Share of the time of its vCPUs.')),
    memoryUsedBytes: t.exposeFloat('memoryUsedBytes', unknown('Memory in use, without what the system can drop.')),
    diskUsedBytes: t.exposeFloat('diskUsedBytes', unknown('Disk in use.')),
    networkInBytesPerSecond: t.exposeFloat('networkInBytesPerSecond', unknown('Received.')),
    networkOutBytesPerSecond: t.exposeFloat('networkOutBytesPerSecond', unknown('Sent.')),
    processes: t.exposeInt('processes', unknown('Processes and threads in its container.')),
    gpus: t.expose('gpus', { type: [GpuMetricsType], ...USUAL_GPUS, description: 'Its GPUs, by place.' }),
  }),
});

export const InstanceLoadType = builder.objectRef<InstanceLoad>('InstanceLoad').implement({
  description: 'The newest sample of an instance.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'The instance.' }),
    load: t.expose('load', { type: MetricPointType, description: 'What it does now.' }),
  }),
});

const InstanceMetricsType = builder.objectRef<InstanceMetrics>('InstanceMetrics').implement({
  description: 'What an instance did over a time.',
  fields: (t) => ({
    stepSeconds: t.exposeInt('stepSeconds', { description: 'Seconds of each point.' }),
    points: t.expose('points', {
      type: [MetricPointType],
      description: 'Oldest first. There is no point where nothing was measured.',
    }),
  }),
});

/** Times that one request may ask for: each is read by itself. */
const MAX_RANGES = 10;
const rangesOf = new WeakMap<GatewayContext, Set<string>>();

/** Refuses with invalid_request one time too many. */
function checkRanges(context: GatewayContext, range: readonly unknown[]): void {
  const known = rangesOf.get(context) ?? new Set<string>();
  rangesOf.set(context, known.add(range.join(' ')));
  if (known.size > MAX_RANGES)
    throw new DomainError(
      'invalid_request',
      `one request may ask for the metrics of ${MAX_RANGES} ranges of time at most; instances may share a range`,
    );
}

const KEPT = STEPS.map(({ seconds, keptSeconds }) => {
  const days = keptSeconds / SECONDS_PER_DAY;
  return `${seconds} s for ${days === 0n ? `${keptSeconds / SECONDS_PER_HOUR} h` : `${days} days`}`;
});

builder.prismaObjectField(InstanceType, 'metrics', (t) =>
  t.field({
    type: InstanceMetricsType,
    description: `What it did from \`from\` to \`to\`, in the finest steps that are kept of all that time: ${KEPT.join(', ')}. To look at: no money follows from it.`,
    ...lengthFrom({ argument: 'points', usual: DEFAULT_POINTS, most: MAX_POINTS }),
    args: {
      from: t.arg.string(fromField(fields.metricsFrom)),
      to: t.arg.string(fromField(fields.metricsTo)),
      points: t.arg.int(fromField(fields.points)),
    },
    select: { id: true },
    resolve: ({ id }, { from, to, points }, context) => {
      checkRanges(context, [from, to, points]);
      const [begin, end] = [checkOptional('from', fields.metricsFrom, from), checkOptional('to', fields.metricsTo, to)];
      return context.deps.metricLoader.of(id, {
        from: begin === undefined ? null : parseInstant(begin),
        to: end === undefined ? null : parseInstant(end),
        points: check('points', fields.points, points ?? DEFAULT_POINTS),
      });
    },
  }),
);

builder.prismaObjectField(InstanceType, 'load', (t) =>
  t.field({
    type: MetricPointType,
    nullable: true,
    description: `What it does now: its newest sample. Null unless it runs and was measured within ${LOAD_SECONDS} s.`,
    select: { id: true, status: true },
    resolve: ({ id, status }, _args, { deps }) => (status === 'RUNNING' ? deps.loadLoader.of(id) : null),
  }),
);
