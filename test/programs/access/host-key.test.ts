import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newKey } from '../../../src/access/ssh/host-key.js';

it('reads back every generated host key', () => {
  const keys = Array.from({ length: 3_000 }, newKey);
  expect(keys.filter((key) => ssh2.utils.parseKey(key) instanceof Error)).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
});
