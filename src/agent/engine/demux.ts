import { Writable } from 'node:stream';

/** Frame header size: one byte for the stream, three zero bytes, and four bytes for the length. */
const HEAD_BYTES = 8;
const STDERR = 2;
const NEWLINE = 10;
const SPACE = 32;

/**
 * Splits the multiplexed output of a command without a terminal into its two streams. If either stream is slow, reading
 * waits for it.
 */
export class Demux extends Writable {
  readonly #stdout: Writable;
  readonly #stderr: Writable;
  #head = Buffer.alloc(0);
  /** Remaining bytes of the current frame. */
  #left = 0;
  #target: Writable;

  constructor(stdout: Writable, stderr: Writable) {
    super();
    this.#stdout = stdout;
    this.#stderr = stderr;
    this.#target = stdout;
    stdout.once('close', () => this.destroy());
  }

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error | null) => void): void {
    const slow = new Set<Writable>();
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === 0) {
        const part = chunk.subarray(at, at + HEAD_BYTES - this.#head.length);
        at += part.length;
        this.#head = Buffer.concat([this.#head, part]);
        if (this.#head.length < HEAD_BYTES) break;
        this.#target = this.#head[0] === STDERR ? this.#stderr : this.#stdout;
        this.#left = this.#head.readUInt32BE(4);
        this.#head = Buffer.alloc(0);
        this.begins(this.#target);
      } else {
        const part = chunk.subarray(at, at + this.#left);
        at += part.length;
        this.#left -= part.length;
        if (!this.#target.write(this.passes(this.#target, part))) slow.add(this.#target);
      }
    }
    if (slow.size === 0) done();
    else void Promise.all([...slow].map(drained)).then(() => done());
  }

  /** Called when a frame for this stream begins. */
  protected begins(_target: Writable): void {}

  /** Returns the part of the frame's data that is passed on. */
  protected passes(_target: Writable, part: Buffer): Buffer {
    return part;
  }
}

/**
 * Splits a log with timestamps. Engines put a timestamp before each frame, even if the stream's previous frame did not
 * end its line. This class removes such timestamps and joins a line's frames into one line.
 */
export class LogDemux extends Demux {
  /** Streams whose last line is incomplete. */
  readonly #unfinished = new Set<Writable>();
  #isInTime = false;

  protected override begins(target: Writable): void {
    this.#isInTime = this.#unfinished.has(target);
  }

  protected override passes(target: Writable, part: Buffer): Buffer {
    let text = part;
    if (this.#isInTime) {
      const end = part.indexOf(SPACE);
      if (end < 0) return part.subarray(part.length);
      this.#isInTime = false;
      text = part.subarray(end + 1);
    }
    if (text.length > 0 && text.at(-1) !== NEWLINE) this.#unfinished.add(target);
    else if (text.length > 0) this.#unfinished.delete(target);
    return text;
  }
}

/** Resolves when the target has drained, or is closed and nothing more will be written. */
function drained(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (target.destroyed) return resolve();
    const end = () => {
      target.off('drain', end);
      target.off('close', end);
      resolve();
    };
    target.on('drain', end);
    target.on('close', end);
  });
}
