import { describe, expect, it } from 'vitest';
import {
  lockedRates,
  modeRates,
  onDemandRate,
  PRICE_RULE,
  publishedRate,
  rateInMode,
} from '../../src/domain/kernel/price-rule.js';

describe('the price rule', () => {
  it.each([
    [3_140_000n, 2_190_000n],
    [1_255_800n, 870_000n],
    [1_000_000n, 700_000n],
    [999_999n, 690_000n],
    [1_014_285n, 700_000n],
    [1_014_286n, 710_000n],
    [100_000n, 70_000n],
    [20_000n, 10_000n],
    [14_286n, 10_000n],
    [14_285n, 10_000n],
    [1n, 10_000n],
    [0n, 10_000n],
    [98_765_432_100n, 69_135_800_000n],
  ])('prices a median of %d at %d by rounding 0.70 of it down to at least a cent', (median, rate) => {
    expect(onDemandRate(median)).toBe(rate);
  });

  it('never exceeds 70% of the median, and is always within one cent of it', () => {
    for (let median = 20_000n; median < 8_000_000n; median += 7_919n) {
      const rate = onDemandRate(median);
      expect(rate % 10_000n).toBe(0n);
      expect(rate * 100n <= median * 70n && (rate + 10_000n) * 100n > median * 70n).toBe(true);
    }
  });

  it('sets interruptible to exactly 50% and reserved to exactly 65% of on-demand', () => {
    expect(modeRates(2_190_000n)).toEqual({ onDemand: 2_190_000n, interruptible: 1_095_000n, reserved: 1_423_500n });
    expect(modeRates(10_000n)).toEqual({ onDemand: 10_000n, interruptible: 5_000n, reserved: 6_500n });
    for (let rate = 10_000n; rate < 10_000_000n; rate += 10_000n) {
      const { interruptible, reserved } = modeRates(rate);
      expect([interruptible * 2n, reserved * 100n]).toEqual([rate, rate * 65n]);
    }
  });

  it('gives each mode its rate', () => {
    expect(rateInMode(100n, 'ON_DEMAND')).toBe(100n);
    expect(rateInMode(100n, 'INTERRUPTIBLE')).toBe(50n);
    expect(rateInMode(100n, 'RESERVED')).toBe(65n);
  });

  it("locks in a rental's rates for the whole machine in its mode and for its disk", () => {
    const machine = { numGpus: 4, ratePerGpu: 1_000_000n };
    const locked = (mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED') =>
      lockedRates(machine, { mode, diskGb: 50 }, 140n);
    expect(locked('ON_DEMAND')).toEqual({ gpuRate: 4_000_000n, diskRate: 7_000n, onDemandRate: 4_000_000n });
    expect(locked('INTERRUPTIBLE')).toMatchObject({ gpuRate: 2_000_000n, onDemandRate: 4_000_000n });
    expect(locked('RESERVED')).toMatchObject({ gpuRate: 2_600_000n, onDemandRate: 4_000_000n });
  });

  it('falls back from the median to the last rate, then to the reference price', () => {
    const reference = { referencePriceMicro: 1_000_000n };
    expect(publishedRate({ ...reference, medianMicro: 2_000_000n }, 500_000n)).toBe(1_400_000n);
    expect(publishedRate({ ...reference, medianMicro: null }, 500_000n)).toBe(500_000n);
    expect(publishedRate({ ...reference, medianMicro: null }, null)).toBe(700_000n);
  });

  it('is published with the contract’s wording', () => {
    expect(PRICE_RULE).toBe('public marketplace median for the model x 0.70, rounded down');
  });
});
