import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { folder } from '../process.js';
import { type Needs, needsRoot, needsThat } from '../tools.js';

/** A small, separate file system on an ext4 image. */
export interface SmallDisk {
  path: string;
  unmount(): void;
}

export function needsSmallDisk(): Needs {
  const tools = needsRoot('mkfs.ext4', 'mount', 'umount', 'fallocate');
  if (tools.skip) return tools;
  try {
    mountSmallDisk(16).unmount();
    return tools;
  } catch {
    return needsThat(false, 'loop devices', 'a kernel with them');
  }
}

export function mountSmallDisk(sizeMb: number): SmallDisk {
  const image = join(folder(), 'image');
  const path = folder();
  writeFileSync(image, '');
  truncateSync(image, sizeMb * 1_048_576);
  execFileSync('mkfs.ext4', ['-q', '-m', '0', image]);
  execFileSync('mount', ['-o', 'loop', image, path]);
  return { path, unmount: () => void execFileSync('umount', ['-l', path]) };
}

/** Options of tests that need control groups for memory. */
export function needsMemoryLimit(): Needs {
  const limit = limitMemory(`gateway-test-${process.pid}`, 16);
  limit?.remove();
  return needsThat(limit !== null, 'a control group of memory', 'root, and a kernel with them');
}

/** A group of processes. The kernel kills one of them if they exceed the limit together. */
export interface MemoryLimit {
  /** Adds a process, including any children that it starts later. */
  add(pid: number): void;
  /** Returns how many processes of the group the kernel has killed. */
  kills(): number;
  remove(): void;
}

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

/** Creates a group. Returns null if control groups can't be created. */
export function limitMemory(name: string, mb: number): MemoryLimit | null {
  const isV2 = existsSync(join(V2, 'cgroup.controllers'));
  const path = join(isV2 ? V2 : V1, name);
  try {
    mkdirSync(path);
    writeFileSync(join(path, isV2 ? 'memory.max' : 'memory.limit_in_bytes'), String(mb * 1_048_576));
  } catch {
    return null;
  }
  return {
    add: (pid) => writeFileSync(join(path, 'cgroup.procs'), String(pid)),
    kills: () => {
      const events = readFileSync(join(path, isV2 ? 'memory.events' : 'memory.oom_control'), 'utf8');
      return Number(/^oom_kill (\d+)$/m.exec(events)![1]);
    },
    remove: () => rmdirSync(path),
  };
}
