import { readFileSync } from 'node:fs';

/**
 * Returns a process's start time in clock ticks since the host booted, or undefined if it no longer exists. Process ids
 * are reused, so a process is identified by its id and its start time.
 */
export function startOf(pid: string): string | undefined {
  // The start time is the 22nd field, counted from after the name, which may contain any character.
  const fields = readOr(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ');
  // A zombie no longer runs anything.
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

/** Returns the file's content, or an empty string if it can't be read. */
export function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
