import type { Writable } from 'node:stream';

/** Maximum number of bytes buffered in memory while the log isn't read. */
export const MAX_BUFFERED_BYTES = 8_388_608;

/**
 * Writes the log without ever waiting for its reader. While a pipe isn't read, lines are buffered in memory up to a
 * limit, beyond which they are dropped and counted. This uses Node's own standard error stream, which never blocks on a
 * pipe. pino's destinations either sleep when the pipe is full, or use a thread without which the process can't end.
 */
export class LogOutput {
  readonly #stream: Writable;
  readonly #maxBytes: number;
  #dropped = 0;
  #unreported = 0;
  /** Called with the number of lines dropped since the last call, once there is room to log it. */
  onDropped: (lines: number) => void = () => {};

  constructor(stream: Writable, maxBytes = MAX_BUFFERED_BYTES) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    // The reader has disconnected or the disk is full. The lines are counted below.
    stream.on('error', () => {});
    stream.on('drain', () => this.#reportDropped());
  }

  /** Number of lines dropped since startup. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Writes a string of `lines` complete lines. */
  write(text: string, lines = 1): void {
    if (this.#stream.writableLength + text.length > this.#maxBytes) {
      this.#drop(lines);
      return;
    }
    this.#stream.write(text, (error) => {
      if (error) this.#drop(lines);
      // A slow reader may never empty the buffer.
      else if (this.#stream.writableLength < this.#maxBytes / 2) this.#reportDropped();
    });
  }

  /** Resolves once everything has been passed to the operating system, or after `withinMs`. */
  written(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.writableLength === 0) return resolve();
      setTimeout(resolve, withinMs);
      this.#stream.write('', () => resolve());
    });
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#unreported += lines;
  }

  #reportDropped(): void {
    if (this.#unreported === 0) return;
    const lines = this.#unreported;
    this.#unreported = 0;
    this.onDropped(lines);
  }
}
