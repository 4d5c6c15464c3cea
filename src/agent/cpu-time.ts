import { readdir, readFile, readlink } from 'node:fs/promises';

/** Clock ticks per second in /proc, the same on every architecture that the agent supports. */
const TICKS_PER_SECOND = 100;

interface Process {
  parent: number;
  namespace: string | null;
  /** CPU time used by the process and by the exited children that it has waited for. */
  ticks: number;
  /**
   * Start time in clock ticks since the host booted. Process ids are reused, so a process is identified by its id and
   * start time together.
   */
  begunAt: number;
}

/** All processes on the host, by id. */
export type Processes = ReadonlyMap<number, Process>;

/**
 * Returns the CPU seconds used so far by the container whose first process is `pid`, summed over all processes in its
 * PID namespace and their descendants. Returns null if the container has ended or /proc can't be read. Control groups
 * would be cheaper, but not every host has the controller that counts CPU time.
 */
export function cpuSecondsOf(processes: Processes, pid: number): number | null {
  const first = processes.get(pid);
  if (first === undefined || first.namespace === null) return null;
  const isInside = (each: Process | undefined, depth = 0): boolean => {
    if (each === undefined || depth > processes.size) return false;
    return each.namespace === first.namespace || isInside(processes.get(each.parent), depth + 1);
  };
  let ticks = 0;
  for (const each of processes.values()) if (isInside(each)) ticks += each.ticks;
  return ticks / TICKS_PER_SECOND;
}

export async function readProcesses(): Promise<Processes> {
  const found = new Map<number, Process>();
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    // Skips processes that have exited in the meantime.
    const read = await readProcess(Number(pid));
    if (read === null) continue;
    const namespace = await readlink(`/proc/${pid}/ns/pid`).catch(() => null);
    found.set(Number(pid), { ...read, namespace });
  }
  return found;
}

/** Resolves to null if the process has ended. */
export async function readProcess(pid: number): Promise<Omit<Process, 'namespace'> | null> {
  return readStat(await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ''));
}

/** Parses /proc/<pid>/stat. The process name may contain any character and ends at the last closing parenthesis. */
export function readStat(stat: string): Omit<Process, 'namespace'> | null {
  const rest = stat.slice(stat.lastIndexOf(')') + 1).trim();
  const fields = rest.split(/\s+/);
  const numberAt = (place: number) => Number(fields[place] ?? Number.NaN);
  const [parent, begunAt] = [numberAt(1), numberAt(19)];
  const ticks = [11, 12, 13, 14].map(numberAt);
  if ([parent, begunAt, ...ticks].some((value) => !Number.isSafeInteger(value) || value < 0)) return null;
  return { parent, begunAt, ticks: ticks.reduce((sum, each) => sum + each, 0) };
}
