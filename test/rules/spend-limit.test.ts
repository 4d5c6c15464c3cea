import { describe, expect, it } from 'vitest';
import { setMonthlyLimit, settle } from '../../src/domain/billing/rules/settle.js';
import { type Account, deploy, type Instance, noChanges, runsOf, stop } from '../../src/domain/kernel/lifecycle.js';

const DAY = 86_400n;
/** The first seconds of December 2026 and January 2027. */
const DECEMBER = BigInt(Date.UTC(2026, 11, 1) / 1_000);
const JANUARY = BigInt(Date.UTC(2027, 0, 1) / 1_000);
const MICRO = 3_600n;

/** An account with one instance that costs 100 units per second, plus 20 for its disk. */
class Rented {
  readonly account: Account;
  readonly instance: Instance;

  constructor(spendLimit: bigint | null, preempts = false) {
    this.account = {
      ...{ id: 'acc-1', creditUnits: 10n ** 15n, spendUnits: 0n, monthStartSpendUnits: 0n, burnRate: 0n },
      ...{
        settledAt: DECEMBER,
        suspendedAt: null,
        liveInstances: 0,
        liveVolumes: 0,
        deployedInstances: 0,
        exhaustedAt: null,
      },
      ...{ diskDeleteAt: null, dueAt: null, deadlineAt: null, limitedKeys: 0 },
      ...{ monthlyLimit: null, limitReachedAt: null, limitAt: null, limited: { keys: [], live: [] } },
    };
    const machine = { id: 'm-1', hostId: 'm-1', firstGpu: 0, gpu: 'a', numGpus: 1, region: 'x' };
    const rates = { gpuRate: 100n, diskRate: 20n, onDemandRate: 100n };
    const terms = { template: 'pytorch', diskGb: 50, mode: 'ON_DEMAND', stopAt: null, destroyAt: null } as const;
    const takeover = { soldUntil: null, preempts };
    this.instance = deploy(this.at(DECEMBER), {
      ...{ id: 'i-00000001', machine, takeover, spendLimit, stopWhenIdle: null, keyId: null },
      ...terms,
      ...rates,
    });
  }

  at(at: bigint, end = at) {
    return { account: this.account, at, end, changes: noChanges() };
  }

  settle(now: bigint) {
    settle(this.account, { live: this.account.limited!.live, volumes: [] }, now, 7n * DAY, noChanges());
  }

  limit(at: bigint, micro: bigint) {
    this.settle(at);
    setMonthlyLimit(this.at(at, at + 1n), this.account, micro, runsOf(this.account, this.account.limited!.live));
  }
}

describe("an instance's spend limit", () => {
  it('ends the run at the last second that fits, even if settled three days later', () => {
    // 3,600 units last for 30 seconds.
    for (const late of [31n, 32n, 3n * DAY]) {
      const { instance, ...rented } = new Rented(1n);
      settle(rented.account, { live: [instance], volumes: [] }, DECEMBER + 30n, 7n * DAY, noChanges());
      expect(instance.status).toBe('RUNNING');
      settle(rented.account, { live: [instance], volumes: [] }, DECEMBER + late, 7n * DAY, noChanges());
      expect(instance).toMatchObject({
        ...{ status: 'STOPPED', stopReason: 'SPEND_LIMIT' },
        ...{ stoppedAt: DECEMBER + 30n, limitReachedAt: DECEMBER + 30n },
      });
    }
  });

  it('determines the end even if the owner stops the instance in the same second', () => {
    const rented = new Rented(1n);
    rented.settle(DECEMBER + 30n);
    stop(rented.at(DECEMBER + 30n, DECEMBER + 31n), rented.instance, 'USER');
    expect(rented.instance).toMatchObject({ stopReason: 'USER', stoppedAt: DECEMBER + 30n });
  });

  it("includes a preempting start's minimum charge from the beginning", () => {
    // 60 GPU seconds cost 6,000 units. Of 2 micro-USD, 1,200 units remain, which pay for exactly 60 s of disk.
    const rented = new Rented(2n, true);
    rented.settle(DECEMBER + 3n * DAY);
    expect(rented.instance).toMatchObject({ stoppedAt: DECEMBER + 60n, minimumUnits: 0n });
    // 600 units are 30 s of disk. The rest of the minimum is charged at the stop.
  });

  it('stops nothing, but is recorded, when disk charges reach it after a stop', () => {
    const rented = new Rented(1n);
    stop(rented.at(DECEMBER + 10n), rented.instance, 'USER');
    // 1,200 units are used. The remaining 2,400 pay for 120 s of disk.
    rented.settle(DECEMBER + DAY);
    expect(rented.instance).toMatchObject({ stopReason: 'USER', limitReachedAt: DECEMBER + 130n });
  });
});

describe("an account's monthly limit", () => {
  it('resets every month and can be predicted months ahead', () => {
    const rented = new Rented(null);
    // At 120 units per second, the limit lasts for 30 days and one hour of December, and January is long enough for
    // that.
    rented.limit(DECEMBER, (120n * (30n * DAY + 3_600n)) / MICRO);
    rented.settle(DECEMBER + 1n);
    expect(rented.account.limitAt).toBe(DECEMBER + 30n * DAY + 3_600n);
    // February is too short for 30 days, but March is not.
    const longer = new Rented(null);
    longer.limit(JANUARY + 31n * DAY, (120n * 30n * DAY) / MICRO);
    longer.settle(JANUARY + 31n * DAY + 1n);
    expect(longer.account.limitAt).toBe(JANUARY + (31n + 28n + 30n) * DAY);
  });

  it('ignores the previous month if set in a new month, even if nothing happened since', () => {
    const rented = new Rented(null);
    rented.limit(JANUARY, 1n);
    expect([rented.instance.status, rented.account.limitReachedAt]).toEqual(['RUNNING', null]);
    rented.settle(JANUARY + DAY);
    expect(rented.instance).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: JANUARY + 30n });
    expect(rented.account).toMatchObject({ limitReachedAt: JANUARY + 30n, burnRate: 20n });
  });

  it('stops running instances in the second in which it is set if already exceeded', () => {
    const rented = new Rented(null);
    rented.limit(DECEMBER + 100n, 1n);
    expect(rented.instance).toMatchObject({ stopReason: 'SPEND_LIMIT', stoppedAt: DECEMBER + 101n });
    expect(rented.account.limitReachedAt).toBe(DECEMBER + 100n);
  });
});
