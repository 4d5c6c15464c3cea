import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createMemoryBuckets } from '../../../src/http/rate-limit/memory-buckets.js';
import { createTokenBuckets } from '../../../src/http/token-buckets.js';

let nowMs = 5_000;
beforeEach(() => {
  nowMs = 5_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
});
afterEach(() => {
  vi.restoreAllMocks();
});

it('a caller can send a burst of requests, then one per interval', () => {
  const buckets = createTokenBuckets({ size: 3, everySeconds: 10, refusal: (seconds) => `again in ${seconds} s` });
  const refusal = () => {
    try {
      buckets.take('a');
      return null;
    } catch (error) {
      return error;
    }
  };
  expect([refusal(), refusal(), refusal()]).toEqual([null, null, null]);
  expect(refusal()).toMatchObject({ code: 'rate_limited', message: 'again in 10 s', retryAfterSeconds: 10 });
  // Another caller has a separate bucket.
  buckets.take('b');
  nowMs += 9_999;
  expect(refusal()).toMatchObject({ retryAfterSeconds: 1 });
  nowMs += 1;
  expect([refusal(), refusal() === null]).toEqual([null, false]);
  // The bucket is full again but isn't larger than before.
  nowMs += 1_000_000;
  expect([refusal(), refusal(), refusal(), refusal() === null]).toEqual([null, null, null, false]);
});

it("an account's limit applies per 60 seconds and never admits part of a request", () => {
  const buckets = createMemoryBuckets();
  const reserve = (cost: number) => buckets.reserve('a', cost, 10);
  expect(reserve(4)).toEqual({ admitted: true, taken: 0, resetMs: 60_000, retryMs: 0 });
  nowMs += 10_000;
  expect(reserve(6)).toEqual({ admitted: true, taken: 4, resetMs: 60_000, retryMs: 0 });
  nowMs += 5_000;
  // For a cost of 1, one of the first four must expire. For 5, all of them and one of the second request must.
  expect(reserve(1)).toEqual({ admitted: false, taken: 10, resetMs: 55_000, retryMs: 45_000 });
  expect(reserve(5)).toEqual({ admitted: false, taken: 10, resetMs: 55_000, retryMs: 55_000 });
  expect(buckets.reserve('b', 10, 10).admitted).toBe(true);
  nowMs += 44_999;
  expect(reserve(1).admitted).toBe(false);
  nowMs += 1;
  expect(reserve(4)).toEqual({ admitted: true, taken: 6, resetMs: 60_000, retryMs: 0 });
  nowMs += 10_000;
  // The second request's six have expired and are removed, so four remain.
  expect(reserve(6)).toEqual({ admitted: true, taken: 4, resetMs: 60_000, retryMs: 0 });
  expect(reserve(1)).toMatchObject({ admitted: false, taken: 10 });
});

it('requests admitted elsewhere count until their account has been idle for 60 s', () => {
  const buckets = createMemoryBuckets();
  buckets.record('a', 3);
  expect(buckets.reserve('a', 8, 10)).toMatchObject({ admitted: false, taken: 3 });
  nowMs += 30_000;
  buckets.record('b', 1);
  expect(buckets.size).toBe(2);
  nowMs += 29_999;
  buckets.record('c', 1);
  expect(buckets.size).toBe(3);
  nowMs += 1;
  buckets.record('c', 1);
  expect(buckets.size).toBe(2);
  // Being used again moves the account to the end of the queue.
  buckets.record('b', 1);
  nowMs += 59_999;
  expect([buckets.reserve('b', 1, 10).taken, buckets.size]).toEqual([1, 2]);
});
