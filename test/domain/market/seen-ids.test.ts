import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SeenIds } from '../../../src/domain/market/seen-ids.js';
import { anyCodePoint } from '../../support/code-points.js';
import { randomHistories } from '../../support/long.js';

it('the set of seen ids recognizes each id and never confuses two ids', () => {
  const id = fc.oneof(fc.string({ unit: anyCodePoint, maxLength: 3 }), fc.string({ maxLength: 300 }));
  fc.assert(
    fc.property(fc.array(id, { maxLength: 400 }), (ids) => {
      const [seen, known] = [new SeenIds(), new Set<string>()];
      const texts = ids.map((each) => Buffer.from(each).toString());
      const isNew = texts.map((text) => !known.has(text) && known.add(text) === known);
      expect(texts.map((text) => seen.add(text))).toEqual(isNew);
    }),
    randomHistories(100),
  );
});

it('the set of seen ids can hold any number of ids of any size', () => {
  const seen = new SeenIds();
  const sizes = [254, 255, 256, 1_048_570, 1_048_571, 1_048_572, 1_048_573, 3_000_000];
  const ids = Array.from({ length: 40_000 }, (_, index) => `lst-${index}`);
  for (const isNew of [true, false]) {
    // One expectation covers all ids, since 40,000 of them would take longer than the code under test.
    expect(ids.filter((id) => seen.add(id) !== isNew)).toEqual([]);
    for (const size of sizes) expect(seen.add('x'.repeat(size))).toBe(isNew);
  }
});
