import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { isName, isObject, readObject } from '../../../src/payments/read-json.js';
import { isSignedBy } from '../../../src/payments/signature.js';

describe('a signature', () => {
  const hex = createHmac('sha256', 'secret').update('1795.').update('body').digest('hex');

  it('covers the secret and all parts in their order', () => {
    const parts = ['1795.', Buffer.from('body')];
    expect(isSignedBy('secret', parts, hex)).toBe(true);
    expect(isSignedBy('secret', parts, hex.toUpperCase())).toBe(true);
    expect(isSignedBy('secret', [...parts].reverse(), hex)).toBe(false);
    expect(isSignedBy('other', parts, hex)).toBe(false);
    expect(isSignedBy('secret', ['1795.'], hex)).toBe(false);
  });

  it.each(['', hex.slice(2), `${hex}00`, `0${hex}`, hex.replace(/.$/, 'g'), `${hex}\n`])("can't be %j", (given) => {
    expect(isSignedBy('secret', ['1795.', 'body'], given)).toBe(false);
  });
});

describe("a payment processor's JSON", () => {
  it('is ignored unless it is an object', () => {
    expect(readObject(Buffer.from('{"a":1}'))).toEqual({ a: 1 });
    for (const text of ['', '[]', 'null', '"a"', '1', '{', '{"a":1}x'])
      expect(readObject(Buffer.from(text))).toBeNull();
    expect(readObject(Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')]))).toBeNull();
    expect([isObject({}), isObject(null), isObject([]), isObject('a'), isObject(undefined)]).toEqual([
      ...[true, false, false, false, false],
    ]);
  });

  it('has names that are short and contain only visible ASCII characters', () => {
    expect(isName('a!~', 3)).toBe(true);
    for (const value of ['', 'abcd', 'a b', 'a\n', 'é', '\x7f', 7, null])
      expect([value, isName(value, 3)]).toEqual([value, false]);
  });
});
