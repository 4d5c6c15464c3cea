import { describe, expect, it } from 'vitest';
import { PullPace } from '../../../src/agent/pull-pace.js';

const MB = 1_000_000;
/** Returns when and why a pull that begins at 0 and is checked every second is cancelled. */
function cancellationOf(
  bytesAt: (second: number) => [pulled: number, total: number],
  kbPerSecond = 100,
  seconds = 1_200,
) {
  const pace = new PullPace({ seconds, kbPerSecond }, 0);
  for (let second = 1; second <= 2_000; second += 1) {
    const [pulledBytes, totalBytes] = bytesAt(second);
    pace.record({ pulledBytes, totalBytes });
    const fault = pace.fault(second * 1_000);
    if (fault !== null) return [second, fault] as const;
  }
  return null;
}

describe("a pull's pace check", () => {
  it('cancels a trickling pull within one minute, no matter how it begins', () => {
    const slow = 'the image was pulled at less than 100 kB per second';
    expect(cancellationOf(() => [0, 0])).toEqual([60, slow]);
    expect(cancellationOf((second) => [second * 1_000, 50 * MB])).toEqual([60, slow]);
    // This pull is fast at first.
    expect(cancellationOf((second) => [Math.min(second, 90) * MB, 500 * MB])).toEqual([180, slow]);
  });

  it('lets a pull that is fast enough or unpacking continue until its deadline', () => {
    const late = 'the image was not pulled within 1200 s';
    expect(cancellationOf((second) => [second * 100_000, 10_000 * MB])).toEqual([1_200, late]);
    expect(cancellationOf((second) => [Math.min(second, 30) * MB, 30 * MB])).toEqual([1_200, late]);
    expect(cancellationOf(() => [0, 0], 0)).toEqual([1_200, late]);
  });

  it('applies one deadline to all attempts of a start', () => {
    const pace = new PullPace({ seconds: 100, kbPerSecond: 100 }, 0);
    pace.record({ pulledBytes: 40 * MB, totalBytes: 80 * MB });
    expect(pace.fault(50_000)).toBeNull();
    pace.again(50_000);
    pace.record({ pulledBytes: 30 * MB, totalBytes: 80 * MB });
    expect(pace.fault(99_999)).toBeNull();
    expect(pace.fault(100_000)).toBe('the image was not pulled within 100 s');
  });
});
