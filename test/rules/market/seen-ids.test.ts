import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenIds } from '../../../src/domain/market/seen-ids.js';

it('knows each id again, and takes none for another', () => {
  const id = fc.oneof(fc.string({ unit: 'binary', maxLength: 3 }), fc.string({ maxLength: 300 }));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 400 }), (ids) => {
      const [seen, known] = [new SeenIds(), new Set<string>()];
      for (const each of ids) {
        const text = Buffer.from(each).toString();
        expect(seen.add(text)).toBe(!known.has(text));
        known.add(text);
      }
    }),
  );
});

it('grows to any number, and holds an id of any size', () => {
  const seen = new SeenIds();
  const sizes = [254, 255, 256, 1_048_570, 1_048_571, 1_048_572, 1_048_573, 3_000_000];
  for (const round of [true, false]) {
    for (let index = 0; index < 120_000; index += 1) expect(seen.add(`lst-${index}`)).toBe(round);
    for (const size of sizes) expect(seen.add('x'.repeat(size))).toBe(round);
  }
});
