/** Content type of the Prometheus text format. */
export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const BYTES_OF_MB = 1_048_576;
const HERTZ_OF_MHZ = 1_000_000;
const PERCENT = 100;

type Value = number | null;

/** Instance fields selected by the route's document. */
interface Shown {
  id: string;
  name: string;
  status: string;
  load: Load | null;
}

interface Load {
  at: string;
  cpuPercent: Value;
  memoryUsedBytes: Value;
  diskUsedBytes: Value;
  networkInBytesPerSecond: Value;
  networkOutBytesPerSecond: Value;
  processes: Value;
  gpus: readonly Gpu[];
}

interface Gpu {
  place: number;
  busyPercent: Value;
  memoryUsedMb: Value;
  memoryTotalMb: Value;
  powerWatts: Value;
  celsius: Value;
  smMhz: Value;
  faults: Value;
  processes: Value;
}

interface Gauge<Source> {
  name: string;
  help: string;
  read(source: Source): Value;
}

const scaled = (value: Value, factor: number): Value => (value === null ? null : value * factor);

/** An instance's gauges in base units, as Prometheus requires. */
const INSTANCE_GAUGES: readonly Gauge<Load>[] = [
  {
    name: 'sample_timestamp_seconds',
    help: 'Time of the newest sample.',
    read: ({ at }) => Date.parse(at) / 1_000,
  },
  {
    name: 'cpu_ratio',
    help: 'Use of the vCPUs, 0 to 1.',
    read: ({ cpuPercent }) => scaled(cpuPercent, 1 / PERCENT),
  },
  {
    name: 'memory_used_bytes',
    help: 'Memory in use, excluding reclaimable cache.',
    read: ({ memoryUsedBytes }) => memoryUsedBytes,
  },
  { name: 'disk_used_bytes', help: 'Disk in use.', read: ({ diskUsedBytes }) => diskUsedBytes },
  {
    name: 'network_in_bytes_per_second',
    help: 'Bytes received per second.',
    read: ({ networkInBytesPerSecond }) => networkInBytesPerSecond,
  },
  {
    name: 'network_out_bytes_per_second',
    help: 'Bytes sent per second.',
    read: ({ networkOutBytesPerSecond }) => networkOutBytesPerSecond,
  },
  { name: 'processes', help: 'Processes and threads in its container.', read: ({ processes }) => processes },
];

const GPU_GAUGES: readonly Gauge<Gpu>[] = [
  {
    name: 'gpu_busy_ratio',
    help: 'Share of time in which a kernel was running, 0 to 1.',
    read: ({ busyPercent }) => scaled(busyPercent, 1 / PERCENT),
  },
  {
    name: 'gpu_memory_used_bytes',
    help: 'GPU memory in use.',
    read: ({ memoryUsedMb }) => scaled(memoryUsedMb, BYTES_OF_MB),
  },
  {
    name: 'gpu_memory_size_bytes',
    help: 'Total GPU memory.',
    read: ({ memoryTotalMb }) => scaled(memoryTotalMb, BYTES_OF_MB),
  },
  { name: 'gpu_power_watts', help: 'GPU power draw.', read: ({ powerWatts }) => powerWatts },
  { name: 'gpu_temperature_celsius', help: 'GPU temperature.', read: ({ celsius }) => celsius },
  {
    name: 'gpu_clock_hertz',
    help: 'Clock of the streaming multiprocessors.',
    read: ({ smMhz }) => scaled(smMhz, HERTZ_OF_MHZ),
  },
  {
    name: 'gpu_faults',
    help: 'Uncorrectable memory errors since the host loaded its driver.',
    read: ({ faults }) => faults,
  },
  { name: 'gpu_processes', help: 'Processes computing on the GPU.', read: ({ processes }) => processes },
];

/**
 * Formats an instance's newest sample as Prometheus text. Without a sample, the text says only whether the instance is
 * running.
 */
export function prometheusText(result: unknown): string {
  const { id, name, status, load } = result as Shown;
  const labels = { instance: id, name };
  const lines = family('running', '1 while the instance is running, else 0.', [[labels, status === 'RUNNING' ? 1 : 0]]);
  if (load !== null) {
    for (const { name: gauge, help, read } of INSTANCE_GAUGES)
      lines.push(...family(gauge, help, [[labels, read(load)]]));
    for (const { name: gauge, help, read } of GPU_GAUGES) {
      const values = load.gpus.map((gpu) => [{ ...labels, gpu: String(gpu.place) }, read(gpu)] as const);
      lines.push(...family(gauge, help, values));
    }
  }
  return `${lines.join('\n')}\n`;
}

type Labels = Readonly<Record<string, string>>;

/** Formats a metric. Returns an empty array if no value is known. */
function family(name: string, help: string, values: readonly (readonly [Labels, Value])[]): string[] {
  const known = values.filter(([, value]) => value !== null);
  if (known.length === 0) return [];
  const whole = `gpu_rental_instance_${name}`;
  const head = [`# HELP ${whole} ${help}`, `# TYPE ${whole} gauge`];
  return [...head, ...known.map(([labels, value]) => `${whole}{${labelText(labels)}} ${value}`)];
}

function labelText(labels: Labels): string {
  const escaped = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}
