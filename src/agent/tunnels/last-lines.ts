import { Writable } from 'node:stream';

/** Maximum bytes to keep. The oldest lines are dropped first. */
const MAX_BYTES = 8_388_608;

/** Passes on the last lines once the input has ended. Each write contains whole lines. */
export function lastLines(target: Writable, count: number): Writable {
  let kept: Buffer[] = [];
  let first = 0;
  let bytes = 0;
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf('\n', at) + 1 || chunk.length;
        // Copied, because a slice would keep the whole chunk in memory.
        const line = Buffer.from(chunk.subarray(at, end));
        kept.push(line);
        bytes += line.length;
        at = end;
        while (kept.length - first > count || bytes > MAX_BYTES) {
          bytes -= kept[first]!.length;
          first += 1;
        }
      }
      if (2 * first > kept.length) [kept, first] = [kept.slice(first), 0];
      done();
    },
    final(done) {
      if (target.destroyed) return done();
      target.write(Buffer.concat(kept.slice(first)));
      done();
    },
  });
}
