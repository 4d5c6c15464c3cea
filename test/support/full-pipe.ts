import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe as a shell makes it, that is full and that nobody reads until the test does. */
export class FullPipe {
  /** What a program gets as one of its outputs. */
  readonly fd: number;
  readonly #own: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'full-pipe-'));
  #text = '';

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    // Opened apart: what the one is set to is not what the other is set to.
    this.fd = openSync(path, constants.O_WRONLY);
    this.fill();
  }

  fill(): void {
    const block = Buffer.alloc(4_096, '#');
    while (unlessItWaits(() => writeSync(this.#own, block)));
  }

  /**
   * All that was read so far, but for the filling. Reads what a pipe holds and no more: what is written because there is
   * room again is for the next call.
   */
  read(): string {
    const buffer = Buffer.alloc(65_536);
    unlessItWaits(() => {
      this.#text += buffer.toString('utf8', 0, readSync(this.#own, buffer)).replace(/#{2,}/g, '');
    });
    return this.#text;
  }

  close(): void {
    closeSync(this.#own);
    closeSync(this.fd);
    rmSync(this.#folder, { recursive: true });
  }
}

/** Whether the call went through; not when it would have to wait for the other end. */
function unlessItWaits(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}
