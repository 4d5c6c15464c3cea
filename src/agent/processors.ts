import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

const SYSTEM_DIR = '/sys/devices/system/cpu';
/** Highest number in the protocol. */
const MAX_PROCESSOR = 4_095;

/**
 * Numbers of the processors that are online. Those of one core are next to each other, so that a share of the list has
 * whole cores.
 */
export async function findProcessors(dir = SYSTEM_DIR): Promise<number[]> {
  const online = readCpuList(await readFile(join(dir, 'online'), 'utf8').catch(() => ''));
  const processors = online.length > 0 ? online : cpus().map((_, index) => index);
  const cores = await Promise.all(processors.map((processor) => coreOf(dir, processor)));
  const core = new Map(processors.map((processor, place) => [processor, cores[place]!]));
  return processors.sort((one, other) => core.get(one)! - core.get(other)! || one - other);
}

/** Lowest number among the processors of its core. */
async function coreOf(dir: string, processor: number): Promise<number> {
  const file = join(dir, `cpu${processor}`, 'topology/thread_siblings_list');
  const [first = processor] = readCpuList(await readFile(file, 'utf8').catch(() => ''));
  return first;
}

/**
 * Parses a list such as `0-47,96-143`, as the kernel and the driver write it, in ascending order; empty for anything
 * else.
 */
export function readCpuList(text: string): number[] {
  const ranges = text.trim().split(',');
  const numbers = ranges.flatMap((range) => {
    const [, first, last = first] = /^(\d{1,4})(?:-(\d{1,4}))?$/.exec(range) ?? [];
    if (first === undefined) return [];
    const count = Math.max(Number(last) - Number(first) + 1, 0);
    return Array.from({ length: count }, (_, index) => Number(first) + index);
  });
  return [...new Set(numbers)].filter((number) => number <= MAX_PROCESSOR).sort((one, other) => one - other);
}
