import { readFileSync } from 'node:fs';

/**
 * In clock ticks since the host's start, or undefined of a process that is gone: process ids are used again, a process is its
 * id and its start.
 */
export function startOf(pid: string): string | undefined {
  // The 22nd field, counted behind the name, which may hold anything.
  const fields = readOr(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ');
  // A zombie runs nothing.
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

/** The empty text where it can't be read. */
export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
