import { ByteQueue } from './byte-queue.js';

const NEWLINE = 10;

/** Splits text that arrives in pieces into lines. Lines longer than `maxBytes` are truncated. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** Start of a line that has not ended yet. */
  readonly #rest = new ByteQueue();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether the current line has reached the maximum length without ending. */
  get isOverlong(): boolean {
    return this.#rest.length >= this.#maxBytes;
  }

  /** Adds a piece. Returns the lines that end in it, without their line breaks. */
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

  /** Removes and returns the start of an unfinished line. */
  rest(): string {
    return this.#rest.length === 0 ? '' : this.#rest.take().toString('utf8');
  }

  #add(part: Buffer): void {
    const kept = part.subarray(0, this.#maxBytes - this.#rest.length);
    if (kept.length > 0) this.#rest.push(kept);
  }
}
