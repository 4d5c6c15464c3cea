import { queryComputeProcesses, queryGpus } from './nvidia-smi.js';

/**
 * A GPU's load at one moment. A value is null if it is unknown, because the driver reports "[N/A]", "ERR!" or a value
 * out of bounds.
 */
export interface GpuLoad {
  uuid: string;
  /** Percentage of the driver's last sampling period (up to a second) that a kernel was running. */
  busyPercent: number | null;
  memoryUsedMb: number | null;
  memoryTotalMb: number | null;
  powerWatts: number | null;
  celsius: number | null;
  /** Clock frequency of the streaming multiprocessors. */
  smMhz: number | null;
  /** Uncorrectable memory errors since the driver was loaded, or null for a GPU without ECC. */
  faults: number | null;
}

const COLUMNS =
  'uuid,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,clocks.sm,ecc.errors.uncorrected.volatile.total';
const UUID = /^GPU-[0-9A-Za-z-]{1,60}$/;
const MAX_MB = 100_000_000;
const MAX_WATTS = 100_000;
const MAX_CELSIUS = 300;
const MAX_MHZ = 100_000;
const MAX_FAULTS = 1_000_000_000;

/** Reads the load of each of the host's GPUs. Resolves to null if the driver does not respond. */
export async function readGpuLoads(): Promise<GpuLoad[] | null> {
  const csv = await queryGpus(COLUMNS);
  return csv === null ? null : parseGpuLoads(csv);
}

/**
 * Counts the compute processes on each GPU, by UUID. A GPU that is not in the map has none. Resolves to null if the
 * driver does not respond.
 */
export async function readGpuProcesses(): Promise<ReadonlyMap<string, number> | null> {
  const csv = await queryComputeProcesses('gpu_uuid,pid');
  return csv === null ? null : parseGpuProcesses(csv);
}

/** Parses the list of processes. For a partitioned GPU, the output lists a process once per partition. */
export function parseGpuProcesses(csv: string): ReadonlyMap<string, number> {
  const pids = new Map<string, Set<string>>();
  for (const line of csv.split('\n')) {
    const [uuid = '', pid = '', ...more] = line.split(',').map((cell) => cell.trim());
    if (more.length === 0 && UUID.test(uuid) && /^\d+$/.test(pid))
      pids.set(uuid, (pids.get(uuid) ?? new Set()).add(pid));
  }
  return new Map([...pids].map(([uuid, each]) => [uuid, each.size]));
}

/** Parses the lines of `--query-gpu` with COLUMNS. Malformed lines are skipped. */
export function parseGpuLoads(csv: string): GpuLoad[] {
  return csv.split('\n').flatMap((line) => {
    const cells = line.split(',').map((cell) => cell.trim());
    const [uuid = '', busy, used, total, power, temperature, clock, faults] = cells;
    if (cells.length !== 8 || !UUID.test(uuid)) return [];
    return [
      {
        uuid,
        busyPercent: numberOrNull(busy, 100),
        memoryUsedMb: numberOrNull(used, MAX_MB),
        memoryTotalMb: numberOrNull(total, MAX_MB),
        powerWatts: numberOrNull(power, MAX_WATTS),
        celsius: numberOrNull(temperature, MAX_CELSIUS),
        smMhz: numberOrNull(clock, MAX_MHZ),
        faults: numberOrNull(faults, MAX_FAULTS),
      },
    ];
  });
}

/** Returns null for anything except a plain decimal number from 0 to `max`. */
function numberOrNull(text: string | undefined, max: number): number | null {
  if (text === undefined || !/^\d{1,9}(\.\d{1,3})?$/.test(text)) return null;
  const value = Number(text);
  return value <= max ? value : null;
}
