import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { readOr } from '../../../src/agent/process-start.js';
import { until } from '../until.js';
import { processes } from './processes.js';

const ENDS_WITHIN_MS = 5_000;

/** Ends every process that works in a folder, unmounts everything below it, and removes it. */
export async function removeWithProcesses(dir: string): Promise<void> {
  for (const pid of processesIn(dir)) signal(pid, 'SIGTERM');
  await until('they have ended', () => processesIn(dir).length === 0, ENDS_WITHIN_MS).catch(() => {});
  removeAfterEnd(dir);
}

/** Removes the folder of an ended engine and ends the container monitors that it lost when it was killed. */
export function removeAfterEnd(dir: string): void {
  for (const pid of processesIn(dir)) {
    for (const child of readOr(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean))
      signal(Number(child), 'SIGKILL');
    signal(pid, 'SIGKILL');
  }
  for (const target of mountsBelow(dir).reverse()) execFileSync('umount', ['-l', target]);
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
}

export function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((target) => target.startsWith(`${dir}/`));
}

/** Returns processes whose command line contains the folder. */
function processesIn(dir: string): number[] {
  return processes((commandLine) => commandLine.includes(`${dir}/`)).filter((pid) => pid !== process.pid);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended in the meantime.
  }
}
