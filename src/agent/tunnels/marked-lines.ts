import { Writable } from 'node:stream';

/** Of one line; the rest of a longer one is left out. */
const MAX_LINE_BYTES = 65_536;
const NEWLINE = 10;

/** Passes whole lines on, each behind a mark: so that two outputs share one tunnel, in the engine's order. */
export function markedLines(target: Writable, mark: string): Writable {
  let parts: Buffer[] = [];
  let size = 0;
  const add = (part: Buffer) => {
    const kept = part.subarray(0, MAX_LINE_BYTES - size);
    if (kept.length > 0) parts.push(kept);
    size += kept.length;
  };
  const line = () => {
    const whole = Buffer.concat([Buffer.from(mark), ...parts, Buffer.from('\n')]);
    parts = [];
    size = 0;
    return whole;
  };
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const lines: Buffer[] = [];
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        add(chunk.subarray(at, end));
        lines.push(line());
        at = end + 1;
      }
      add(chunk.subarray(at));
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
      if (size > 0 && !target.destroyed) target.write(line());
      done();
    },
  });
}
