import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

const SYSTEM_DIR = '/sys/devices/system/cpu';
/** Highest processor number in the protocol. */
const MAX_PROCESSOR = 4_095;

/**
 * Returns the numbers of the online processors. Processors on the same core are adjacent, so that parts of the list
 * contain whole cores.
 */
export async function findProcessors(dir = SYSTEM_DIR): Promise<number[]> {
  const online = readCpuList(await readFile(join(dir, 'online'), 'utf8').catch(() => ''));
  const processors = online.length > 0 ? online : cpus().map((_, index) => index);
  const found = await Promise.all(
    processors.map(async (processor) => ({ processor, core: await coreOf(dir, processor) })),
  );
  found.sort((one, other) => one.core - other.core || one.processor - other.processor);
  return found.map(({ processor }) => processor);
}

/** Returns the lowest processor number in the processor's core. */
async function coreOf(dir: string, processor: number): Promise<number> {
  const file = join(dir, `cpu${processor}`, 'topology/thread_siblings_list');
  const [first = processor] = readCpuList(await readFile(file, 'utf8').catch(() => ''));
  return first;
}

/**
 * Parses a list such as `0-47,96-143`, in the format of the kernel and the driver. Returns the numbers in ascending
 * order, or none if the list is malformed.
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
