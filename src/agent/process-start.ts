import { readFileSync } from 'node:fs';

/**
 * Returns the start in clock ticks since the host's start, or undefined for a process that is gone. Process ids are
 * reused, so a process is identified by its id and its start.
 */
export function startOf(pid: string): string | undefined {
  // The 22nd field, counted from behind the name, which may hold any character.
  const fields = readOr(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ');
  // A zombie runs nothing.
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

/** Returns the empty text where the file can't be read. */
export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
