import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { seal, sealingKey, unseal } from '../../src/domain/kernel/sealing.js';

const key = () => sealingKey(randomBytes(32).toString('hex'));

test('sealed text can be opened only if unmodified, and only with its key and context', () => {
  const [own, other] = [key(), key()];
  const text = 'hf_ümlaut\n$"\'=';
  const sealed = seal(own, 'a-1 sec-1', text);
  expect(unseal(own, 'a-1 sec-1', sealed)).toBe(text);
  expect(sealed.includes(Buffer.from('hf_'))).toBe(false);
  expect(seal(own, 'a-1 sec-1', text).equals(sealed)).toBe(false);
  expect(() => unseal(other, 'a-1 sec-1', sealed)).toThrow();
  expect(() => unseal(own, 'a-2 sec-1', sealed)).toThrow();
  for (const position of [0, 13, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[position]! ^= 1;
    expect(() => unseal(own, 'a-1 sec-1', changed)).toThrow();
  }
});

test('a key has 32 bytes and an id that reveals none of them', () => {
  const hex = randomBytes(32).toString('hex');
  expect(sealingKey(hex)).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{16}$/) });
  expect(hex).not.toContain(sealingKey(hex).id);
  expect(() => sealingKey(hex.slice(2))).toThrow('32 bytes');
});
