import { describe, expect, it } from 'vitest';
import { earlyExitCostAt, seenAt, termEndAt, usageAt } from '../../src/domain/instances/rules/usage.js';
import type { Instance } from '../../src/domain/kernel/lifecycle.js';

const DAY = 86_400n;

function instance(changes: Partial<Instance> = {}): Instance {
  return {
    ...{
      id: 'i-00000001',
      accountId: 'acc-1',
      sequence: 1,
      machineId: 'm-1',
      hostId: 'm-1',
      firstGpu: 0,
      status: 'RUNNING',
      gpu: 'a',
      numGpus: 1,
    },
    ...{
      region: 'x',
      template: 'pytorch',
      diskGb: 50,
      mode: 'ON_DEMAND',
      gpuRate: 3_600n,
      diskRate: 36n,
      onDemandRate: 7_200n,
    },
    ...{ createdAt: 100n, runningSince: 100n, stoppedAt: null, destroyedAt: null, stopReason: null, gpuSeconds: 0n },
    ...{
      gpuIntervals: 1,
      reservedUntil: null,
      earlyExitUnits: 0n,
      minimumUntil: null,
      minimumUnits: 0n,
      stopAt: null,
      destroyAt: null,
      spendLimit: null,
      limitReachedAt: null,
      stopWhenIdle: null,
      labels: null,
      volumeGb: 0,
      keyId: null,
      runKeyId: null,
    },
    ...changes,
  };
}

describe("an instance's usage", () => {
  it('consists of GPU seconds while it runs, and disk seconds from its creation', () => {
    const again = instance({ gpuSeconds: 50n, runningSince: 300n });
    expect(usageAt(again, 400n)).toEqual({
      ...{ gpuSeconds: 150n, diskSeconds: 300n, gpuCost: 150n, diskCost: 3n, earlyExit: 0n, preemptionMinimum: 0n },
      ...{ total: 153n, asOf: 400n },
    });
  });

  it('adds up to the micro-USD, with each part as its share of the rounded sum', () => {
    const all = instance({ gpuRate: 1_800n, diskRate: 1_800n, earlyExitUnits: 1_800n, minimumUnits: 1_800n });
    expect(usageAt(all, 101n)).toMatchObject({
      gpuCost: 0n,
      diskCost: 1n,
      earlyExit: 0n,
      preemptionMinimum: 1n,
      total: 2n,
    });
    const more = { ...all, earlyExitUnits: 9_000n, minimumUnits: 5_400n };
    expect(usageAt(more, 101n)).toMatchObject({
      gpuCost: 0n,
      diskCost: 1n,
      earlyExit: 2n,
      preemptionMinimum: 2n,
      total: 5n,
    });
  });

  it("is shown as of a destroyed instance's end, and never before its last change", () => {
    expect(seenAt(instance({ destroyedAt: 150n, runningSince: null, stoppedAt: 120n }), 999n)).toBe(150n);
    expect(seenAt(instance({ runningSince: 300n, stoppedAt: null }), 200n)).toBe(300n);
    expect(seenAt(instance({ runningSince: null, stoppedAt: 250n }), 200n)).toBe(250n);
    expect(seenAt(instance({ runningSince: null }), 20n)).toBe(100n);
    expect(seenAt(instance(), 999n)).toBe(999n);
  });

  it("in a reserved term includes the term's end and the cost of leaving it early", () => {
    const reserved = instance({ mode: 'RESERVED', reservedUntil: 100n + 90n * DAY });
    expect(termEndAt(reserved, 200n)).toBe(100n + 90n * DAY);
    expect(termEndAt(instance(), 200n)).toBeNull();
    // A difference of one micro-USD per hour is a fraction of a micro-USD per second, and is shown as one micro-USD.
    expect([100n, 101n, 102n, 3_700n].map((now) => earlyExitCostAt(reserved, now))).toEqual([0n, 1n, 2n, 3_600n]);
    expect(earlyExitCostAt({ ...reserved, onDemandRate: 3_601n }, 101n)).toBe(1n);
    const stopped = { ...reserved, runningSince: null, stoppedAt: 200n, gpuSeconds: 100n };
    expect([termEndAt(stopped, 200n), termEndAt(stopped, 260n), termEndAt(stopped, 20n)]).toEqual([
      100n + 90n * DAY,
      160n + 90n * DAY,
      100n + 90n * DAY,
    ]);
  });
});
