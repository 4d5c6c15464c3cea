import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOr, startOf } from './process-start.js';
import { UsageError } from './settings.js';

/**
 * Allows one agent per data folder: two would undo each other's work. The file names a process by its id and its start,
 * since ids are reused; it has no effect once that process has ended.
 */
export function lockDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, 'agent.pid');
  const holder = /^(\d+) (\d+)$/.exec(readOr(path));
  if (holder !== null && Number(holder[1]) !== process.pid && startOf(holder[1]!) === holder[2]) {
    throw new UsageError(`another agent already uses ${dataDir}: process ${holder[1]}`);
  }
  writeFileSync(path, `${process.pid} ${startOf(String(process.pid))}`, { mode: 0o600 });
}
