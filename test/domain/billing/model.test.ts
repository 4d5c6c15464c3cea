import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { adjustAccount, creditAccount } from '../../../src/domain/accounts/accounts.js';
import { createApiKey } from '../../../src/domain/accounts/api-keys.js';
import { setAccountLimit, setKeyLimit } from '../../../src/domain/accounts/monthly-limits.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { act, changeDeadlines, deploy } from '../../../src/domain/instances/instances.js';
import { changeSpendLimit } from '../../../src/domain/instances/spend-limits.js';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { MICRO_PER_USD } from '../../../src/domain/kernel/money.js';
import { type SealingKeys, sealingKey } from '../../../src/domain/kernel/sealing.js';
import { instantOf, latest } from '../../../src/domain/kernel/time.js';
import { bookPayments } from '../../../src/domain/top-ups/book-payments.js';
import { createTopUp } from '../../../src/domain/top-ups/create-top-up.js';
import type { PaymentProcessor } from '../../../src/domain/top-ups/processor.js';
import type { TopUp } from '../../../src/domain/top-ups/rules/top-up.js';
import { createVolume, deleteVolume, growVolume } from '../../../src/domain/volumes/volumes.js';
import { NaiveModel } from '../../support/billing/naive-model.js';
import { isRunning, type Rental, type Store } from '../../support/billing/naive-rows.js';
import { openTestDomain, type TestDomain } from '../../support/domain.js';
import { isLong, randomHistories } from '../../support/long.js';
import { expectExactStatements } from '../../support/proofs/exact.js';

const RUNS = 30;
const STEPS = 40;
const ACCOUNTS = 3;
const DISK_RATE_PER_GB = 140n;
const VOLUME_RATE_PER_GB = 100n;
const SEALING_KEY = sealingKey(randomBytes(32).toString('hex'));
const GRACE = 7n * 86_400n;
const MACHINES = [
  { gpu: 'rtx-4090', numGpus: 1 },
  { gpu: 'h100-sxm', numGpus: 8 },
  { gpu: 'gtx-1080', numGpus: 1 },
];

/** Seconds from now, usually null. */
const deadline = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 2, arbitrary: fc.integer({ min: 20, max: 3 * 86_400 }) },
);
/** Amount in micro-USD, usually null. */
const spendLimit = fc.oneof(
  { weight: 5, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 50_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 2_000_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 40_000_000 }) },
);
const volumeGb = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 10_000 }));
/** 0 for no key, or the number of one of the account's two keys. */
const key = fc.nat({ max: 2 });
const account = fc.nat({ max: ACCOUNTS - 1 });
const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('deploy' as const),
      account,
      machine: fc.nat({ max: MACHINES.length - 1 }),
      mode: fc.constantFrom('ON_DEMAND' as const, 'INTERRUPTIBLE' as const, 'RESERVED' as const),
      diskGb: fc.integer({ min: 1, max: 60 }),
      stopIn: deadline,
      destroyIn: deadline,
      key,
      limit: spendLimit,
    }),
  },
  {
    weight: 7,
    arbitrary: fc.record({
      do: fc.constantFrom('START' as const, 'STOP' as const, 'DESTROY' as const),
      account,
      pick: fc.nat({ max: 50 }),
      key,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('limit' as const), account, pick: fc.nat({ max: 50 }), limit: spendLimit }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('monthlyLimit' as const), account, key, limit: spendLimit }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('deadlines' as const),
      account,
      pick: fc.nat({ max: 50 }),
      stopIn: fc.option(deadline, { nil: undefined }),
      destroyIn: fc.option(deadline, { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('createVolume' as const), account, gb: volumeGb, key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('growVolume' as const),
      account,
      pick: fc.nat({ max: 50 }),
      gb: volumeGb,
      key,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('deleteVolume' as const), account, pick: fc.nat({ max: 50 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('credit' as const), account, cents: fc.integer({ min: 1, max: 4_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('adjust' as const),
      account,
      micro: fc.integer({ min: -3_000_000, max: 3_000_000 }),
    }),
  },
  // The same few transactions are reported repeatedly with different sums, before and after they become final.
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      account,
      transaction: fc.nat({ max: 3 }),
      micro: fc.integer({ min: 0, max: 30_000_000 }),
      isFinal: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('read' as const), account }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sweep' as const) }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('leap' as const),
      seconds: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 1, max: 2_500 }).map((ms) => ms / 1_000),
        fc.integer({ min: 1, max: 2_500 }).map((ms) => ms / 1_000),
        fc.integer({ min: 10, max: 20_000 }),
        fc.integer({ min: 20_000, max: 10 * 86_400 }),
        fc.integer({ min: 10 * 86_400, max: 150 * 86_400 }),
        fc.integer({ min: -5_000, max: -1 }),
      ),
    }),
  },
  // Faults are most likely around the next exhaustion, end of the grace period or deadline.
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('leapToDue' as const),
      account,
      off: fc.constantFrom(-1, -0.6, 0, 0.3, 1, 1.2, 2),
    }),
  },
);
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly domain: TestDomain;
  readonly model: NaiveModel;
  readonly ids: string[] = [];
  /** For each account, null and the ids of its two keys. */
  readonly keys: (string | null)[][] = [];
  readonly topUps: TopUp[] = [];
  /** Ids of each account's volumes, in the same order as in the model. */
  readonly volumes: string[][] = [];
  readonly machines: { id: string; onDemandRate: bigint }[] = [];

  constructor(domain: TestDomain) {
    this.domain = { ...domain, sealingKeys: async (): Promise<SealingKeys> => [SEALING_KEY] };
    this.model = new NaiveModel(domain.clock, GRACE);
  }

  static async open(): Promise<World> {
    const world = new World(await openTestDomain({}, '2027-11-30T23:59:50Z'));
    for (let i = 0; i < ACCOUNTS; i += 1) {
      world.ids.push(await world.domain.account('20'));
      world.volumes.push([]);
      const made = [await createApiKey(world.domain, world.ids[i]!), await createApiKey(world.domain, world.ids[i]!)];
      world.keys.push([null, ...made.map(({ apiKey }) => apiKey.id)]);
      world.model.join(20n * MICRO_PER_USD * 3_600n);
      world.topUps.push(await openTopUp(world.domain, world.ids[i]!));
    }
    for (const { gpu, numGpus } of MACHINES) {
      const price = await world.domain.db.prisma.gpuPrice.findFirstOrThrow({ where: { gpu } });
      const id = await world.domain.machine(gpu, { numGpus, diskGb: 100_000 });
      world.machines.push({ id, onDemandRate: price.onDemandRate * BigInt(numGpus) });
    }
    return world;
  }

  /** Runs one command on both the domain and the model, and expects both to accept it or both to reject it. */
  async run(step: Command): Promise<void> {
    const { domain, model } = this;
    if (step.do === 'leap') return domain.clock.advance(step.seconds);
    if (step.do === 'sweep') return void (await this.sweep());
    const id = this.ids[step.account]!;
    const renter = model.renters[step.account]!;
    if (step.do === 'leapToDue') {
      const due = await this.dueAt(id);
      if (due === null) return;
      domain.clock.set(due);
      domain.clock.advance(step.off);
    } else if (step.do === 'deploy') {
      const machine = this.machines[step.machine]!;
      const diskRate = DISK_RATE_PER_GB * BigInt(step.diskGb);
      const { mode, diskGb, stopIn } = step;
      // A deadline can't destroy a reserved instance.
      const destroyIn = mode === 'RESERVED' ? null : step.destroyIn;
      const ends = { stopIn, destroyIn };
      const [by, limit] = [this.keys[step.account]![step.key]!, step.limit];
      const expected = model.deploy(renter, machine.id, machine.onDemandRate, mode, diskRate, ends, {
        key: by,
        limit: unitsOf(limit),
      });
      const spends = { spendLimit: limit === null ? null : limit / 1e6 };
      const texts = { stopAt: textOf(stopIn), destroyAt: textOf(destroyIn) };
      const input = { machineId: machine.id, mode, diskGb, ...texts, ...spends };
      expect(await done(deploy(domain, id, input, by))).toBe(expected);
    } else if (step.do === 'credit' || step.do === 'adjust') {
      const micro = step.do === 'credit' ? BigInt(step.cents) * 10_000n : BigInt(step.micro);
      if (micro === 0n) return;
      model.pay(renter, micro * 3_600n);
      await (step.do === 'credit' ? creditAccount : adjustAccount)(domain, id, { amountMicro: micro });
    } else if (step.do === 'report') {
      const { transaction, micro, isFinal } = step;
      // A payment with a final sum of zero is quarantined permanently.
      if (micro === 0) return;
      model.notify(renter, `tx-${transaction}`, BigInt(micro), isFinal);
      await bookPayments(domain, this.topUps[step.account]!, [
        {
          transaction: `tx-${transaction}`,
          asset: 'LTC',
          address: null,
          coins: '1',
          usd: BigInt(micro),
          usdWithFee: BigInt(micro),
          confirmations: isFinal ? 6 : 0,
          status: isFinal ? 'final' : 'pending',
        },
      ]);
    } else if (step.do === 'read') {
      model.look(renter);
      await readBalance(domain, id);
    } else if (step.do === 'deadlines') await this.setDeadlines(step.account, step.pick, step.stopIn, step.destroyIn);
    else if (step.do === 'createVolume') await this.createVolume(step.account, step.gb, step.key);
    else if (step.do === 'growVolume') {
      const { store, id: volume } = this.recentVolume(step.account, step.pick);
      if (store === undefined) return;
      const [owner, sizeGb] = [this.owner(step.account, step.key), step.gb];
      const expected = model.grow(store, BigInt(sizeGb), owner.keyId);
      expect(await done(growVolume(domain, owner, { id: volume!, sizeGb }))).toBe(expected);
    } else if (step.do === 'deleteVolume') {
      const { store, id: volume } = this.recentVolume(step.account, step.pick);
      if (store === undefined) return;
      const expected = model.drop(store);
      expect(await done(deleteVolume(domain, this.owner(step.account, 0), { id: volume! }))).toBe(expected);
    } else if (step.do === 'limit') await this.setLimit(step.account, step.pick, step.limit);
    else if (step.do === 'monthlyLimit') await this.setMonthlyLimit(step.account, step.key, step.limit);
    else await this.act(step);
  }

  owner(index: number, key: number) {
    return { accountId: this.ids[index]!, keyId: this.keys[index]![key]! };
  }

  /** Returns one of the newest volumes, which usually still exist. */
  recentVolume(index: number, pick: number): { store: Store | undefined; id: string | undefined } {
    const { stores } = this.model.renters[index]!;
    const position = Math.max(stores.length - 1 - (pick % 3), 0);
    return { store: stores[position], id: this.volumes[index]![position] };
  }

  async createVolume(index: number, gb: number, key: number): Promise<void> {
    const owner = this.owner(index, key);
    const expected = this.model.store(this.model.renters[index]!, VOLUME_RATE_PER_GB, BigInt(gb), owner.keyId);
    const made = createVolume(this.domain, owner, { name: 'work', sizeGb: gb });
    expect(await done(made)).toBe(expected !== null);
    if (expected !== null) this.volumes[index]!.push((await made).volume.id);
  }

  /** Returns the second of the next exhaustion, end of a grace period, or deadline. */
  async dueAt(id: string): Promise<bigint | null> {
    const { dueAt, deadlineAt } = await this.domain.db.prisma.account.findUniqueOrThrow({ where: { id } });
    const both = [dueAt, deadlineAt].flatMap((each) => (each === null ? [] : [BigInt(each.getTime() / 1000)]));
    return both.length === 0 ? null : both.reduce((one, other) => (other < one ? other : one));
  }

  async act(step: { do: 'START' | 'STOP' | 'DESTROY'; account: number; pick: number; key: number }): Promise<void> {
    const { do: action, account: index, pick } = step;
    const { rentals } = this.model.renters[index]!;
    if (rentals.length === 0) return;
    const { rental, id } = await this.recent(index, pick);
    const verb = { START: 'start', STOP: 'stop', DESTROY: 'destroy' } as const;
    const by = this.keys[index]![step.key]!;
    const expected = this.model[verb[action]](rental, by);
    expect(await done(act(this.domain, this.ids[index]!, { id, action }, by))).toBe(expected);
  }

  async setLimit(index: number, pick: number, limit: number | null): Promise<void> {
    if (this.model.renters[index]!.rentals.length === 0) return;
    const { rental, id } = await this.recent(index, pick);
    const expected = this.model.limitRental(rental, unitsOf(limit));
    const usd = limit === null ? null : limit / 1e6;
    expect(await done(changeSpendLimit(this.domain, this.ids[index]!, id, usd))).toBe(expected);
  }

  async setMonthlyLimit(index: number, key: number, limit: number | null): Promise<void> {
    const renter = this.model.renters[index]!;
    const [id, usd] = [this.keys[index]![key]!, limit === null ? null : limit / 1e6];
    const by = { accountId: this.ids[index]!, keyId: null };
    if (id === null) {
      this.model.limitAccount(renter, unitsOf(limit));
      await setAccountLimit(this.domain, by, usd);
    } else {
      this.model.limitKey(renter, id, unitsOf(limit));
      await setKeyLimit(this.domain, by, { id, monthlyLimit: usd });
    }
  }

  async setDeadlines(
    index: number,
    pick: number,
    stopIn: number | null | undefined,
    requestedDestroyIn: number | null | undefined,
  ): Promise<void> {
    if (this.model.renters[index]!.rentals.length === 0) return;
    const { rental, id } = await this.recent(index, pick);
    const destroyIn = rental.mode === 'RESERVED' ? undefined : requestedDestroyIn;
    const expected = this.model.setDeadlines(rental, stopIn, destroyIn);
    const input = {
      ...(stopIn !== undefined && { stopAt: textOf(stopIn) }),
      ...(destroyIn !== undefined && { destroyAt: textOf(destroyIn) }),
    };
    expect(await done(changeDeadlines(this.domain, this.ids[index]!, id, input))).toBe(expected);
  }

  /** Returns one of the newest rentals, which are usually live. */
  async recent(index: number, pick: number): Promise<{ rental: Rental; id: string }> {
    const { rentals } = this.model.renters[index]!;
    const position = Math.max(rentals.length - 1 - (pick % 4), 0);
    const { id } = await this.domain.db.prisma.instance.findFirstOrThrow({
      where: { accountId: this.ids[index]!, sequence: position + 1 },
    });
    return { rental: rentals[position]!, id };
  }

  async sweep(): Promise<void> {
    const now = this.domain.clock.now();
    for (const [index, id] of this.ids.entries()) {
      const due = await this.dueAt(id);
      if (due !== null && due < now) this.model.look(this.model.renters[index]!);
    }
    await settleDue(this.domain);
  }

  /** Expects every month of every account to have a signed statement that verifies and is exact. */
  async expectExactStatements(): Promise<void> {
    const { clock, db } = this.domain;
    const accounts = await db.prisma.account.findMany({ where: { id: { in: this.ids } } });
    // The clock may have been set back. Entries of the current second aren't in statements yet.
    const settled = accounts.map(({ settledAt }) => instantOf(settledAt));
    clock.set(latest(clock.now(), ...settled) + 2n);
    await expectExactStatements(this.domain, this.ids);
  }

  /** Expects every account's amounts and instances to equal the model's, to the last unit. */
  async compare(): Promise<void> {
    for (const [index, id] of this.ids.entries()) {
      const renter = this.model.renters[index]!;
      const now = this.model.look(renter);
      const shown = await readBalance(this.domain, id);
      const row = await this.domain.db.prisma.account.findUniqueOrThrow({ where: { id } });
      const settledAt = BigInt(row.settledAt.getTime() / 1000);
      const spend = this.model.spend(renter, now);
      const credit = this.model.credit(renter);
      expect(row.spendUnits + row.burnRate * (now - settledAt)).toBe(spend);
      expect(row.creditUnits).toBe(credit);
      expect(shown.balance).toBe(credit / 3_600n - spend / 3_600n);
      expect(row.exhaustedAt && BigInt(row.exhaustedAt.getTime() / 1000)).toBe(renter.exhaustedAt);
      const month = new Date(Number(now) * 1000);
      const monthStart = BigInt(Date.UTC(month.getUTCFullYear(), month.getUTCMonth(), 1) / 1000);
      // Charges in the first second of a month belong to that month.
      const charges = renter.rentals.flatMap((rental) => rental.charges);
      const chargedThen = charges.reduce((sum, { at, units }) => sum + (at === monthStart ? units : 0n), 0n);
      expect(shown.monthSpend).toBe(spend / 3_600n - (this.model.spend(renter, monthStart) - chargedThen) / 3_600n);
      const rows = await this.domain.db.prisma.instance.findMany({
        where: { accountId: id },
        orderBy: { sequence: 'asc' },
      });
      expect(
        rows.map(({ status, stopReason, limitReachedAt }) => [status, stopReason, secondOf(limitReachedAt)]),
      ).toEqual(
        renter.rentals.map((rental) => [
          rental.to !== null ? 'DESTROYED' : isRunning(rental) ? 'RUNNING' : 'STOPPED',
          rental.why,
          rental.cap.reachedAt,
        ]),
      );
      expect(secondOf(row.limitReachedAt)).toEqual(renter.cap.reachedAt);
      const limits = await this.domain.db.prisma.keyLimit.findMany({ where: { accountId: id } });
      for (const each of limits) expect(secondOf(each.limitReachedAt)).toEqual(renter.keys.get(each.id)!.reachedAt);
      const used = await this.domain.db.prisma.usageInterval.findMany({
        where: { resource: 'GPU', instance: { accountId: id } },
        orderBy: [{ instance: { sequence: 'asc' } }, { ordinal: 'asc' }],
      });
      expect(used.map(({ startedAt, endedAt }) => [instantOf(startedAt), endedAt && instantOf(endedAt)])).toEqual(
        renter.rentals.flatMap(({ runs }) => runs.map(({ from, to }) => [from, to])),
      );
      const ids = this.volumes[index]!;
      const sizes = await this.domain.db.prisma.volumeInterval.findMany({
        where: { volume: { accountId: id } },
        orderBy: { ordinal: 'asc' },
      });
      sizes.sort((one, other) => ids.indexOf(one.volumeId) - ids.indexOf(other.volumeId));
      expect(
        sizes.map(({ sizeGb, startedAt, endedAt, keyId }) => [
          BigInt(sizeGb),
          instantOf(startedAt),
          endedAt && instantOf(endedAt),
          keyId,
        ]),
      ).toEqual(renter.stores.flatMap((store) => store.sizes.map(({ gb, from, to, key }) => [gb, from, to, key])));
    }
  }
}

/**
 * Opens a top-up whose payments are written by the test: the processor only opens the invoice and gets no other
 * request.
 */
async function openTopUp(domain: TestDomain, accountId: string): Promise<TopUp> {
  const invoice = { invoice: '1', address: 'address', amount: '1', rate: '20', holdsUntil: null };
  const payments = { ...NO_PROCESSOR, open: async () => invoice };
  return (await createTopUp({ ...domain, payments }, accountId, { asset: 'LTC', usd: 20_000_000n })).topUp;
}

const NO_PROCESSOR: PaymentProcessor = {
  name: 'shkeeper',
  assets: async () => ['LTC'],
  open: () => Promise.reject(new Error('unexpected request')),
  verify: () => ({ kind: 'ignored' }),
  read: () => Promise.reject(new Error('unexpected request')),
  list: () => Promise.reject(new Error('unexpected request')),
};

function secondOf(date: Date | null): bigint | null {
  return date && instantOf(date);
}

function unitsOf(micro: number | null): bigint | null {
  return micro === null ? null : BigInt(micro) * 3_600n;
}

function textOf(seconds: number | null): string | null {
  return seconds === null ? null : `${seconds}s`;
}

async function done(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof DomainError && ['deploy_failed', 'action_failed'].includes(error.code)) return false;
    throw error;
  }
}

describe('random histories', () => {
  test('match the naive model to the last unit after every step', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: STEPS / 2, maxLength: STEPS }), async (steps) => {
        const world = await World.open();
        try {
          for (const [index, step] of steps.entries()) {
            await world.run(step);
            // An audit takes ten times as long as a step.
            if (isLong || index % 8 === 0) expect((await audit(world.domain)).findings).toEqual([]);
            if (step.do === 'read') await world.compare();
          }
          await world.compare();
          expect((await audit(world.domain)).findings).toEqual([]);
          await world.expectExactStatements();
        } finally {
          await world.domain.close();
        }
      }),
      // Shrinking a failing history would exceed the test's timeout.
      { ...randomHistories(RUNS), verbose: 1, endOnFailure: true },
    );
  });
});
