import type { Command } from 'commander';
import type { GpuClient } from '../client/index.js';
import { EXIT } from './failure.js';
import { openSession } from './session.js';
import { type Output, show, type View } from './show.js';
import { type Column, table, text, usd } from './table.js';

/** Interval between the hosts' load measurements, in seconds. */
const EVERY_SECONDS = 10;
const INTERRUPT = '\u0003';
const MIB_OF_GIB = 1_024;
const BYTES_OF_GB = 1_000_000_000;
const BYTES_OF_MB = 1_000_000;

const TOP = `{ instances {
  id name status gpu numGpus priceHr diskPriceHr
  load {
    cpuPercent memoryUsedBytes networkInBytesPerSecond networkOutBytesPerSecond
    gpus { busyPercent memoryUsedMb memoryTotalMb powerWatts celsius } } } }`;

/** One GPU's load. Values are null if unknown. */
interface GpuLoad {
  busyPercent: number | null;
  memoryUsedMb: number | null;
  memoryTotalMb: number | null;
  powerWatts: number | null;
  celsius: number | null;
}

/** An instance's current load. Values are null if unknown. */
interface Load {
  cpuPercent: number | null;
  memoryUsedBytes: number | null;
  networkInBytesPerSecond: number | null;
  networkOutBytesPerSecond: number | null;
  gpus: readonly GpuLoad[];
}

interface Row {
  id: string;
  name: string;
  status: 'RUNNING' | 'STOPPED' | 'DESTROYED';
  gpu: string;
  numGpus: number;
  priceHr: string;
  diskPriceHr: string;
  /** The instance's load, or null if it isn't running or hasn't been measured recently. */
  load: Load | null;
}

const right = (unit: string, spare = 0) => ({ right: true, unit, spare });

const ofGpus = (heading: string, unit: string, show: (gpus: readonly GpuLoad[]) => string, spare = 0) =>
  text<Row>(heading, ({ load }) => (load === null ? '-' : show(load.gpus)), right(unit, spare));

const ofAll = (heading: string, unit: string, decimals: number, pick: (load: Load) => number | null, spare = 0) =>
  text<Row>(heading, ({ load }) => decimal(load === null ? null : pick(load), decimals), right(unit, spare));

const COLUMNS: readonly Column<Row>[] = [
  text('ID', ({ id }) => id, { style: () => 'cyan' }),
  text('NAME', ({ name }) => name, { spare: 4 }),
  text('STATUS', ({ status }) => status.toLowerCase(), {
    style: ({ status }) => (status === 'RUNNING' ? 'green' : 'yellow'),
  }),
  text('GPU', ({ gpu, numGpus }) => (numGpus === 1 ? gpu : `${numGpus} x ${gpu}`), { spare: 3 }),
  ofGpus('BUSY', '%', (gpus) => decimal(mean(gpus.map(({ busyPercent }) => busyPercent)), 0)),
  ofGpus('GPU MEMORY', 'GIB', memoryOf, 1),
  ofGpus('POWER', 'W', (gpus) => decimal(sum(gpus.map(({ powerWatts }) => powerWatts)), 0), 5),
  ofGpus('HOTTEST', 'C', (gpus) => decimal(greatest(gpus.map(({ celsius }) => celsius)), 0), 6),
  ofAll('CPU', '%', 0, ({ cpuPercent }) => cpuPercent),
  ofAll('RAM', 'GB', 2, ({ memoryUsedBytes }) => over(memoryUsedBytes, BYTES_OF_GB), 2),
  ofAll('IN', 'MB/S', 2, (load) => over(load.networkInBytesPerSecond, BYTES_OF_MB), 8),
  ofAll('OUT', 'MB/S', 2, (load) => over(load.networkOutBytesPerSecond, BYTES_OF_MB), 7),
  usd('COST', costOf),
];

/** Returns the hourly cost. It always includes the disk, and includes the machine while the instance is running. */
function costOf({ status, priceHr, diskPriceHr }: Row): number {
  return Number(diskPriceHr) + (status === 'RUNNING' ? Number(priceHr) : 0);
}

function memoryOf(gpus: readonly GpuLoad[]): string {
  const used = over(sum(gpus.map(({ memoryUsedMb }) => memoryUsedMb)), MIB_OF_GIB);
  const total = over(sum(gpus.map(({ memoryTotalMb }) => memoryTotalMb)), MIB_OF_GIB);
  return used === null || total === null ? '-' : `${used.toFixed(1)} of ${total.toFixed(0)}`;
}

/** Returns the sum, or null if a value is unknown or missing. */
function sum(values: readonly (number | null)[]): number | null {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return values.length === 0 ? null : total;
}

function mean(values: readonly (number | null)[]): number | null {
  return over(sum(values), values.length);
}

/** Returns the largest of the known values. */
function greatest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function over(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

function decimal(value: number | null, decimals: number): string {
  return value === null ? '-' : value.toFixed(decimals);
}

const VIEW: View<{ instances: Row[] }> = {
  lines: ({ instances }) => (instances.length === 0 ? [] : table(instances, COLUMNS)),
  ids: ({ instances }) => instances.map(({ id }) => id),
  remark: ({ instances }) => (instances.length === 0 ? 'No active instances.' : null),
};

export function addTopCommand(program: Command): void {
  program
    .command('top')
    .description('Show the current load and cost of your instances')
    .addHelpText('after', '\nOn a terminal, it refreshes at every measurement, every 10 s. Press q to quit.')
    .option('--once', 'Print once and exit (default if output is not a terminal)')
    .option('--json', "Print the service's JSON response once, unchanged")
    .action(async ({ once = false, json = false }: { once?: boolean } & Pick<Output, 'json'>, command: Command) => {
      const session = openSession(command, { needsKey: true });
      const query = (client: GpuClient) => client.graphql<{ instances: Row[] }>(TOP);
      if (once || json || !process.stdout.isTTY) return show(session, { json }, query, VIEW);
      const release = quitOnKey();
      try {
        await show(session, { watch: EVERY_SECONDS, quitKey: release === null ? 'Ctrl-C' : 'q' }, query, VIEW);
      } finally {
        release?.();
      }
    });
}

/**
 * Ends the process on q and on Ctrl-C. Returns a function that stops reading the keyboard, or null if there is no
 * keyboard.
 */
function quitOnKey(): (() => void) | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY) return null;
  const release = () => {
    stdin.off('data', onKey);
    stdin.setRawMode(false).pause();
  };
  const onKey = (keys: string) => {
    const [key] = [...keys].filter((each) => each === 'q' || each === INTERRUPT);
    if (key === undefined) return;
    release();
    stdout.write('\n');
    process.exit(key === 'q' ? EXIT.done : EXIT.interrupted);
  };
  stdin.setRawMode(true).setEncoding('utf8').on('data', onKey);
  return release;
}
