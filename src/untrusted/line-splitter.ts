import { ByteQueue } from './byte-queue.js';

const NEWLINE = 10;

/** Splits pieces of text into lines. A line longer than `maxBytes` is cut. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** Beginning of a line whose end has not arrived. */
  readonly #rest = new ByteQueue();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the current line has reached the maximum without an end. */
  get isOverlong(): boolean {
    return this.#rest.length >= this.#maxBytes;
  }

  /** Returns the lines that end in this piece, without their ends. */
  push(piece: Buffer): string[] {
    const lines: string[] = [];
    let at = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, at)) {
      this.#add(piece.subarray(at, end));
      lines.push(this.rest());
      at = end + 1;
    }
    this.#add(piece.subarray(at));
    return lines;
  }

  /** Takes the beginning of a line without an end. */
  rest(): string {
    return this.#rest.length === 0 ? '' : this.#rest.take().toString('utf8');
  }

  #add(part: Buffer): void {
    const kept = part.subarray(0, this.#maxBytes - this.#rest.length);
    if (kept.length > 0) this.#rest.push(kept);
  }
}
