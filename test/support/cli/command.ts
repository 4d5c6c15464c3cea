import { Readable } from 'node:stream';
import { runCommand } from '../../../src/cli/program.js';
import { inProcess } from '../in-process.js';
import type { Env, Exit } from '../process.js';

/**
 * As `gpu` of gpu.ts, within the test's own process: a tenth of the time, for tests that are not about the process. On
 * nothing but the environment that it is given; nothing of it is a terminal.
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
