/**
 * The newest bytes of an output, in a fixed-size ring buffer. Positions are byte offsets from the start of the output.
 */
export class OutputBuffer {
  readonly #ring: Buffer;
  #end = 0;

  constructor(size: number) {
    this.#ring = Buffer.allocUnsafeSlow(size);
  }

  /** Position of the oldest byte that is kept. */
  get start(): number {
    return Math.max(0, this.#end - this.#ring.length);
  }

  /** Position after the newest byte. */
  get end(): number {
    return this.#end;
  }

  add(bytes: Buffer): void {
    const size = this.#ring.length;
    const kept = bytes.subarray(Math.max(0, bytes.length - size));
    this.#end += bytes.length;
    const at = (this.#end - kept.length) % size;
    const copied = kept.copy(this.#ring, at);
    kept.copy(this.#ring, 0, copied);
  }

  /** Returns a copy of at most `max` bytes starting at `place`, which must be between `start` and `end`. */
  from(place: number, max: number): Buffer {
    const size = this.#ring.length;
    const length = Math.min(this.#end - place, max);
    const at = place % size;
    const first = this.#ring.subarray(at, Math.min(at + length, size));
    return Buffer.concat([first, this.#ring.subarray(0, length - first.length)], length);
  }
}
