import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A pipe like a shell's that is full until the test reads it. */
export class FullPipe {
  /** The descriptor to give a program as one of its outputs. */
  readonly fd: number;
  readonly #own: number;
  readonly #folder = mkdtempSync(join(tmpdir(), 'full-pipe-'));
  #text = '';

  constructor() {
    const path = join(this.#folder, 'pipe');
    execFileSync('mkfifo', [path]);
    this.#own = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    // The ends are opened separately, because their flags differ.
    this.fd = openSync(path, constants.O_WRONLY);
    this.fill();
  }

  fill(): void {
    const block = Buffer.alloc(4_096, '#');
    while (unlessItWaits(() => writeSync(this.#own, block)));
  }

  /**
   * Returns everything read so far except for the filling. Reads only the current content of the pipe. The next call
   * reads what is written once there is room again.
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

/** Whether the call completed. False if it would have to wait for the other end. */
function unlessItWaits(call: () => void): boolean {
  try {
    call();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw error;
  }
}
