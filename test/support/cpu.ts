import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** The parent folder of groups and the file with a group's CPU time, for cgroup v1 and v2. */
const HIERARCHIES = [
  { root: '/sys/fs/cgroup/cpuacct', file: 'cpuacct.usage', secondsOf: (text: string) => Number(text) / 1e9 },
  {
    root: '/sys/fs/cgroup',
    file: 'cpu.stat',
    secondsOf: (text: string) => Number(/^usage_usec (\d+)/m.exec(text)?.[1]) / 1e6,
  },
];
const PREFIX = 'gpu-rental-test-';
const TICKS_PER_SECOND = 100;

/** Kept between test files, because a worker doesn't load this module again for the next one. */
let read: (() => number) | undefined;

/**
 * Returns the CPU-seconds of this process and of the programs that it has started. If this process may create a control
 * group, that includes programs that still run or have left their parent. Otherwise, only programs that have ended are
 * included. PostgreSQL is never included, because the run's own process starts it.
 */
export function cpuSeconds(): number {
  read ??= inGroup() ?? withChildren;
  return read();
}

function inGroup(): (() => number) | undefined {
  for (const { root, file, secondsOf } of HIERARCHIES) {
    const group = `${root}/${PREFIX}${process.pid}`;
    try {
      if (!existsSync(`${root}/cgroup.procs`)) continue;
      mkdirSync(group);
      writeFileSync(`${group}/cgroup.procs`, String(process.pid));
      return () => secondsOf(readFileSync(`${group}/${file}`, 'utf8'));
    } catch {
      // This process may not create a group, or nothing is counted there.
    }
  }
  return undefined;
}

/** Removes the groups of workers that have ended. The system keeps any group with running programs. */
export function removeEmptyGroups(): void {
  for (const { root } of HIERARCHIES.filter(({ root }) => existsSync(root))) {
    for (const name of readdirSync(root).filter((each) => each.startsWith(PREFIX))) {
      try {
        rmdirSync(`${root}/${name}`);
      } catch {
        // The group is in use.
      }
    }
  }
}

function withChildren(): number {
  const { user, system } = process.cpuUsage();
  const own = (user + system) / 1e6;
  if (process.platform !== 'linux') return own;
  // The fields after the program's name: 3 is its state, 16 and 17 are the times of children that were waited for.
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return own + (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND;
}
