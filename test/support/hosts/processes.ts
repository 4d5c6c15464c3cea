import { randomInt } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readOr } from '../../../src/agent/process-start.js';

/** A command that no other process of this computer has. */
export function uniqueSleep(): string {
  return `sleep ${randomInt(1_000_000, 9_000_000)}`;
}

/** Ids of the processes of this computer whose command line matches; containers' are among them. */
export function processes(matches: (commandLine: string) => boolean): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => matches(readOr(`/proc/${pid}/cmdline`).split('\0').join(' ').trim()))
    .map(Number);
}

/** Whether a process has this whole command line. */
export function isRunning(commandLine: string): boolean {
  return processes((each) => each === commandLine).length > 0;
}
