import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OutputBuffer } from '../../../src/agent/tunnels/output-buffer.js';

it('an output buffer keeps the newest bytes, each at its original position', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20 }), fc.array(fc.uint8Array({ maxLength: 50 })), (size, chunks) => {
      const kept = new OutputBuffer(size);
      for (const chunk of chunks) kept.add(Buffer.from(chunk));
      const all = Buffer.concat(chunks);
      expect([kept.end, kept.start]).toEqual([all.length, Math.max(0, all.length - size)]);
      for (let place = kept.start; place <= kept.end; place += 1) {
        expect(kept.from(place, size)).toEqual(all.subarray(place));
        expect(kept.from(place, 3)).toEqual(all.subarray(place, place + 3));
      }
    }),
  );
});
