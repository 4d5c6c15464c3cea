import { chmodSync, existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Required space. The databases and data folders of a test run take at most about a third of it. */
const WANTED_BYTES = 2 * 2 ** 30;

/** The folder for temporary files. It is in memory if there is room, so that no test waits for a disk. */
const SCRATCH = hasRoom() ? MEMORY : tmpdir();

/** Creates a temporary folder, which the caller removes. In a test file, it is within the folder of the run. */
export function scratchFolder(prefix: string): string {
  return mkdtempSync(join(process.env.TEST_SCRATCH ?? SCRATCH, prefix));
}

/** Creates the folder of a run for this process and the workers that it starts. The caller removes it. */
export function openRunFolder(): string {
  const path = mkdtempSync(join(SCRATCH, 'gpu-rental-'));
  // Programs that run as other users work in folders within it.
  chmodSync(path, 0o711);
  process.env.TEST_SCRATCH = path;
  return path;
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY)) return false;
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= WANTED_BYTES;
}
