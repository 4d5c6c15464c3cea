import { describe, expect, it, test } from 'vitest';
import { settle } from '../../src/domain/billing/rules/settle.js';
import { deadlinesOf, isDeadlineText } from '../../src/domain/kernel/deadline.js';
import {
  type Account,
  type Deadlines,
  deploy,
  destroy,
  type Instance,
  isDue,
  noChanges,
  setDeadlines,
  start,
  stop,
} from '../../src/domain/kernel/lifecycle.js';

const NO_LIMIT = { monthlyLimit: null, limitReachedAt: null, limitAt: null };

const DAY = 86_400n;
const NONE = { stopAt: null, destroyAt: null };

describe('a deadline given as text', () => {
  test.each([
    ['90m', 5_400n],
    ['8h', 28_800n],
    ['2d12h', 2n * DAY + 43_200n],
    ['1d2h3m4s', DAY + 7_384n],
    ['1s', 1n],
    ['366d', 366n * DAY],
    ['1970-01-01T00:01:40Z', 90n],
    ['1970-01-01T01:01:40.9+01:00', 90n],
  ])('%s is resolved relative to now', (text, seconds) => {
    expect(isDeadlineText(text)).toBe(true);
    expect(deadlinesOf({ ...NONE, stopAt: text }, 'ON_DEMAND', 10n)).toEqual({
      stopAt: 10n + seconds,
      destroyAt: null,
    });
  });

  test.each([
    '',
    '8',
    'h',
    '8H',
    '1.5h',
    '-1h',
    '8h30',
    '30m8h',
    '2026-11-23',
    '2026-13-23T18:00:00Z',
    '2026-11-23T18:00:00',
    '2027-02-31T00:00:00Z',
    '2026-11-23T24:00:00Z',
    '1'.repeat(60),
  ])("can't be %s", (text) => expect(isDeadlineText(text)).toBe(false));

  test.each(['0s', '0d0h', '1970-01-01T00:00:10Z', '366d1s', '9999d', '9999-12-31T23:59:59Z'])(
    "%s is rejected because it isn't in the future or is too far ahead",
    (text) => {
      for (const field of ['stopAt', 'destroyAt']) {
        expect(() => deadlinesOf({ ...NONE, [field]: text }, 'ON_DEMAND', 10n)).toThrow(
          expect.objectContaining({
            code: 'invalid_request',
            message: `${field} must be later than now, and at most 366 days ahead`,
          }),
        );
      }
    },
  );

  it("can't destroy a reserved instance", () => {
    expect(() => deadlinesOf({ ...NONE, destroyAt: '1h' }, 'RESERVED', 0n)).toThrow(/^destroyAt must not be set/);
    expect(deadlinesOf({ ...NONE, stopAt: '1h' }, 'RESERVED', 0n).stopAt).toBe(3_600n);
  });
});

/**
 * Returns an account with enough credit for `seconds` of one instance, which costs 100 units per second plus 10 for its
 * disk.
 */
function accountOf(seconds: bigint): Account {
  return {
    id: 'acc-1',
    creditUnits: 110n * seconds,
    spendUnits: 0n,
    monthStartSpendUnits: 0n,
    burnRate: 0n,
    settledAt: 0n,
    suspendedAt: null,
    liveInstances: 0,
    liveVolumes: 0,
    deployedInstances: 0,
    exhaustedAt: null,
    diskDeleteAt: null,
    dueAt: null,
    deadlineAt: null,
    ...NO_LIMIT,
    limitedKeys: 0,
  };
}

class Rented {
  readonly account: Account;
  readonly instances: Instance[] = [];

  constructor(seconds: bigint, ...deadlines: Deadlines[]) {
    this.account = accountOf(seconds);
    for (const each of deadlines) this.instances.push(deploy(this.at(0n), { ...TERMS, ...each, id: 'i-00000001' }));
  }

  at(at: bigint, end = at) {
    return { account: this.account, at, end, changes: noChanges() };
  }

  settle(now: bigint) {
    const { changes } = this.at(now);
    settle(this.account, { live: this.instances, volumes: [] }, now, 7n * DAY, changes);
    return changes;
  }

  seen() {
    return this.instances.map(({ status, stopReason, stoppedAt, destroyedAt }) =>
      [status, stopReason, stoppedAt, destroyedAt].map((each) => (typeof each === 'bigint' ? Number(each) : each)),
    );
  }
}

const TERMS = {
  machine: { id: 'm-1', hostId: 'm-1', firstGpu: 0, gpu: 'a', numGpus: 1, region: 'x' },
  takeover: { soldUntil: null, preempts: false },
  template: 'pytorch',
  diskGb: 50,
  mode: 'ON_DEMAND',
  spendLimit: null,
  stopWhenIdle: null,
  keyId: null,
  gpuRate: 100n,
  diskRate: 10n,
  onDemandRate: 100n,
} as const;

describe('a deadline', () => {
  it('ends an instance in its exact second, even if it is processed later', () => {
    for (const late of [51n, 52n, 5_000n]) {
      const rented = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
      rented.settle(late);
      expect(rented.seen()).toEqual([['STOPPED', 'DEADLINE', 50, null]]);
      expect(rented.instances[0]!.gpuSeconds).toBe(50n);
      expect(rented.account).toMatchObject({ burnRate: 10n, settledAt: 50n, spendUnits: 5_500n, deadlineAt: null });
    }
  });

  it('is due once its second is over, so an action within that second comes first', () => {
    const rented = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    expect([isDue(rented.account, 50n), isDue(rented.account, 51n)]).toEqual([false, true]);
    setDeadlines(rented.at(50n), rented.instances[0]!, { stopAt: 80n, destroyAt: null });
    rented.settle(60n);
    expect(rented.seen()).toEqual([['RUNNING', null, null, null]]);
    expect(rented.account.deadlineAt).toBe(80n);
    rented.settle(81n);
    expect(rented.seen()).toEqual([['STOPPED', 'DEADLINE', 80, null]]);
  });

  it('takes effect at its second even if the renter ends the instance within it', () => {
    const stopped = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    stop(stopped.at(50n, 51n), stopped.instances[0]!, 'USER');
    expect(stopped.seen()).toEqual([['STOPPED', 'USER', 50, null]]);
    const destroyed = new Rented(100_000n, { stopAt: null, destroyAt: 50n });
    destroy(destroyed.at(50n, 51n), destroyed.instances[0]!, 'USER');
    expect(destroyed.seen()).toEqual([['DESTROYED', 'USER', 50, 50]]);
    const diskContinues = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    destroy(diskContinues.at(50n, 51n), diskContinues.instances[0]!, 'USER');
    expect(diskContinues.seen()).toEqual([['DESTROYED', 'USER', 50, 51]]);
    const other = new Rented(100_000n, { stopAt: 50n, destroyAt: null }, NONE);
    stop(other.at(50n, 51n), other.instances[1]!, 'USER');
    expect(other.seen()[1]).toEqual(['STOPPED', 'USER', 51, null]);
  });

  it('destroys a stopped instance as well as one that would have stopped later', () => {
    const rented = new Rented(100_000n, { stopAt: 20n, destroyAt: 50n }, { stopAt: 90n, destroyAt: 50n });
    rented.settle(1_000n);
    expect(rented.seen()).toEqual([
      ['DESTROYED', 'DEADLINE', 20, 50],
      ['DESTROYED', 'DEADLINE', 50, 50],
    ]);
    expect(rented.account).toMatchObject({ liveInstances: 0, burnRate: 0n, deadlineAt: null, dueAt: null });
    expect(rented.account.spendUnits).toBe(20n * 100n + 50n * 10n + 50n * 110n);
  });

  it('is ordered by time with exhaustion and grace, and comes first within a second', () => {
    const before = new Rented(100n, { stopAt: 99n, destroyAt: null });
    before.settle(1_000n);
    expect(before.seen()).toEqual([['STOPPED', 'DEADLINE', 99, null]]);
    // The remaining credit is then for the disk only: 110 units at 10 units per second.
    expect([before.account.exhaustedAt, before.account.dueAt]).toEqual([110n, 110n + 7n * DAY]);
    const same = new Rented(100n, { stopAt: 100n, destroyAt: null });
    same.settle(1_000n);
    expect([same.seen(), same.account.exhaustedAt]).toEqual([[['STOPPED', 'DEADLINE', 100, null]], 100n]);
    const after = new Rented(100n, { stopAt: 101n, destroyAt: 100n + 7n * DAY });
    after.settle(100n * DAY);
    expect(after.seen()).toEqual([['DESTROYED', 'BALANCE_EXHAUSTED', 100, 100 + 7 * 86_400]]);
    expect(after.account.deadlineAt).toBeNull();
  });

  it("that passes while the instance is stopped doesn't stop a later start", () => {
    const rented = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    const [instance] = rented.instances as [Instance];
    stop(rented.at(20n), instance, 'USER');
    rented.settle(60n);
    expect([instance.stopAt, instance.stopReason]).toEqual([null, 'USER']);
    start(rented.at(60n), instance, TERMS.takeover, null);
    rented.settle(5_000n);
    expect(rented.seen()).toEqual([['RUNNING', null, null, null]]);
  });

  it('in the second of a start does not affect that start', () => {
    const rented = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    const [instance] = rented.instances as [Instance];
    stop(rented.at(20n), instance, 'USER');
    start(rented.at(50n), instance, TERMS.takeover, null);
    rented.settle(5_000n);
    expect([rented.seen(), rented.account.deadlineAt]).toEqual([[['RUNNING', null, null, null]], null]);
  });

  it('that was moved or removed has no effect in its old second', () => {
    const rented = new Rented(100_000n, { stopAt: 50n, destroyAt: null });
    setDeadlines(rented.at(10n), rented.instances[0]!, NONE);
    expect(rented.account.deadlineAt).toBe(50n);
    const { updated, entries } = rented.settle(60n);
    expect([updated.size, entries, rented.account.deadlineAt]).toEqual([0, [], null]);
    expect(rented.seen()).toEqual([['RUNNING', null, null, null]]);
  });
});
