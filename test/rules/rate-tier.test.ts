import { describe, expect, it } from 'vitest';
import { requestsPerMinute } from '../../src/domain/accounts/rules/rate-tier.js';
import { parseUsd } from '../../src/domain/kernel/money.js';

describe('requestsPerMinute', () => {
  it.each([
    ['0', 120],
    ['99.999999', 120],
    ['100', 240],
    ['999.999999', 240],
    ['1000', 600],
    ['9999.999999', 600],
    ['10000', 1200],
    ['1000000', 1200],
  ])('after %s USD of spend is %d', (usd, limit) => {
    expect(requestsPerMinute(120, parseUsd(usd)!)).toBe(limit);
  });

  it('keeps an unlimited rate unlimited', () => {
    expect(requestsPerMinute(0, parseUsd('10000')!)).toBe(0);
  });
});
