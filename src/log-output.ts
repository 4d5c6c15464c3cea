import type { Writable } from 'node:stream';

/** Bytes that wait in memory at most while nobody reads the log. */
export const MAX_WAITING_BYTES = 8_388_608;

/**
 * Writes the log without ever waiting for whoever reads it: on a pipe that nobody reads, lines wait in memory up to a bound,
 * and are dropped and counted after that. Node's own stream of standard error never blocks on a pipe; pino's destinations
 * sleep when it is full, or occupy a thread that the process can't end without.
 */
export class LogOutput {
  readonly #stream: Writable;
  readonly #maxBytes: number;
  #dropped = 0;
  #untold = 0;
  /** Called as soon as there is room to say how many lines were dropped since the last call. */
  onDropped: (lines: number) => void = () => {};

  constructor(stream: Writable, maxBytes = MAX_WAITING_BYTES) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    // A reader that went away or a full disk; the lines are counted below.
    stream.on('error', () => {});
    stream.on('drain', () => this.#tell());
  }

  /** Lines that were dropped, from the beginning. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes text of so many whole lines. */
  write(text: string, lines = 1): void {
    if (this.#stream.writableLength + text.length > this.#maxBytes) {
      this.#drop(lines);
      return;
    }
    this.#stream.write(text, (error) => {
      if (error) this.#drop(lines);
      // A slow reader may never empty it.
      else if (this.#stream.writableLength < this.#maxBytes / 2) this.#tell();
    });
  }

  /** Resolves when everything was handed to the system, or after so long. */
  written(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stream.writableLength === 0) return resolve();
      setTimeout(resolve, withinMs);
      this.#stream.write('', () => resolve());
    });
  }

  #drop(lines: number): void {
    this.#dropped += lines;
    this.#untold += lines;
  }

  #tell(): void {
    if (this.#untold === 0) return;
    const lines = this.#untold;
    this.#untold = 0;
    this.onDropped(lines);
  }
}
