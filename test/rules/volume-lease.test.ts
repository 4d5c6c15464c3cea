import { describe, expect, it } from 'vitest';
import { MAX_CUT_OFF_SECONDS, MAX_STOP_SECONDS } from '../../src/agent-protocol/limits.js';
import { silentBefore } from '../../src/domain/kernel/volume-lease.js';

describe('silentBefore', () => {
  it('ends no lease before the slowest agent has stopped its containers', () => {
    const [lastReport, since] = [10_000n, 0n];
    const stopped = lastReport + BigInt(MAX_CUT_OFF_SECONDS + MAX_STOP_SECONDS);
    expect([stopped, stopped + 1n].map((now) => lastReport < silentBefore(now, since))).toEqual([false, true]);
  });

  it('ends no lease while the gateway has listened for less than a minute', () => {
    expect([59n, 60n].map((seconds) => silentBefore(10_000n, 10_000n - seconds))).toEqual([0n, 8_800n]);
  });
});
