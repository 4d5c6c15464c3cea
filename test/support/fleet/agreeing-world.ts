import fc from 'fast-check';
import { expect } from 'vitest';
import { creditAccount } from '../../../src/domain/accounts/accounts.js';
import { audit } from '../../../src/domain/billing/audit.js';
import { readBalance } from '../../../src/domain/billing/balance.js';
import { settleDue } from '../../../src/domain/billing/settlement.js';
import { statement } from '../../../src/domain/billing/statement.js';
import { act, deploy } from '../../../src/domain/instances/instances.js';
import { findOffers } from '../../../src/domain/inventory/offers.js';
import { DomainError } from '../../../src/domain/kernel/errors.js';
import { seen, TestAgent, tick } from '../agent.js';
import { NaiveModel } from '../billing/naive-model.js';
import { isRunning, type Rental } from '../billing/naive-rows.js';
import { openTestDomain, type TestDomain } from '../domain.js';
import { isLong } from '../long.js';
import { NaiveService } from './naive-service.js';

/** Number of steps between audits, because an audit takes as long as all other comparisons after a step. */
const AUDITED_EVERY = isLong ? 1 : 6;
const GRACE = 7n * 86_400n;
const DISK_RATE_PER_GB = 140n;
const ACCOUNTS = 2;
const MACHINES = 2;
const MICRO_PER_USD = 1_000_000n;

/** What the agent reports. FAILED is caused by the image, and HOST_FAILED by the host. */
type Says = 'RUNNING' | 'PULLING' | 'FAILED' | 'HOST_FAILED';

const account = fc.nat({ max: ACCOUNTS - 1 });
const machine = fc.nat({ max: MACHINES - 1 });
const mode = fc.constantFrom('ON_DEMAND' as const, 'INTERRUPTIBLE' as const, 'RESERVED' as const);
const says = fc.constantFrom('RUNNING', 'RUNNING', 'PULLING', 'FAILED', 'HOST_FAILED') as fc.Arbitrary<Says>;
/** A step of a random history. */
export const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('deploy' as const), account, machine, mode }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom('START' as const, 'STOP' as const, 'DESTROY' as const),
      account,
      pick: fc.nat({ max: 3 }),
    }),
  },
  { weight: 10, arbitrary: fc.record({ do: fc.constant('beat' as const), machine, says }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('credit' as const), account, cents: fc.integer({ min: 1, max: 900 }) }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('leap' as const),
      seconds: fc.oneof(
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 2_500 }).map((ms) => ms / 1_000),
        fc.integer({ min: 28, max: 34 }),
        fc.integer({ min: 590, max: 610 }),
        fc.integer({ min: 600, max: 20_000 }),
        fc.integer({ min: 20_000, max: 10 * 86_400 }),
        fc.integer({ min: 60 * 86_400, max: 100 * 86_400 }),
      ),
    }),
  },
);
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

class World {
  readonly domain: TestDomain;
  readonly model: NaiveModel;
  readonly service = new NaiveService();
  readonly accounts: string[] = [];
  readonly agents: TestAgent[] = [];
  readonly ids = new Map<Rental, string>();
  onDemandRate = 0n;

  constructor(domain: TestDomain) {
    this.domain = domain;
    this.model = new NaiveModel(domain.clock, GRACE);
  }

  /** The clock starts ten seconds before the end of a month. */
  static async open(credit = 4n): Promise<World> {
    const world = new World(await openTestDomain({}, '2027-11-30T23:59:50Z'));
    const { domain } = world;
    for (let i = 0; i < ACCOUNTS; i += 1) {
      world.accounts.push(await domain.account(String(credit)));
      world.model.join(credit * MICRO_PER_USD * 3_600n);
    }
    for (let i = 0; i < MACHINES; i += 1) {
      const agent = await TestAgent.join(domain);
      world.agents.push(agent);
      world.service.join(agent.machineId, domain.clock.now());
    }
    world.onDemandRate = (
      await domain.db.prisma.gpuPrice.findFirstOrThrow({ where: { gpu: 'rtx-4090' } })
    ).onDemandRate;
    return world;
  }

  async run(next: Step): Promise<void> {
    const { domain, model, service } = this;
    if (next.do === 'leap') domain.clock.advance(next.seconds);
    else if (next.do === 'credit') {
      const micro = BigInt(next.cents) * 10_000n;
      model.pay(model.renters[next.account]!, micro * 3_600n);
      await creditAccount(domain, this.accounts[next.account]!, { amountMicro: micro });
    } else if (next.do === 'deploy') await this.deploy(next.account, next.machine, next.mode);
    else if (next.do === 'beat') await this.beat(next.machine, next.says);
    else await this.act(next.do, next.account, next.pick);
    // Like the gateway, this first processes what fell due and then the credits.
    for (const renter of model.renters) model.look(renter);
    while ((await settleDue(domain)) > 0);
    service.wait(domain.clock.now());
    for (const renter of model.renters)
      for (const units of service
        .owed(renter.rentals, domain.clock.now(), (rental) => this.ids.get(rental)!)
        .values()) {
        expect(units).toBeGreaterThanOrEqual(0n);
        if (units > 0n) model.pay(renter, units);
      }
    await tick(domain);
  }

  async deploy(index: number, at: number, mode: 'ON_DEMAND' | 'INTERRUPTIBLE' | 'RESERVED'): Promise<void> {
    const { machineId } = this.agents[at]!;
    const renter = this.model.renters[index]!;
    const expected =
      !this.service.isDown(machineId) &&
      this.model.deploy(renter, machineId, this.onDemandRate, mode, DISK_RATE_PER_GB * 10n, {
        stopIn: null,
        destroyIn: null,
      });
    const outcome = await done(deploy(this.domain, this.accounts[index]!, { machineId, mode, diskGb: 10 }));
    expect(outcome !== null).toBe(expected);
    if (outcome === null) return;
    this.ids.set(renter.rentals.at(-1)!, outcome.instance.id);
    this.service.begin(renter.rentals.at(-1)!);
  }

  async act(action: 'START' | 'STOP' | 'DESTROY', index: number, pick: number): Promise<void> {
    const { rentals } = this.model.renters[index]!;
    const rental = rentals[Math.max(rentals.length - 1 - pick, 0)];
    if (rental === undefined) return;
    const verb = { START: 'start', STOP: 'stop', DESTROY: 'destroy' } as const;
    const isRefused = action === 'START' && this.service.isDown(rental.machine);
    const expected = !isRefused && this.model[verb[action]](rental);
    const outcome = await done(act(this.domain, this.accounts[index]!, { id: this.ids.get(rental)!, action }));
    expect(outcome !== null).toBe(expected);
    if (outcome !== null && action === 'START') this.service.begin(rental);
  }

  /** Makes the agent do what its document requests and report that. */
  async beat(index: number, says: Says): Promise<void> {
    const { domain, model, service } = this;
    const agent = this.agents[index]!;
    const now = domain.clock.now();
    const { instances } = await agent.fetch();
    const rentals = new Map(Array.from(this.ids, ([rental, id]) => [id, rental]));
    service.dropUnrequested(rentals.values(), agent.machineId, now);
    for (const { id, phase, start } of instances)
      if (phase === 'running') service.requestStart(rentals.get(id)!, start - 1, now);
    service.heartbeat(agent.machineId, now);
    for (const { id, phase, start } of instances) {
      const rental = rentals.get(id)!;
      if (phase === 'stopped') service.sawStopped(rental);
      if (phase === 'absent') service.sawErased(rental, now);
      if (phase !== 'running') continue;
      model.look(rental.account);
      if (says === 'RUNNING') service.sawRunning(rental, start - 1, now);
      if (says !== 'FAILED' && says !== 'HOST_FAILED') continue;
      service.sawFail(rental, start - 1, says === 'HOST_FAILED');
      model.fail(rental);
    }
    const failed = { fault: says === 'HOST_FAILED' ? 'host' : 'image' } as const;
    const phaseOf = {
      running: says === 'HOST_FAILED' ? 'FAILED' : says,
      stopped: 'STOPPED',
      absent: 'ERASED',
    } as const;
    await agent.report(
      instances.map(({ id, phase, start }) => seen(id, phaseOf[phase], { start, ...(phase === 'running' && failed) })),
    );
  }

  async compare(): Promise<void> {
    const { domain, model } = this;
    const offered = new Set(
      (await findOffers(domain, { gpu: 'rtx-4090', limit: 100 })).map(({ machineId }) => machineId),
    );
    for (const { machineId } of this.agents)
      expect(offered.has(machineId)).toBe(!this.service.isDown(machineId) && model.holder(machineId) === undefined);
    for (const [index, id] of this.accounts.entries()) {
      const renter = model.renters[index]!;
      const now = model.look(renter);
      const shown = await readBalance(domain, id);
      const row = await domain.db.prisma.account.findUniqueOrThrow({ where: { id } });
      const settledAt = BigInt(row.settledAt.getTime() / 1_000);
      const [spend, credit] = [model.spend(renter, now), model.credit(renter)];
      expect(row.creditUnits).toBe(credit);
      expect(row.spendUnits + row.burnRate * (now - settledAt)).toBe(spend);
      expect(shown.balance).toBe(credit / 3_600n - spend / 3_600n);
      expect(row.exhaustedAt && BigInt(row.exhaustedAt.getTime() / 1_000)).toBe(renter.exhaustedAt);
      const rows = await domain.db.prisma.instance.findMany({ where: { accountId: id }, orderBy: { sequence: 'asc' } });
      expect(rows.map(({ status, stopReason }) => [status, stopReason])).toEqual(
        renter.rentals.map((rental) => [
          rental.to !== null ? 'DESTROYED' : isRunning(rental) ? 'RUNNING' : 'STOPPED',
          rental.why,
        ]),
      );
      const { closingBalance } = await statement(domain, id, { from: now - 86_400n, to: null });
      expect(closingBalance).toBe(shown.balance);
    }
  }
}

async function done<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DomainError && ['deploy_failed', 'action_failed'].includes(error.code)) return null;
    throw error;
  }
}

/** Plays the steps on the domain and on the naive models and compares them after each step. */
export async function play(steps: readonly Step[], credit?: bigint): Promise<void> {
  const world = await World.open(credit);
  try {
    for (const [index, step] of steps.entries()) {
      await world.run(step);
      await world.compare();
      const isAudited = index % AUDITED_EVERY === 0 || index === steps.length - 1;
      if (isAudited) expect((await audit(world.domain)).findings).toEqual([]);
    }
  } finally {
    await world.domain.close();
  }
}
