const LEAST_BYTES = 4_096;

/**
 * Collects bytes that arrive in pieces of any size in one buffer, which doubles in size when full. Each byte is copied
 * a constant number of times, and small pieces take no more memory than large ones. Bytes that have been taken are
 * never overwritten.
 */
export class ByteQueue {
  #bytes: Buffer = Buffer.alloc(0);
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  push(piece: Buffer): void {
    if (this.#to + piece.length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(LEAST_BYTES, 2 * (this.length + piece.length)));
      this.#bytes.copy(grown, 0, this.#from, this.#to);
      [this.#bytes, this.#from, this.#to] = [grown, 0, this.length];
    }
    piece.copy(this.#bytes, this.#to);
    this.#to += piece.length;
  }

  /** Returns the waiting bytes without removing them from the queue. */
  peek(): Buffer {
    return this.#bytes.subarray(this.#from, this.#to);
  }

  /** Removes and returns the first `length` bytes, or all of them if there are fewer. */
  take(length = this.length): Buffer {
    const taken = this.peek().subarray(0, length);
    this.#from += taken.length;
    if (this.length === 0) this.clear();
    return taken;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#from = 0;
    this.#to = 0;
  }
}
