import { Readable } from 'node:stream';
import { runCommand } from '../../../src/cli/program.js';
import { inProcess } from '../in-process.js';
import type { Env, Exit } from '../process.js';

/**
 * Runs the command like `gpu` in gpu.ts, but within the test's own process, which takes a tenth of the time. It has
 * only the given environment and no terminal.
 */
export function gpu(args: string[], env: Env, input = ''): Promise<Exit> {
  return inProcess(async () => {
    const { env: before } = process;
    const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!;
    process.env = { PATH: before.PATH, ...env };
    Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from(input === '' ? [] : [input]) });
    try {
      return await runCommand(args);
    } finally {
      process.env = before;
      Object.defineProperty(process, 'stdin', stdin);
    }
  });
}
