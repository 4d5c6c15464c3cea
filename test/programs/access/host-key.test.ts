import ssh2 from 'ssh2';
import { expect, it } from 'vitest';
import { newKey } from '../../../src/access/ssh/host-key.js';

it('every generated host key can be read back', () => {
  const keys = Array.from({ length: 3_000 }, newKey);
  expect(keys.filter((key) => ssh2.utils.parseKey(key) instanceof Error)).toEqual([]);
  expect(new Set(keys).size).toBe(keys.length);
});
