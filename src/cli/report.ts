import { CommanderError } from 'commander';
import { GpuConnectionError, GpuRefusal } from '../client/index.js';
import { RunFailed } from '../run/failure.js';
import { visible } from '../std/visible.js';
import { EXIT, Failure } from './failure.js';
import { paint } from './terminal.js';

/** Reports a failed command in one line on stderr and returns its exit code. Rethrows the program's own errors. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
  if (error instanceof RunFailed) {
    complain(error.message);
    return EXIT.refused;
  }
  if (error instanceof Failure) {
    complain(error.message);
    return error.exitCode;
  }
  if (error instanceof GpuRefusal) {
    const request = error.status >= 500 && error.requestId !== null ? `, request ${error.requestId}` : '';
    complain(`${error.message} (${error.code}${request})`);
    return EXIT.refused;
  }
  if (error instanceof GpuConnectionError) {
    complain(error.message);
    if (error.idempotencyKey !== null) {
      complain(
        `the service may have executed the request; it is safe to repeat the command with --idempotency-key ${error.idempotencyKey}`,
      );
    }
    return EXIT.noConnection;
  }
  throw error;
}

/** Prints an error on exactly one line. */
export function complain(text: string): void {
  const line = visible(text.trim().replace(/\s*\n\s*/g, ' '));
  process.stderr.write(`${paint(process.stderr, 'red', 'gpu:')} ${line}\n`);
}
