import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** A test run's databases and data folders take at most about a third of this. */
const WANTED_BYTES = 2 * 2 ** 30;

/** The folder for temporary files: in memory where there is room, so that no test waits for a disk. */
const SCRATCH = hasRoom() ? MEMORY : tmpdir();

/** Creates a temporary folder; the caller removes it. */
export function scratchFolder(prefix: string): string {
  return mkdtempSync(join(SCRATCH, prefix));
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= WANTED_BYTES;
}
