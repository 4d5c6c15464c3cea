import { Writable } from 'node:stream';

/** Maximum bytes of one line, excluding its head. The rest is omitted. */
const MAX_LINE_BYTES = 65_536;
/** Maximum bytes of the timestamp before a line, including the space after it. */
const MAX_HEAD_BYTES = 64;
/** Interval between updates of a growing, incomplete line. */
const SHOWS_EVERY_MS = 1_000;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;

export interface Marks {
  /** Mark before a complete line. */
  whole: string;
  /** Mark before an incomplete line, which a later line of the same stream and time replaces. */
  unfinished: string;
}

/**
 * Passes lines on, each preceded by a mark, so that two streams share one tunnel in the engine's order. An incomplete
 * line is passed on at the end of the output, and also within a second while the output is followed, because a progress
 * bar never ends its line. Text that a line has overwritten is omitted.
 */
export function markedLines(target: Writable, marks: Marks, isFollowed: boolean): Writable {
  const line = new Line();
  let timer: NodeJS.Timeout | null = null;
  const show = () => {
    timer = null;
    // A slow reader gets the line's current state later.
    if (target.writableNeedDrain) later();
    else if (!target.destroyed && !target.writableEnded) target.write(line.behind(marks.unfinished));
  };
  const later = () => {
    if (isFollowed) timer ??= setTimeout(show, SHOWS_EVERY_MS).unref();
  };
  const settle = () => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines: Buffer[] = [];
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        line.add(chunk.subarray(at, end));
        lines.push(line.behind(marks.whole));
        line.clear();
        settle();
        at = end + 1;
      }
      line.add(chunk.subarray(at));
      if (at < chunk.length) later();
      if (lines.length === 0 || target.destroyed || target.write(Buffer.concat(lines))) return done();
      const go = () => {
        target.off('drain', go);
        target.off('close', go);
        done();
      };
      target.on('drain', go);
      target.on('close', go);
    },
    final(done) {
      settle();
      if (!line.isEmpty && !target.destroyed) target.write(line.behind(marks.unfinished));
      done();
    },
    destroy(error, done) {
      settle();
      done(error);
    },
  });
}

/** A growing line: its head, and the rest as a terminal would show it. */
class Line {
  #head: Buffer = Buffer.alloc(0);
  #hasHead = false;
  #parts: Buffer[] = [];
  #size = 0;
  /** Text before the last carriage return, until it is overwritten. */
  #before: Buffer = Buffer.alloc(0);

  get isEmpty(): boolean {
    return this.#head.length === 0;
  }

  /** Adds a part that contains no line break. */
  add(part: Buffer): void {
    let at = this.#addHead(part);
    for (let end = part.indexOf(RETURN, at); end >= 0; end = part.indexOf(RETURN, at)) {
      this.#addText(part.subarray(at, end));
      if (this.#size > 0) this.#before = Buffer.concat(this.#parts);
      [this.#parts, this.#size] = [[], 0];
      at = end + 1;
    }
    this.#addText(part.subarray(at));
  }

  behind(mark: string): Buffer {
    const text = this.#size > 0 ? this.#parts : [this.#before];
    return Buffer.concat([Buffer.from(mark), this.#head, ...text, Buffer.from('\n')]);
  }

  clear(): void {
    [this.#head, this.#hasHead, this.#parts, this.#size] = [Buffer.alloc(0), false, [], 0];
    this.#before = Buffer.alloc(0);
  }

  /** Adds to the head, and returns where the text begins. */
  #addHead(part: Buffer): number {
    if (this.#hasHead) return 0;
    const space = part.indexOf(SPACE);
    const end = space < 0 ? part.length : space + 1;
    this.#head = Buffer.concat([this.#head, part.subarray(0, end)]);
    this.#hasHead = space >= 0 || this.#head.length >= MAX_HEAD_BYTES;
    return end;
  }

  #addText(text: Buffer): void {
    const kept = text.subarray(0, MAX_LINE_BYTES - this.#size);
    if (kept.length > 0) this.#parts.push(kept);
    this.#size += kept.length;
  }
}
