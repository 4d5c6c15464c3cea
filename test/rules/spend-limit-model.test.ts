import fc from 'fast-check';
import { expect, it } from 'vitest';
import { setMonthlyLimit, setSpendLimit, settle, updateLimits } from '../../src/domain/billing/rules/settle.js';
import { balanceUnitsAt } from '../../src/domain/kernel/accrual.js';
import { checkLimits } from '../../src/domain/kernel/admission.js';
import { DomainError } from '../../src/domain/kernel/errors.js';
import {
  type Account,
  deploy,
  destroy,
  type Instance,
  noChanges,
  type RowChanges,
  runsOf,
  type Step,
  setDeadlines,
  start,
  stop,
} from '../../src/domain/kernel/lifecycle.js';
import { minimumUntilOf } from '../../src/domain/kernel/preemption.js';
import type { PricingMode } from '../../src/domain/kernel/price-rule.js';
import { checkInstanceSpendLimit, type LimitedKey, newLimited } from '../../src/domain/kernel/spend-limit.js';
import { addMonths, latest, monthStartOf } from '../../src/domain/kernel/time.js';
import { randomHistories } from '../support/long.js';

const RUNS = 1_000;
const GRACE = 5_000n;
/** Rate in micro-USD per hour, so that a limit of a few micro-USD lasts for minutes. */
const RATES: Record<PricingMode, bigint> = { ON_DEMAND: 100n, INTERRUPTIBLE: 50n, RESERVED: 65n };
const MODES = Object.keys(RATES) as PricingMode[];
const BEGINNING = BigInt(Date.UTC(2027, 10, 30, 23, 50) / 1_000);

/** When a limit was set and the second from which it applies, until the next limit for the same subject. */
interface Set {
  of: string;
  limit: bigint | null;
  at: bigint;
  from: bigint;
}

/** One account with two keys, and all recorded changes. */
class World {
  readonly changes: RowChanges = noChanges();
  readonly sets: Set[] = [];
  readonly instances: Instance[] = [];
  readonly account: Account;
  now = BEGINNING;

  constructor(creditUnits: bigint) {
    const line = { spendUnits: 0n, burnRate: 0n, settledAt: BEGINNING, monthStartSpendUnits: 0n };
    const noLimit = { monthlyLimit: null, limitReachedAt: null, limitAt: null };
    const keys: LimitedKey[] = ['k-1', 'k-2'].map((id) => ({ id, ...line, ...noLimit }));
    this.account = {
      ...{
        id: 'acc-1',
        creditUnits,
        ...line,
        ...noLimit,
        limitedKeys: 2,
        suspendedAt: null,
        liveInstances: 0,
        liveVolumes: 0,
      },
      ...{ deployedInstances: 0, exhaustedAt: null, diskDeleteAt: null, dueAt: null, deadlineAt: null },
      limited: { keys, live: this.instances },
    };
  }

  settle(): void {
    settle(this.account, { live: this.instances, volumes: [] }, this.now, GRACE, this.changes);
  }

  step(isWhole: boolean): Step {
    return { account: this.account, at: this.now, end: this.now + (isWhole ? 0n : 1n), changes: this.changes };
  }

  /** Runs an action. A rejected action changes nothing, as in the gateway. */
  do(move: Move): void {
    this.settle();
    // Nothing is possible until the clock has caught up with the end of the second.
    if (this.now < this.account.settledAt) return;
    try {
      this.#do(move);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
    updateLimits(this.account, this.instances, this.changes);
  }

  #do({ what, which, key, mode, isWhole, preempts, limit, of, stopIn }: Move): void {
    const { account, now } = this;
    const step = this.step(isWhole);
    const instance = this.instances[which];
    const keyId = [null, 'k-1', 'k-2'][key]!;
    const maySpend = account.exhaustedAt === null && balanceUnitsAt(account, now) > 0n;
    const preempted =
      preempts && mode !== 'INTERRUPTIBLE' ? [{ accountId: 'other', gpuRate: 50n, runKeyId: null }] : [];
    const takeover = { soldUntil: isWhole ? null : now + 1n, preempts: preempted.length > 0 };
    if (what === 'deploy' && maySpend && this.instances.length < 5) {
      const rates = { gpuRate: RATES[mode], diskRate: 7n, onDemandRate: RATES.ON_DEMAND };
      const minimumUntil = minimumUntilOf(now, preempted.length > 0);
      checkInstanceSpendLimit(newLimited({ ...rates, spendLimit: limit, minimumUntil }, now), now, 'deploy_failed');
      checkLimits(account, now, { keyId, ...rates, addedRate: rates.gpuRate + 7n, preempted }, 'deploy_failed');
      const id = `i-0000000${this.instances.length + 1}`;
      const machine = { id: 'm-1', hostId: 'm-1', firstGpu: 0, gpu: 'a', numGpus: 1, region: 'x' };
      const ends = { stopAt: stopIn === null ? null : now + stopIn, destroyAt: null };
      const terms = { template: 'pytorch', diskGb: 50, mode, spendLimit: limit, keyId, takeover, machine, ...ends };
      deploy(step, { id, stopWhenIdle: null, ...terms, ...rates });
      this.sets.push({ of: id, limit, at: now, from: now });
    } else if (what === 'account') this.#limit(account, 'account', runsOf(account, this.instances), { step, limit });
    else if (what === 'key') {
      const limited = account.limited!.keys[which % 2]!;
      this.#limit(limited, limited.id, runsOf(limited, this.instances), { step, limit });
    } else if (instance === undefined || instance.status === 'DESTROYED') return;
    else if (what === 'limit') {
      setSpendLimit(step, instance, limit);
      this.sets.push({ of: instance.id, limit, at: now, from: step.end });
    } else if (what === 'deadline' && of) {
      setDeadlines(step, instance, { stopAt: stopIn === null ? null : now + stopIn, destroyAt: null });
    } else if (what === 'start' && maySpend && instance.status === 'STOPPED') {
      const at = latest(now, instance.stoppedAt!);
      const minimumUntil = minimumUntilOf(at, preempted.length > 0);
      checkInstanceSpendLimit({ ...instance, runningSince: at, minimumUntil }, at, 'action_failed');
      checkLimits(
        account,
        now,
        { keyId, gpuRate: instance.gpuRate, addedRate: instance.gpuRate, preempted },
        'action_failed',
      );
      start(step, instance, { ...takeover, soldUntil: latest(instance.stoppedAt!, takeover.soldUntil ?? 0n) }, keyId);
    } else if (what === 'stop' && instance.status === 'RUNNING') stop(step, instance, 'USER');
    else if (what === 'destroy') destroy(step, instance, 'USER');
  }

  #limit(
    subject: Parameters<typeof setMonthlyLimit>[1],
    of: string,
    running: Instance[],
    { step, limit }: { step: Step; limit: bigint | null },
  ): void {
    setMonthlyLimit(step, subject, limit, running);
    this.sets.push({ of, limit, at: step.at, from: step.end });
  }

  /**
   * Returns the recorded spend of a subject, which is usage up to an instant and charges before it. With `exits`, the
   * result includes charges for leaving a reserved term at that very instant.
   */
  spent(of: string, from: bigint, to: bigint, exits = false): bigint {
    const closed = new Map(
      this.changes.closed.map((each) => [`${each.instanceId} ${each.resource} ${each.ordinal}`, each]),
    );
    const counts = (instanceId: string, keyId: string | null) => of === 'account' || of === instanceId || of === keyId;
    const all = this.changes.opened.map(
      (each) => closed.get(`${each.instanceId} ${each.resource} ${each.ordinal}`) ?? each,
    );
    const used = all.reduce((sum, { instanceId, keyId, rate, startedAt, endedAt }) => {
      const [first, last] = [startedAt > from ? startedAt : from, endedAt === null || endedAt > to ? to : endedAt];
      return counts(instanceId, keyId) && last > first ? sum + rate * (last - first) : sum;
    }, 0n);
    return this.changes.entries.reduce((sum, { id, kind, units, at, instanceId }) => {
      const owner = all.find((each) => `${each.instanceId}/gpu/${each.ordinal}/minimum` === id);
      const keyId = kind === 'EARLY_EXIT' ? this.instances.find((each) => each.id === instanceId)!.keyId : owner?.keyId;
      if ((kind !== 'EARLY_EXIT' && kind !== 'PREEMPTION_MINIMUM') || !counts(instanceId!, keyId ?? null)) return sum;
      // Leaving a reserved term early is explicit, and the run ends with that second.
      const isBefore = kind === 'EARLY_EXIT' && !exits ? at < to : at <= to;
      return at >= from && isBefore ? sum - units : sum;
    }, used);
  }

  /** Returns the largest amount, in units, by which any GPU second sold exceeded a limit in force. */
  overspend(): bigint {
    const closed = this.changes.closed.filter(({ resource }) => resource === 'GPU');
    let most = 0n;
    for (const { instanceId, keyId, startedAt, endedAt } of closed)
      for (const of of ['account', instanceId, ...(keyId === null ? [] : [keyId])])
        for (const to of [endedAt!, ...monthEnds(startedAt, endedAt!)]) {
          const set = this.sets.filter((each) => each.of === of && each.from < to).at(-1);
          if (set === undefined || set.limit === null || to <= startedAt) continue;
          const from = of.startsWith('i-') ? 0n : monthStartOf(to - 1n);
          const over = this.spent(of, from, to) - set.limit * 3_600n;
          if (over > most) most = over;
        }
    return most;
  }

  /**
   * Returns the limits that may have caused a stop at an instant: the limit in force, and one changed within a second
   * of it.
   */
  #inForce(of: string, at: bigint): Set[] {
    const own = this.sets.filter((each) => each.of === of);
    return own.filter(
      (each, index) => each.at <= at && (own[index + 1] === undefined || own[index + 1]!.at >= at - 1n),
    );
  }

  /** Expects that no limit stopped an instance before the last second that fits into it. */
  check(): void {
    expect(this.overspend()).toBe(0n);
    for (const { id, runKeyId, stopReason, stoppedAt, gpuRate, diskRate } of this.instances)
      if (stopReason === 'SPEND_LIMIT' && stoppedAt !== null) {
        const subjects = ['account', id, ...(runKeyId === null ? [] : [runKeyId])];
        const fits = subjects
          .flatMap((of) => this.#inForce(of, stoppedAt))
          .every(({ of, limit }) => {
            if (limit === null) return true;
            const from = of.startsWith('i-') ? 0n : monthStartOf(stoppedAt - 1n);
            // Includes the seconds for which all instances could continue, and the minimum they would owe.
            const ahead = 60n * 5n * (RATES.ON_DEMAND + 7n);
            return this.spent(of, from, stoppedAt, true) + ahead + gpuRate + diskRate <= limit * 3_600n;
          });
        expect(fits).toBe(false);
      }
  }
}

function monthEnds(from: bigint, to: bigint): bigint[] {
  const ends: bigint[] = [];
  for (let end = addMonths(monthStartOf(from), 1); end < to; end = addMonths(end, 1)) ends.push(end);
  return ends;
}

const move = fc.record({
  what: fc.constantFrom('deploy', 'deploy', 'start', 'stop', 'destroy', 'limit', 'account', 'key', 'deadline', 'look'),
  which: fc.nat(4),
  key: fc.nat(2),
  mode: fc.constantFrom(...MODES),
  wait: fc.oneof(fc.bigInt(0n, 2n), fc.bigInt(0n, 90n), fc.bigInt(0n, 2_000n), fc.bigInt(0n, 3_000_000n)),
  isWhole: fc.boolean(),
  preempts: fc.boolean(),
  of: fc.boolean(),
  stopIn: fc.option(fc.bigInt(1n, 3_000n), { freq: 2 }),
  /** In micro-USD. Each is 3,600 units, enough for half a minute of one instance. */
  limit: fc.option(fc.oneof(fc.bigInt(0n, 10n), fc.bigInt(0n, 200n), fc.bigInt(0n, 5_000n)), { freq: 4 }),
});
type Move = typeof move extends fc.Arbitrary<infer T> ? T : never;

it('no GPU second is sold beyond a limit, no matter when it is settled', () => {
  fc.assert(
    fc.property(
      fc.array(move, { minLength: 3, maxLength: 16, size: 'max' }),
      fc.oneof(fc.bigInt(0n, 400_000n), fc.constant(10n ** 12n)),
      fc.array(fc.bigInt(1n, 3_000n), { maxLength: 12 }),
      (moves, creditUnits, looks) => {
        // There are two gateways: one settles only when it must write, the other occasionally.
        const [seldom, often] = [new World(creditUnits), new World(creditUnits)];
        for (const each of moves) {
          const until = often.now + each.wait;
          for (const pause of looks) {
            if (often.now + pause >= until) break;
            often.now += pause;
            often.settle();
          }
          for (const world of [often, seldom]) {
            world.now = until;
            world.do(each);
          }
        }
        for (const world of [often, seldom]) {
          world.now += 3n * 86_400n;
          world.settle();
        }
        expect(often.account).toEqual(seldom.account);
        expect([often.instances, often.changes.entries]).toEqual([seldom.instances, seldom.changes.entries]);
        seldom.check();
      },
    ),
    randomHistories(RUNS, 8),
  );
});
