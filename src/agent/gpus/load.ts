import { queryGpus } from './nvidia-smi.js';

/** What one GPU does at a moment. Null is not known: the driver says "[N/A]", "ERR!" or something out of bounds. */
export interface GpuLoad {
  uuid: string;
  /** Share of the driver's last sampling period, of up to a second, in which a kernel ran; 0 to 100. */
  busyPercent: number | null;
  memoryUsedMb: number | null;
  memoryTotalMb: number | null;
  powerWatts: number | null;
  celsius: number | null;
  /** Clock of the streaming multiprocessors. */
  smMhz: number | null;
}

const COLUMNS = 'uuid,utilization.gpu,memory.used,memory.total,power.draw,temperature.gpu,clocks.sm';
const UUID = /^GPU-[0-9A-Za-z-]{1,60}$/;
const MAX_MB = 100_000_000;
const MAX_WATTS = 100_000;
const MAX_CELSIUS = 300;
const MAX_MHZ = 100_000;

/** Of each GPU of the host. Null when the driver does not answer. */
export async function readGpuLoads(): Promise<GpuLoad[] | null> {
  const csv = await queryGpus(COLUMNS);
  return csv === null ? null : parseGpuLoads(csv);
}

/** The lines of `--query-gpu` with COLUMNS. A line of another form says nothing, and is left out. */
export function parseGpuLoads(csv: string): GpuLoad[] {
  return csv.split('\n').flatMap((line) => {
    const cells = line.split(',').map((cell) => cell.trim());
    if (cells.length !== 7 || !UUID.test(cells[0]!)) return [];
    const [uuid, busy, used, total, power, temperature, clock] = cells as [string, ...string[]];
    return [
      {
        uuid,
        busyPercent: numberOrNull(busy, 100),
        memoryUsedMb: numberOrNull(used, MAX_MB),
        memoryTotalMb: numberOrNull(total, MAX_MB),
        powerWatts: numberOrNull(power, MAX_WATTS),
        celsius: numberOrNull(temperature, MAX_CELSIUS),
        smMhz: numberOrNull(clock, MAX_MHZ),
      },
    ];
  });
}

/** Null for everything but a plain decimal number from 0 to `max`. */
function numberOrNull(text: string | undefined, max: number): number | null {
  if (text === undefined || !/^\d{1,9}(\.\d{1,3})?$/.test(text)) return null;
  const value = Number(text);
  return value <= max ? value : null;
}
