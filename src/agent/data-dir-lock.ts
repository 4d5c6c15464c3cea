import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from './settings.js';

/**
 * One agent for each data folder: two would undo each other's work. The file names a process by its id and its start,
 * since ids are used again; of a process that is gone it means nothing.
 */
export function lockDataDir(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, 'agent.pid');
  const holder = /^(\d+) (\d+)$/.exec(readOr(path, ''));
  if (holder !== null && Number(holder[1]) !== process.pid && startOf(holder[1]!) === holder[2]) {
    throw new UsageError(`an agent runs on ${dataDir} already, process ${holder[1]}`);
  }
  writeFileSync(path, `${process.pid} ${startOf(String(process.pid))}`, { mode: 0o600 });
}

/** In clock ticks since the host's start; the 22nd field, counted behind the name, which may hold anything. */
function startOf(pid: string): string | undefined {
  const fields = readOr(`/proc/${pid}/stat`, '').split(') ').at(-1)?.split(' ');
  // A zombie runs nothing.
  return fields?.[0] === 'Z' ? undefined : fields?.[19];
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}
