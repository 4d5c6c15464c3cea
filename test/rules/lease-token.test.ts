import { expect, test } from 'vitest';
import { isLeaseToken, leaseToken, type VolumeLease } from '../../src/domain/volumes/rules/lease-token.js';

const LEASE: VolumeLease = { id: 'v-0123abcd', lease: 7n, nonce: 'b1946ac92492d234' };

test('a token is valid for one lease of one volume, with one secret and nonce', () => {
  const token = leaseToken('secret', LEASE);
  expect(token).toMatch(/^[0-9a-f]{64}$/);
  expect(isLeaseToken('secret', LEASE, token)).toBe(true);
  expect(isLeaseToken('other', LEASE, token)).toBe(false);
  for (const other of [{ id: 'v-0123abce' }, { lease: 8n }, { nonce: 'b1946ac92492d235' }])
    expect(isLeaseToken('secret', { ...LEASE, ...other }, token)).toBe(false);
});

test.each(['', 'x', `${'0'.repeat(63)}`, `${'0'.repeat(65)}`, '0'.repeat(64), 'G'.repeat(64)])(
  '%j is not a token',
  (given) => {
    expect(isLeaseToken('secret', LEASE, given)).toBe(false);
  },
);

test('a token is case-sensitive', () => {
  expect(isLeaseToken('secret', LEASE, leaseToken('secret', LEASE).toUpperCase())).toBe(false);
});
