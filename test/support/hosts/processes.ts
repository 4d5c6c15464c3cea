import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readOr } from '../../../src/agent/process-start.js';

/** Returns a command that no other process on this computer runs. */
export function uniqueSleep(): string {
  return `sleep ${randomInt(1_000_000, 9_000_000)}`;
}

/** Returns the ids of processes whose command line matches, on this computer and in its containers. */
export function processes(matches: (commandLine: string) => boolean): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => matches(readOr(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()))
    .map(Number);
}

/** Whether a process has exactly this command line. */
export function isRunning(commandLine: string): boolean {
  return processes((each) => each === commandLine).length > 0;
}
