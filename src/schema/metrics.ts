import { DomainError } from '../domain/kernel/errors.js';
import { check, checkOptional } from '../domain/kernel/field.js';
import { parseInstant, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../domain/kernel/time.js';
import { sampleFields } from '../domain/samples/fields.js';
import type { GpuMetrics, InstanceLoad, InstanceMetrics, MetricPoint } from '../domain/samples/metric-points.js';
import { DEFAULT_POINTS, LOAD_SECONDS, MAX_POINTS, STEPS } from '../domain/samples/rules/samples.js';
import { builder, fromField, lengthFrom } from './builder.js';
import type { GatewayContext } from './context.js';
import { InstanceType } from './instances.js';

const unknown = (description: string) => ({ nullable: true as const, description: `${description} Null if unknown.` });

/**
 * Number of GPUs assumed when computing complexity, because most instances have at most this many. The values actually
 * returned are counted separately.
 */
const USUAL_GPUS = { extensions: { mostEntries: 2 } };

const GpuMetricsType = builder.objectRef<GpuMetrics>('GpuMetrics').implement({
  description: 'Metrics of one GPU over the seconds of a point. Several samples are averaged.',
  fields: (t) => ({
    place: t.exposeInt('place', { description: "Index among the instance's GPUs, starting at 0." }),
    busyPercent: t.exposeFloat('busyPercent', unknown('Share of time in which a kernel was running, in percent.')),
    busyMaxPercent: t.exposeFloat('busyMaxPercent', unknown('Highest such share in one sample, in percent.')),
    memoryUsedMb: t.exposeInt('memoryUsedMb', unknown('Memory in use, in MiB.')),
    memoryTotalMb: t.exposeInt('memoryTotalMb', unknown('Total memory, in MiB.')),
    powerWatts: t.exposeFloat('powerWatts', unknown('Power draw, in watts.')),
    celsius: t.exposeFloat('celsius', unknown('Temperature in degrees Celsius.')),
    smMhz: t.exposeFloat('smMhz', unknown('Clock of the streaming multiprocessors, in MHz.')),
    faults: t.exposeInt('faults', unknown('Uncorrectable memory errors since the host loaded its driver.')),
    processes: t.exposeInt('processes', unknown('Processes computing on the GPU.')),
  }),
});

const MetricPointType = builder.objectRef<MetricPoint>('MetricPoint').implement({
  description:
    'Metrics of an instance, measured by the host agent of its machine, over the seconds starting at `at`. Several samples are averaged.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'The first second.' }),
    cpuPercent: t.exposeFloat('cpuPercent', unknown('Use of its vCPUs, in percent.')),
    memoryUsedBytes: t.exposeFloat('memoryUsedBytes', unknown('Memory in use, excluding reclaimable cache.')),
    diskUsedBytes: t.exposeFloat('diskUsedBytes', unknown('Disk in use.')),
    networkInBytesPerSecond: t.exposeFloat('networkInBytesPerSecond', unknown('Bytes received per second.')),
    networkOutBytesPerSecond: t.exposeFloat('networkOutBytesPerSecond', unknown('Bytes sent per second.')),
    processes: t.exposeInt('processes', unknown('Processes and threads in its container.')),
    gpus: t.expose('gpus', { type: [GpuMetricsType], ...USUAL_GPUS, description: 'Its GPUs, by place.' }),
  }),
});

export const InstanceLoadType = builder.objectRef<InstanceLoad>('InstanceLoad').implement({
  description: 'The newest sample of an instance.',
  fields: (t) => ({
    instanceId: t.exposeID('instanceId', { description: 'Instance id.' }),
    load: t.expose('load', { type: MetricPointType, description: 'The sample.' }),
  }),
});

const InstanceMetricsType = builder.objectRef<InstanceMetrics>('InstanceMetrics').implement({
  description: 'Metrics of an instance over a period.',
  fields: (t) => ({
    stepSeconds: t.exposeInt('stepSeconds', { description: 'Seconds of each point.' }),
    points: t.expose('points', {
      type: [MetricPointType],
      description: 'Points, oldest first. Times without measurements have no point.',
    }),
  }),
});

/** Maximum number of periods per request, because each one is read separately. */
const MAX_RANGES = 10;
const rangesOf = new WeakMap<GatewayContext, Set<string>>();

/** Throws invalid_request if a request has too many periods. */
function checkRanges(context: GatewayContext, range: readonly unknown[]): void {
  const known = rangesOf.get(context) ?? new Set<string>();
  rangesOf.set(context, known.add(range.join(' ')));
  if (known.size > MAX_RANGES)
    throw new DomainError(
      'invalid_request',
      `one request can query the metrics of at most ${MAX_RANGES} time ranges; instances can share a range`,
    );
}

const RETENTIONS = STEPS.map(({ seconds, keptSeconds }) => {
  const days = keptSeconds / SECONDS_PER_DAY;
  return `${seconds} s for ${days === 0n ? `${keptSeconds / SECONDS_PER_HOUR} h` : `${days} days`}`;
});

builder.prismaObjectField(InstanceType, 'metrics', (t) =>
  t.field({
    type: InstanceMetricsType,
    description: `Metrics between \`from\` and \`to\`, in the finest steps that cover the whole period: ${RETENTIONS.join(', ')}. For information only; billing doesn't depend on them.`,
    ...lengthFrom({ argument: 'points', usual: DEFAULT_POINTS, most: MAX_POINTS }),
    args: {
      from: t.arg.string(fromField(sampleFields.metricsFrom)),
      to: t.arg.string(fromField(sampleFields.metricsTo)),
      points: t.arg.int(fromField(sampleFields.points)),
    },
    select: { id: true },
    resolve: ({ id }, { from, to, points }, context) => {
      checkRanges(context, [from, to, points]);
      const [begin, end] = [
        checkOptional('from', sampleFields.metricsFrom, from),
        checkOptional('to', sampleFields.metricsTo, to),
      ];
      return context.deps.metricLoader.of(id, {
        from: begin === undefined ? null : parseInstant(begin),
        to: end === undefined ? null : parseInstant(end),
        points: check('points', sampleFields.points, points ?? DEFAULT_POINTS),
      });
    },
  }),
);

builder.prismaObjectField(InstanceType, 'load', (t) =>
  t.field({
    type: MetricPointType,
    nullable: true,
    description: `Its newest sample. Null unless it is running and was measured within the last ${LOAD_SECONDS} s.`,
    select: { id: true, status: true },
    resolve: ({ id, status }, _args, { deps }) => (status === 'RUNNING' ? deps.loadLoader.of(id) : null),
  }),
);
