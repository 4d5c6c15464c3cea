import { expect, test } from 'vitest';
import { canonical, hashOf, tagged } from '../../../src/domain/proof/rules/canonical.js';

test.each([
  // The example of RFC 8785, section 3.2.3, without its fractions.
  [
    {
      peach: 'a',
      '1': { f: { f: 'hi', F: 5 }, '\n': 56 },
      '10': {},
      '': 'empty',
      a: {},
      '111': [{ e: 'y', E: 'n' }],
      A: {},
    },
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"n","e":"y"}],"A":{},"a":{},"peach":"a"}',
  ],
  [{ b: null, a: [true, -0, 9_007_199_254_740_991] }, '{"a":[true,0,9007199254740991],"b":null}'],
  ['€$\u000f\nA\'B"\\\\"/é', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/é"'],
])('the canonical form sorts members and escapes as little as possible', (value, text) => {
  expect(canonical(value)).toBe(text);
});

test('text that has no UTF-8 form has no canonical form', () => {
  expect(() => canonical('\ud800')).toThrow('surrogate');
});

test('a tag precedes the canonical form on a line of its own', () => {
  expect(tagged('gpu-rental/leaf/v1', { b: 1, a: 2 })).toBe('gpu-rental/leaf/v1\n{"a":2,"b":1}');
});

test('the hash of a text is that of its UTF-8 bytes', () => {
  expect(hashOf('é').toString('hex')).toBe(hashOf(Buffer.from([0xc3, 0xa9])).toString('hex'));
});
