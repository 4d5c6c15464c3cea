/**
 * A measured column, and how several of its values are merged into one. The merged value is null if all values are
 * unknown.
 */
interface Column {
  name: string;
  /** Name in responses. */
  as: string;
  /** SQL for the merged value. */
  merged: string;
}

const mean = (name: string, type: string) => `avg(${name})::${type}`;

export const INSTANCE_COLUMNS: readonly Column[] = [
  { name: 'cpu_percent', as: 'cpuPercent', merged: mean('cpu_percent', 'real') },
  { name: 'memory_used_bytes', as: 'memoryUsedBytes', merged: mean('memory_used_bytes', 'bigint') },
  { name: 'disk_used_bytes', as: 'diskUsedBytes', merged: mean('disk_used_bytes', 'bigint') },
  {
    name: 'network_in_bytes_per_second',
    as: 'networkInBytesPerSecond',
    merged: mean('network_in_bytes_per_second', 'bigint'),
  },
  {
    name: 'network_out_bytes_per_second',
    as: 'networkOutBytesPerSecond',
    merged: mean('network_out_bytes_per_second', 'bigint'),
  },
  { name: 'processes', as: 'processes', merged: mean('processes', 'int') },
];

export const GPU_COLUMNS: readonly Column[] = [
  { name: 'busy_percent', as: 'busyPercent', merged: mean('busy_percent', 'real') },
  { name: 'busy_max_percent', as: 'busyMaxPercent', merged: 'max(busy_max_percent)' },
  { name: 'memory_used_mb', as: 'memoryUsedMb', merged: mean('memory_used_mb', 'int') },
  { name: 'memory_total_mb', as: 'memoryTotalMb', merged: 'max(memory_total_mb)' },
  { name: 'power_watts', as: 'powerWatts', merged: mean('power_watts', 'real') },
  { name: 'celsius', as: 'celsius', merged: mean('celsius', 'real') },
  { name: 'sm_mhz', as: 'smMhz', merged: mean('sm_mhz', 'real') },
  // Counted since the driver was loaded.
  { name: 'faults', as: 'faults', merged: 'max(faults)' },
  { name: 'processes', as: 'processes', merged: mean('processes', 'int') },
];

export const namesOf = (columns: readonly Column[]) => columns.map(({ name }) => name).join(', ');

/** Returns SQL for each column's merged value, named after the column, for a grouped select. */
export const mergedOf = (columns: readonly Column[]) =>
  columns.map(({ name, merged }) => `${merged} as ${name}`).join(', ');

/** Returns the columns as arguments to json_build_object. */
export const membersOf = (columns: readonly Column[]) => columns.map(({ name, as }) => `'${as}', ${name}`).join(', ');
