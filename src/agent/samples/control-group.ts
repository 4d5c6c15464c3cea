import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Mount } from '../file-systems.js';

/**
 * The cgroup (v1 or v2) directories that track a container's resource usage. Null for a resource that this host doesn't
 * track.
 */
export interface ControlGroup {
  cpu: CountedBy | null;
  memory: CountedBy | null;
  pids: CountedBy | null;
}

interface CountedBy {
  version: 1 | 2;
  dir: string;
}

/** A control group's counts. A count is null if it is unknown. */
export interface GroupCounts {
  /** CPU seconds since the group was created. */
  cpuSeconds: number | null;
  /** Excludes file cache that was not used recently, as in `docker stats`. */
  memoryBytes: number | null;
  /** Includes threads. */
  processes: number | null;
}

const MICROSECONDS = 1_000_000;
const NANOSECONDS = 1_000_000_000;

/**
 * Parses /proc/PID/cgroup. Programs in a container may have created groups under the container's own. This function
 * finds the container's group, which the engine has named after `engineId`.
 */
export function findControlGroup(cgroup: string, mounts: readonly Mount[], engineId: string): ControlGroup {
  const lines = cgroup.split('\n').flatMap((line) => {
    const [, , controllers, path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    // The group is outside the hierarchy that the agent can see.
    if (controllers === undefined || path === undefined || path.split('/').includes('..')) return [];
    return [{ controllers: controllers.split(','), path: upTo(path, engineId) }];
  });
  const countedBy = (controller: string): CountedBy | null => {
    const own = lines.find(({ controllers }) => controllers.includes(controller));
    const version = own === undefined ? 2 : 1;
    const line = own ?? lines.find(({ controllers }) => controllers[0] === '');
    const mount = mounts.find(({ type, options }) =>
      version === 1 ? type === 'cgroup' && options.split(',').includes(controller) : type === 'cgroup2',
    );
    return line === undefined || mount === undefined ? null : { version, dir: join(mount.target, line.path) };
  };
  return { cpu: countedBy('cpuacct'), memory: countedBy('memory'), pids: countedBy('pids') };
}

export async function readControlGroup({ cpu, memory, pids }: ControlGroup): Promise<GroupCounts> {
  const [cpuSeconds, memoryBytes, processes] = await Promise.all([
    cpu === null ? null : cpuSecondsOf(cpu),
    memory === null ? null : memoryBytesOf(memory),
    pids === null ? null : numberIn(join(pids.dir, 'pids.current')),
  ]);
  return { cpuSeconds, memoryBytes, processes };
}

async function cpuSecondsOf({ version, dir }: CountedBy): Promise<number | null> {
  if (version === 1) return divided(await numberIn(join(dir, 'cpuacct.usage')), NANOSECONDS);
  return divided(lineOf(await textOf(join(dir, 'cpu.stat')), 'usage_usec'), MICROSECONDS);
}

async function memoryBytesOf({ version, dir }: CountedBy): Promise<number | null> {
  const [current, cached] =
    version === 1 ? ['memory.usage_in_bytes', 'total_inactive_file'] : ['memory.current', 'inactive_file'];
  const [used, stat] = await Promise.all([numberIn(join(dir, current)), textOf(join(dir, 'memory.stat'))]);
  return used === null ? null : Math.max(0, used - (lineOf(stat, cached) ?? 0));
}

/** Returns the path up to the component that contains the name, or the whole path if none does. */
function upTo(path: string, name: string): string {
  const parts = path.split('/');
  const place = name === '' ? -1 : parts.findIndex((part) => part.includes(name));
  return place === -1 ? path : parts.slice(0, place + 1).join('/');
}

function divided(value: number | null, by: number): number | null {
  return value === null ? null : value / by;
}

async function numberIn(file: string): Promise<number | null> {
  return numberOrNull((await textOf(file)).trim());
}

/** Returns the number that follows a name, in lines such as `inactive_file 4096`. */
function lineOf(text: string, name: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : numberOrNull(line.slice(name.length + 1).trim());
}

function numberOrNull(text: string): number | null {
  return /^\d{1,19}$/.test(text) ? Number(text) : null;
}

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}
