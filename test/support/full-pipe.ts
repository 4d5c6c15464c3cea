import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe like a shell's, which is full and unread until the test reads it. */
export class FullPipe {
  /** The descriptor that a program gets as one of its outputs. */
  readonly fd: number;
  readonly #own: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'full-pipe-'));
  #text = '';

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    // Opened separately, because the two ends have separate flags.
    this.fd = openSync(path, constants.O_WRONLY);
    this.fill();
  }

  fill(): void {
    const block = Buffer.alloc(4_096, '#');
    while (unlessItWaits(() => writeSync(this.#own, block)));
  }

  /**
   * Returns everything read so far, except the filling. Reads only the current content of the pipe: what is written
   * once there is room again is for the next call.
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

/** Returns whether the call completed; false if it would have to wait for the other end. */
function unlessItWaits(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}
