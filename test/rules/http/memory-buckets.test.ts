import { performance } from 'node:perf_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createMemoryBuckets, WINDOW_MS } from '../../../src/http/rate-limit/memory-buckets.js';

afterEach(() => void vi.restoreAllMocks());

/** Buckets with a stopped clock that `at` sets. */
function bucketsAt() {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now + 0.5);
  const buckets = createMemoryBuckets();
  return {
    buckets,
    at: (ms: number) => {
      now = ms;
      return buckets;
    },
  };
}

describe("an account's requests", () => {
  it('are admitted together or not at all', () => {
    const { at } = bucketsAt();
    expect(at(0).reserve('ann', 3, 5)).toEqual({ admitted: true, taken: 0, resetMs: WINDOW_MS, retryMs: 0 });
    expect(at(1_000).reserve('ann', 3, 5)).toMatchObject({ admitted: false, taken: 3, resetMs: WINDOW_MS - 1_000 });
    expect(at(1_000).reserve('ann', 2, 5)).toMatchObject({ admitted: true, taken: 3 });
    expect(at(1_000).reserve('bob', 5, 5)).toMatchObject({ admitted: true, taken: 0 });
  });

  it('are admitted again as soon as enough of them are 60 s old', () => {
    const { at } = bucketsAt();
    for (const second of [0, 10, 20, 30]) expect(at(second * 1_000).reserve('ann', 1, 4).admitted).toBe(true);
    // One more request waits for the first to expire, and three more wait for the third.
    expect(at(40_000).reserve('ann', 1, 4)).toMatchObject({ admitted: false, retryMs: 20_000, resetMs: 50_000 });
    expect(at(40_000).reserve('ann', 3, 4)).toMatchObject({ admitted: false, retryMs: 40_000 });
    expect(at(59_999).reserve('ann', 1, 4).admitted).toBe(false);
    expect(at(60_000).reserve('ann', 1, 4)).toMatchObject({ admitted: true, taken: 3 });
    expect(at(60_000).reserve('ann', 1, 4)).toMatchObject({ admitted: false, taken: 4, retryMs: 10_000 });
  });

  it('each count for exactly 60 s, regardless of when and how many arrive', () => {
    const { at } = bucketsAt();
    const limit = 7;
    let [now, taken]: [number, number[]] = [0, []];
    for (let step = 0; step < 2_000; step += 1) {
      now += (step * 7_919) % 13_001;
      const cost = 1 + (step % 4);
      taken = taken.filter((since) => since + WINDOW_MS > now);
      const isAdmitted = taken.length + cost <= limit;
      expect(at(now).reserve('ann', cost, limit)).toMatchObject({ admitted: isAdmitted, taken: taken.length });
      if (isAdmitted) taken.push(...Array(cost).fill(now));
    }
  });

  it('also count if another gateway admitted them', () => {
    const { at } = bucketsAt();
    at(0).record('ann', 4);
    expect(at(0).reserve('ann', 2, 5)).toMatchObject({ admitted: false, taken: 4 });
  });

  it('are forgotten once the account has been idle for 60 s, but not before', () => {
    const { at, buckets } = bucketsAt();
    at(0).reserve('ann', 1, 5);
    at(1).reserve('ann', 1, 5);
    at(10_000).reserve('bob', 2, 5);
    expect(buckets.size).toBe(2);
    // Ann's first request is 60 s old, but her second is not.
    at(60_000).reserve('bob', 1, 5);
    expect(buckets.size).toBe(2);
    at(60_001).reserve('bob', 1, 5);
    expect(buckets.size).toBe(1);
  });
});
