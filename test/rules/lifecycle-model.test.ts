import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/domain/billing/rules/settle.js';
import { balanceUnitsAt } from '../../src/domain/kernel/accrual.js';
import {
  type Account,
  credit,
  deploy,
  destroy,
  destroyEndOf,
  diskDeleteAtOf,
  exhaustsAtOf,
  INSTANCE_ID,
  type Instance,
  isDue,
  type LedgerEntry,
  noChanges,
  type RowChanges,
  type Step,
  start,
  stop,
  type Takeover,
  type Volume,
} from '../../src/domain/kernel/lifecycle.js';
import type { PricingMode } from '../../src/domain/kernel/price-rule.js';
import { LAST_INSTANT } from '../../src/domain/kernel/time.js';
import { createVolume, deleteVolume, growVolume, VOLUME_ID } from '../../src/domain/kernel/volume.js';
import { randomHistories } from '../support/long.js';

/** Set `MODEL_RUNS=10000` for more. */
const RUNS = 150;

const NO_LIMIT = { monthlyLimit: null, limitReachedAt: null, limitAt: null };

const GRACE = 500n;
const RATES: Record<PricingMode, bigint> = { ON_DEMAND: 100n, INTERRUPTIBLE: 50n, RESERVED: 65n };
const MODES = Object.keys(RATES) as PricingMode[];
const DISK_RATE = 7n;
const GB_RATE = 3n;

/** One account with its instances and volumes, and every recorded change. */
class World {
  readonly account: Account;
  readonly instances: Instance[] = [];
  readonly volumes: Volume[] = [];
  readonly changes: RowChanges = noChanges();
  now = 1_000n;

  constructor(creditUnits: bigint) {
    this.account = {
      ...{ id: 'acc-1', creditUnits, spendUnits: 0n, monthStartSpendUnits: 0n, burnRate: 0n, settledAt: this.now },
      ...{
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
      },
    };
  }

  settle(): void {
    settle(this.account, { live: this.instances, volumes: this.volumes }, this.now, GRACE, this.changes);
  }

  /** Returns a step. If it isn't on a second boundary, anything that ends in it ends when that second does. */
  step(isWhole = true): Step {
    return { account: this.account, at: this.now, end: this.now + (isWhole ? 0n : 1n), changes: this.changes };
  }

  rent(mode: PricingMode, { preempts = false, soldUntil = null as bigint | null } = {}): Instance {
    const id = `i-0000000${this.instances.length + 1}`;
    const machine = { id: 'm-1', hostId: 'm-1', firstGpu: 0, gpu: 'a', numGpus: 1, region: 'x' };
    const rates = { gpuRate: RATES[mode], diskRate: DISK_RATE, onDemandRate: RATES.ON_DEMAND };
    const terms = {
      template: 'pytorch',
      diskGb: 50,
      stopAt: null,
      destroyAt: null,
      spendLimit: null,
      stopWhenIdle: null,
      keyId: null,
      mode,
      takeover: { soldUntil, preempts },
      machine,
      ...rates,
    };
    const instance = deploy(this.step(), { id, ...terms });
    this.instances.push(instance);
    return instance;
  }

  pay(units: bigint): void {
    const entry: LedgerEntry = {
      ...{ id: `credit-${this.changes.entries.length}`, accountId: 'acc-1', kind: 'CREDIT', units, at: this.now },
      ...{ instanceId: null, reference: null, note: null },
    };
    credit(this.step(), entry);
  }

  store(sizeGb: number): Volume {
    const id = `v-0000000${this.volumes.length + 1}`;
    const sealed = { sealedPassword: '', sealingKeyId: '', copyOf: null, headSnapshotId: null };
    const volume = createVolume(this.step(), { id, name: 'work', sizeGb, gbRate: GB_RATE, keyId: null, ...sealed });
    this.volumes.push(volume);
    return volume;
  }

  /** Current intervals. Each was opened once and closed at most once. */
  get intervals() {
    const { changes } = this;
    const asUsage = ({ volumeId, ...size }: RowChanges['openedSizes'][number]) => ({
      ...size,
      instanceId: volumeId,
      resource: 'VOLUME' as const,
      minimumUntil: null,
    });
    const allOpened = [...changes.opened, ...changes.openedSizes.map(asUsage)];
    const allClosed = [...changes.closed, ...changes.closedSizes.map(asUsage)];
    const nameOf = ({ instanceId, resource, ordinal }: (typeof allOpened)[number]) =>
      `${instanceId}/${resource.toLowerCase()}/${ordinal}`;
    const closed = new Map(allClosed.map((interval) => [nameOf(interval), interval]));
    expect(closed.size).toBe(allClosed.length);
    const all = allOpened.map((interval) => ({
      name: nameOf(interval),
      ...interval,
      ...closed.get(nameOf(interval)),
    }));
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
    return all;
  }

  /** Spend as a sum over all seconds sold, plus one-time charges. */
  spendAt(second: bigint): bigint {
    const used = this.intervals.reduce((sum, { rate, startedAt, endedAt }) => {
      const to = endedAt === null || endedAt > second ? second : endedAt;
      return to > startedAt ? sum + rate * (to - startedAt) : sum;
    }, 0n);
    const atOnce = this.changes.entries.filter(
      ({ kind, at }) => (kind === 'EARLY_EXIT' || kind === 'PREEMPTION_MINIMUM') && at <= second,
    );
    return used - atOnce.reduce((sum, { units }) => sum + units, 0n);
  }

  check(): void {
    const { account, changes, instances, volumes, intervals } = this;
    const open = intervals.filter(({ endedAt }) => endedAt === null);
    expect(account.burnRate).toBe(open.reduce((sum, { rate }) => sum + rate, 0n));
    for (const ahead of [0n, 1n, 1_000n])
      expect(balanceUnitsAt(account, account.settledAt + ahead)).toBe(
        account.creditUnits - this.spendAt(account.settledAt + ahead),
      );
    const live = instances.filter(({ status }) => status !== 'DESTROYED');
    const kept = volumes.filter(({ deletedAt }) => deletedAt === null);
    expect([account.liveInstances, account.deployedInstances]).toEqual([live.length, instances.length]);
    expect(account.liveVolumes).toBe(kept.length);
    expect(open.map(({ name }) => name).sort()).toEqual(
      [
        ...live.flatMap(({ id, status, gpuIntervals }) => [
          `${id}/disk/1`,
          ...(status === 'RUNNING' ? [`${id}/gpu/${gpuIntervals}`] : []),
        ]),
        ...kept.map(({ id, sizes }) => `${id}/volume/${sizes}`),
      ].sort(),
    );
    // Each closed interval is charged exactly to the unit, under its own name and at its end.
    for (const { name, resource, rate, startedAt, endedAt } of intervals.filter(({ endedAt }) => endedAt !== null))
      expect(changes.entries.filter(({ id }) => id === name)).toMatchObject([
        {
          kind: `${resource}_USAGE`,
          units: -rate * (endedAt! - startedAt),
          at: endedAt,
          accountId: 'acc-1',
          reference: null,
          note: null,
        },
      ]);
    for (const instance of instances) this.#checkInstance(instance);
    for (const volume of volumes) this.#checkVolume(volume);
    this.#checkDue(live.length + kept.length > 0);
  }

  /** The sizes of a volume are contiguous from its creation to its deletion. */
  #checkVolume({ id, createdAt, sizedAt, sizeGb, sizes, deletedAt, deleteReason }: Volume): void {
    const own = this.intervals.filter(({ instanceId }) => instanceId === id);
    expect(own.map(({ startedAt }) => startedAt)).toEqual([
      createdAt,
      ...own.slice(0, -1).map(({ endedAt }) => endedAt),
    ]);
    expect(own.at(-1)).toMatchObject({
      ordinal: sizes,
      startedAt: sizedAt,
      sizeGb,
      rate: GB_RATE * BigInt(sizeGb),
      endedAt: deletedAt,
    });
    expect(deleteReason === null).toBe(deletedAt === null);
  }

  #checkInstance({
    id,
    status,
    gpuSeconds,
    runningSince,
    stoppedAt,
    minimumUntil,
    minimumUnits,
    earlyExitUnits,
  }: Instance): void {
    const own = this.intervals.filter(({ instanceId, resource }) => instanceId === id && resource === 'GPU');
    const ended = own.filter(({ endedAt }) => endedAt !== null);
    expect(gpuSeconds).toBe(ended.reduce((sum, { startedAt, endedAt }) => sum + endedAt! - startedAt, 0n));
    const sumOf = (kind: string) =>
      this.changes.entries
        .filter((entry) => entry.instanceId === id && entry.kind === kind)
        .reduce((sum, { units }) => sum - units, 0n);
    const rests = ended.reduce(
      (sum, { endedAt, minimumUntil: until, rate }) =>
        until !== null && until > endedAt! ? sum + rate * (until - endedAt!) : sum,
      0n,
    );
    expect([minimumUnits, sumOf('PREEMPTION_MINIMUM'), earlyExitUnits]).toEqual([rests, rests, sumOf('EARLY_EXIT')]);
    if (status === 'RUNNING') expect([runningSince, stoppedAt]).toEqual([own.at(-1)!.startedAt, null]);
    else expect([runningSince, stoppedAt, minimumUntil]).toEqual([null, own.at(-1)!.endedAt, null]);
  }

  #checkDue(hasLive: boolean): void {
    const { account } = this;
    expect(exhaustsAtOf(account)).toBe(account.exhaustedAt ?? account.dueAt);
    expect(isDue(account, this.now)).toBe(account.dueAt !== null && account.dueAt < this.now);
    if (!hasLive) {
      expect([account.dueAt, diskDeleteAtOf(account, GRACE)]).toEqual([null, null]);
      return;
    }
    if (account.exhaustedAt !== null) {
      expect(account.diskDeleteAt).toBe(account.exhaustedAt + GRACE);
      expect([account.dueAt, diskDeleteAtOf(account, GRACE)]).toEqual([account.diskDeleteAt, account.diskDeleteAt]);
    } else if (account.dueAt === null) expect(diskDeleteAtOf(account, GRACE)).toBeNull();
    else {
      expect(account.dueAt <= LAST_INSTANT && balanceUnitsAt(account, account.dueAt) <= 0n).toBe(true);
      if (account.dueAt > account.settledAt) expect(balanceUnitsAt(account, account.dueAt - 1n) > 0n).toBe(true);
      expect(diskDeleteAtOf(account, GRACE)).toBe(account.dueAt + GRACE);
    }
  }
}

const moves = fc.array(
  fc.record({
    what: fc.constantFrom('deploy', 'stop', 'start', 'destroy', 'pay', 'look', 'store', 'grow', 'drop'),
    which: fc.nat(3),
    wait: fc.oneof(fc.bigInt(0n, 2n), fc.bigInt(0n, 90n), fc.bigInt(0n, 2_000n), fc.bigInt(0n, 5_000_000n)),
    isWhole: fc.boolean(),
    preempts: fc.boolean(),
    ahead: fc.boolean(),
    units: fc.bigInt(-50_000n, 200_000n),
  }),
  { minLength: 1, maxLength: 15, size: 'max' },
);
type Move = typeof moves extends fc.Arbitrary<(infer T)[]> ? T : never;

/** Acts as the service would. It processes due events first and never does anything that its rules forbid. */
function carryOut(world: World, { what, which, isWhole, preempts, ahead, units }: Move): void {
  const { account, instances, now } = world;
  world.settle();
  if (what === 'pay') {
    world.pay(units);
    return;
  }
  const soldUntil = ahead ? now + 1n : null;
  const maySpend = account.exhaustedAt === null && balanceUnitsAt(account, now) > 0n && now >= account.settledAt;
  if (what === 'store' || what === 'grow' || what === 'drop') keep(world, { what, which, isWhole, maySpend });
  else if (what === 'deploy' && maySpend && instances.length < 4)
    world.rent(MODES[which % 3]!, { preempts, soldUntil });
  else if (what !== 'deploy' && now >= account.settledAt && instances[which] !== undefined)
    act(world, instances[which], what, { isWhole, maySpend, takeover: { soldUntil, preempts } });
}

function keep(
  world: World,
  { what, which, isWhole, maySpend }: Pick<Move, 'which' | 'isWhole'> & { what: string; maySpend: boolean },
): void {
  const { account, now, volumes } = world;
  if (now < account.settledAt) return;
  if (what === 'store' && maySpend && volumes.length < 4) world.store(1 + 9 * which);
  const volume = volumes[which];
  if (what === 'store' || volume === undefined || volume.deletedAt !== null) return;
  const step = world.step(isWhole);
  const due = account.dueAt !== null && account.dueAt < step.end ? account.dueAt : step.end;
  const end = volume.sizedAt > due ? volume.sizedAt : due;
  if (what === 'drop') {
    deleteVolume(step, volume, 'USER');
    expect(volume).toMatchObject({ deletedAt: end, deleteReason: 'USER' });
  } else if (maySpend) {
    growVolume(step, volume, volume.sizeGb + 5, 'key-1');
    expect(volume).toMatchObject({ sizedAt: end, sizeKeyId: 'key-1', deletedAt: null });
  }
}

function act(
  world: World,
  instance: Instance,
  what: Move['what'],
  { isWhole, maySpend, takeover }: { isWhole: boolean; maySpend: boolean; takeover: Takeover },
): void {
  const { account, now } = world;
  const step = world.step(isWhole);
  const end = account.dueAt !== null && account.dueAt < step.end ? account.dueAt : step.end;
  if (what === 'start' && maySpend && instance.status === 'STOPPED') {
    start(step, instance, takeover, null);
    expect(instance).toMatchObject({
      status: 'RUNNING',
      stopReason: null,
      stoppedAt: null,
      runningSince: takeover.soldUntil ?? now,
    });
  } else if (what === 'stop' && instance.status === 'RUNNING') {
    const expected = instance.runningSince! > end ? instance.runningSince : end;
    stop(step, instance, 'USER');
    expect(instance).toMatchObject({ status: 'STOPPED', stopReason: 'USER', stoppedAt: expected });
  } else if (what === 'destroy' && instance.status !== 'DESTROYED') {
    const since = instance.runningSince ?? instance.stoppedAt!;
    const [before, ran, expected] = [instance.stopReason, instance.runningSince !== null, since > end ? since : end];
    expect(destroyEndOf(step, instance)).toBe(expected);
    destroy(step, instance, 'OPERATOR');
    expect(instance).toMatchObject({
      status: 'DESTROYED',
      destroyedAt: expected,
      stopReason: ran ? 'OPERATOR' : before,
    });
  }
}

describe('an account, its instances and its volumes', () => {
  it('are charged for exactly what was sold after any sequence of actions', () => {
    fc.assert(
      fc.property(moves, fc.bigInt(0n, 2_000_000_000n), (drawn, creditUnits) => {
        const world = new World(creditUnits);
        for (const move of drawn) {
          world.now += move.wait;
          carryOut(world, move);
          world.check();
        }
      }),
      randomHistories(RUNS),
    );
  });

  it('have the same totals no matter how often and how late they are settled', () => {
    fc.assert(
      fc.property(
        moves,
        fc.bigInt(0n, 900_000n),
        fc.array(fc.bigInt(1n, 3_000n), { maxLength: 30 }),
        (drawn, creditUnits, looks) => {
          const [seldom, often] = [new World(creditUnits), new World(creditUnits)];
          for (const move of drawn) {
            const until = often.now + move.wait;
            for (const each of looks) {
              if (often.now + each >= until) break;
              often.now += each;
              often.settle();
            }
            [often.now, seldom.now] = [until, until];
            for (const world of [often, seldom]) carryOut(world, move);
          }
          for (const world of [often, seldom]) world.settle();
          expect(often.account).toEqual(seldom.account);
          expect([often.instances, often.volumes]).toEqual([seldom.instances, seldom.volumes]);
          expect(often.changes.entries).toEqual(seldom.changes.entries);
        },
      ),
      randomHistories(RUNS),
    );
  });
});

describe('exhausted credit', () => {
  it('stops instances in the same second and destroys all after the grace period', () => {
    // The account spends 107 units per second. After the 94th second, 58 are owed.
    const world = new World(10_000n);
    const [running, stopped] = [world.rent('ON_DEMAND'), world.rent('ON_DEMAND')];
    stop(world.step(), stopped, 'USER');
    expect(world.account.dueAt).toBe(1_000n + 88n);
    world.now = 1_088n;
    world.settle();
    // Events are due once their second is over.
    expect(running.status).toBe('RUNNING');
    world.now = 1_089n;
    world.settle();
    expect(running).toMatchObject({ status: 'STOPPED', stopReason: 'BALANCE_EXHAUSTED', stoppedAt: 1_088n });
    expect(stopped).toMatchObject({ stopReason: 'USER', stoppedAt: 1_000n });
    expect(world.account).toMatchObject({ exhaustedAt: 1_088n, diskDeleteAt: 1_588n, dueAt: 1_588n, burnRate: 14n });
    world.now = 1_588n;
    world.settle();
    expect(stopped.status).toBe('STOPPED');
    world.now = 1_589n;
    world.settle();
    expect(running).toMatchObject({ status: 'DESTROYED', destroyedAt: 1_588n, stopReason: 'BALANCE_EXHAUSTED' });
    expect(stopped).toMatchObject({ status: 'DESTROYED', destroyedAt: 1_588n, stopReason: 'USER' });
    expect(world.account).toMatchObject({ burnRate: 0n, dueAt: null, liveInstances: 0 });
    expect([...world.changes.updated]).toEqual(expect.arrayContaining([running, stopped]));
  });

  it('ends once a credit lifts the balance above zero, but not at exactly zero', () => {
    const world = new World(700n);
    world.rent('ON_DEMAND');
    world.now = 1_010n;
    world.settle();
    const owed = world.account.spendUnits + 7n * (1_010n - world.account.settledAt);
    world.pay(owed - 700n);
    expect(world.account).toMatchObject({ exhaustedAt: 1_007n, diskDeleteAt: 1_507n, dueAt: 1_507n });
    world.pay(1n);
    expect(world.account).toMatchObject({ exhaustedAt: null, diskDeleteAt: null, dueAt: 1_011n });
    expect(world.changes.entries.filter(({ kind }) => kind === 'CREDIT')).toHaveLength(2);
    expect(world.changes.accounts.has(world.account)).toBe(true);
  });
});

it('exhausted credit keeps volumes until the grace period ends, then deletes them', () => {
  const world = new World(3_000n);
  const volume = world.store(10);
  expect(world.account).toMatchObject({ burnRate: 30n, dueAt: 1_100n, liveVolumes: 1 });
  world.now = 1_101n;
  world.settle();
  expect(world.account).toMatchObject({ exhaustedAt: 1_100n, diskDeleteAt: 1_600n, dueAt: 1_600n, burnRate: 30n });
  expect(volume.deletedAt).toBeNull();
  world.now = 1_600n;
  world.settle();
  expect(volume.deletedAt).toBeNull();
  world.now = 9_000n;
  world.settle();
  expect(volume).toMatchObject({ deletedAt: 1_600n, deleteReason: 'BALANCE_EXHAUSTED' });
  expect(world.account).toMatchObject({ burnRate: 0n, dueAt: null, liveVolumes: 0 });
  expect(world.changes.entries).toMatchObject([
    { id: 'v-00000001/volume/1', kind: 'VOLUME_USAGE', units: -18_000n, at: 1_600n, instanceId: null, reference: null },
  ]);
});

it('no volume second is charged twice or for two sizes', () => {
  const world = new World(1_000_000n);
  const volume = world.store(1);
  const sizes = () => world.intervals.map(({ startedAt, endedAt }) => [startedAt, endedAt]);
  // The volume grows twice more in the second of its creation.
  for (const gb of [2, 3]) growVolume(world.step(false), volume, gb, null);
  expect(sizes()).toEqual([
    [1_000n, 1_001n],
    [1_001n, 1_001n],
    [1_001n, null],
  ]);
  // The volume is deleted in the second in which it grew.
  deleteVolume(world.step(false), volume, 'USER');
  expect(sizes()).toEqual([
    [1_000n, 1_001n],
    [1_001n, 1_001n],
    [1_001n, 1_001n],
  ]);
  expect(world.changes.entries.map(({ units }) => units)).toEqual([-3n, -0n, -0n]);
  world.check();
});

it("a volume's id has eight hexadecimal digits", () => {
  expect(VOLUME_ID.test('v-31f72534')).toBe(true);
  for (const other of ['v-31f7253', 'v-31f725345', 'xv-31f72534', 'v-31F72534', 'v-31f72534\n', 'i-31f72534'])
    expect(VOLUME_ID.test(other), other).toBe(false);
});

it('leaving a reserved term early is charged once, at its end, in addition to usage', () => {
  const world = new World(1_000_000n);
  const reserved = world.rent('RESERVED');
  world.now = 1_100n;
  stop(world.step(), reserved, 'USER');
  world.now = 1_200n;
  destroy(world.step(), reserved, 'USER');
  expect(reserved).toMatchObject({
    earlyExitUnits: 3_500n,
    stopReason: 'USER',
    stoppedAt: 1_100n,
    destroyedAt: 1_200n,
  });
  expect(world.changes.entries.map(({ id, kind, units, at }) => [id, kind, units, at])).toEqual([
    ['i-00000001/gpu/1', 'GPU_USAGE', -6_500n, 1_100n],
    ['i-00000001/disk/1', 'DISK_USAGE', -1_400n, 1_200n],
    ['i-00000001/early-exit', 'EARLY_EXIT', -3_500n, 1_200n],
  ]);
});

it('a preempting start pays for its first minute, no matter how it ends', () => {
  const world = new World(1_000_000n);
  const instance = world.rent('ON_DEMAND', { preempts: true, soldUntil: 1_001n });
  expect(instance).toMatchObject({ runningSince: 1_001n, minimumUntil: 1_061n });
  world.now = 1_011n;
  stop(world.step(), instance, 'USER');
  expect(instance).toMatchObject({ minimumUntil: null, minimumUnits: 5_000n });
  expect(world.changes.entries.map(({ id, kind, units }) => [id, kind, units])).toEqual([
    ['i-00000001/gpu/1', 'GPU_USAGE', -1_000n],
    ['i-00000001/gpu/1/minimum', 'PREEMPTION_MINIMUM', -5_000n],
  ]);
  start(world.step(), instance, { soldUntil: null, preempts: false }, null);
  expect(instance).toMatchObject({ minimumUntil: null, gpuIntervals: 2 });
});

it('a stop neither sells a second twice nor sells beyond an event due in it', () => {
  // All credit is used up in the tenth second.
  const world = new World(1_070n);
  const instance = world.rent('ON_DEMAND');
  world.now = 1_010n;
  expect(world.account.dueAt).toBe(1_010n);
  stop(world.step(false), instance, 'USER');
  expect(instance.stoppedAt).toBe(1_010n);
  const other = new World(2_000_000n);
  const again = other.rent('ON_DEMAND');
  other.now = 1_010n;
  stop(other.step(false), again, 'USER');
  expect([again.stoppedAt, destroyEndOf(other.step(), again)]).toEqual([1_011n, 1_011n]);
  // The run ends after the second in which the instance is destroyed.
  destroy(other.step(), again, 'USER');
  expect(again.destroyedAt).toBe(1_011n);
  expect(other.changes.entries.map(({ kind }) => kind)).toEqual(['GPU_USAGE', 'DISK_USAGE']);
});

it('an account that is never exhausted never loses a disk', () => {
  const never = { exhaustedAt: null, diskDeleteAt: null, dueAt: null, liveInstances: 1, liveVolumes: 0 };
  expect(diskDeleteAtOf(never, GRACE)).toBeNull();
});

it("an instance's id has eight hexadecimal digits", () => {
  expect(INSTANCE_ID.test('i-31f72534')).toBe(true);
  for (const other of [
    'i-31f7253',
    'i-31f725345',
    'xi-31f72534',
    'i-31F72534',
    'i-31f7253g',
    'i-31f72534\n',
    '31f72534',
  ])
    expect(INSTANCE_ID.test(other), other).toBe(false);
});
