import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOr, startOf } from './process-start.js';
import { UsageError } from './settings.js';

/**
 * Ensures that only one agent uses a data folder, since two agents would undo each other's work. The lock file
 * identifies its process by id and start time, because ids are reused. Once that process has ended, the lock no longer
 * applies.
 */
export function lockDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, 'agent.pid');
  const [, pid, begunAt] = /^(\d+) (\d+)$/.exec(readOr(path)) ?? [];
  if (pid !== undefined && Number(pid) !== process.pid && startOf(pid) === begunAt) {
    throw new UsageError(`${dataDir} is already in use by another agent (process ${pid})`);
  }
  writeFileSync(path, `${process.pid} ${startOf(String(process.pid))}`, { mode: 0o600 });
}
