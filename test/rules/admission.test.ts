import { describe, expect, it } from 'vitest';
import {
  admitAccount,
  admitMachine,
  checkMaxRate,
  type MachineForAdmission,
  ratesOf,
} from '../../src/domain/kernel/admission.js';
import { DomainError } from '../../src/domain/kernel/errors.js';
import type { Account } from '../../src/domain/kernel/lifecycle.js';
import { unitsOfMicro } from '../../src/domain/kernel/money.js';
import { minimumUnitsAt, minimumUntilOf } from '../../src/domain/kernel/preemption.js';

const NO_LIMIT = { monthlyLimit: null, limitReachedAt: null, limitAt: null };

const USD = 1_000_000n;
const DISK_RATE = 100n;
type On = MachineForAdmission<InstanceOn>['liveInstances'][number];
type InstanceOn = {
  status: 'RUNNING' | 'STOPPED';
  mode: 'ON_DEMAND' | 'INTERRUPTIBLE';
  firstGpu: number;
  numGpus: number;
  diskGb: number;
  volumeGb: number;
  accountId: string;
  gpuRate: bigint;
  runKeyId: string | null;
};

const machine = (changes: Partial<MachineForAdmission<InstanceOn>> = {}): MachineForAdmission<InstanceOn> => ({
  ...{
    id: 'm-1',
    gpu: 'h100',
    firstGpu: 0,
    numGpus: 2,
    diskGb: 500,
    hostDiskGb: 500,
    isSold: true,
    state: 'LISTED',
    ratePerGpu: 2n * USD,
    liveInstances: [],
  },
  hasOldAgent: false,
  reportsLoad: false,
  supportsVolumes: true,
  supportsUsers: true,
  ...changes,
});
const yielding: On = {
  status: 'RUNNING',
  mode: 'INTERRUPTIBLE',
  firstGpu: 0,
  numGpus: 2,
  diskGb: 100,
  volumeGb: 0,
  accountId: 'other',
  gpuRate: USD,
  runKeyId: null,
};

function account(credit: bigint, changes: Partial<Account> = {}): Account {
  return {
    ...{
      id: 'mine',
      creditUnits: unitsOfMicro(credit),
      spendUnits: 0n,
      monthStartSpendUnits: 0n,
      burnRate: 0n,
      settledAt: 0n,
    },
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
    ...changes,
  };
}

describe('a rental', () => {
  it("locks in the whole machine's rate for its mode, and its disk rate", () => {
    const terms = { mode: 'INTERRUPTIBLE', diskGb: 50 } as const;
    const rates = { gpuRate: 2n * USD, diskRate: 5_000n, onDemandRate: 4n * USD };
    expect(admitMachine(machine(), terms, DISK_RATE)).toEqual({ ...rates, preempted: [] });
    expect(ratesOf(machine({ state: 'OFFLINE' }), terms, DISK_RATE)).toEqual(rates);
  });

  it('names the instance that it preempts', () => {
    const claimed = admitMachine(machine({ liveInstances: [yielding] }), { mode: 'ON_DEMAND', diskGb: 400 }, DISK_RATE);
    expect(claimed).toMatchObject({ preempted: [yielding], gpuRate: 4n * USD });
  });

  it('is rejected if the machine is taken, unlisted or short of disk space', () => {
    const admit =
      (of: Partial<MachineForAdmission<InstanceOn>>, diskGb = 1) =>
      () =>
        admitMachine(machine(of), { mode: 'ON_DEMAND', diskGb }, DISK_RATE);
    const refusal = (reason: string) => expect.objectContaining({ code: 'deploy_failed', reason });
    expect(admit({ liveInstances: [{ ...yielding, mode: 'ON_DEMAND' }] })).toThrow(refusal('taken'));
    expect(admit({ state: 'DRAINED' })).toThrow(refusal('not_listed'));
    expect(admit({ isSold: false })).toThrow(refusal('not_listed'));
    expect(admit({ liveInstances: [yielding] }, 401)).toThrow(refusal('disk'));
  });

  it('causes an internal error, not a refusal, if its model has no price', () => {
    const admit = () => admitMachine(machine({ ratePerGpu: null }), { mode: 'ON_DEMAND', diskGb: 1 }, DISK_RATE);
    expect(admit).toThrow(new Error('model h100 has no price'));
    expect(admit).not.toThrow(DomainError);
  });

  it('requires a free instance slot and enough credit for an hour of GPU and disk', () => {
    const claim = { gpuRate: 2n * USD, diskRate: 5n, onDemandRate: 2n * USD, preempted: [] };
    const admit = (of: Account) => () => admitAccount(of, 0n, claim, 3_600n);
    expect(admit(account(2n * USD + 5n))).not.toThrow();
    const poor = admit(account(2n * USD + 4n));
    expect(poor).toThrow(
      'balance too low: 2.000004 USD does not cover 1 h for all instances, which costs 2.000005 USD',
    );
    expect(poor).toThrow(expect.objectContaining({ code: 'deploy_failed', reason: 'balance' }));
    expect(admit(account(9n * USD, { liveInstances: 999 }))).not.toThrow();
    const full = admit(account(9n * USD, { liveInstances: 1_000 }));
    expect(full).toThrow('the account has 1000 active instances, the maximum; destroy one first');
    expect(full).toThrow(expect.objectContaining({ code: 'deploy_failed', reason: 'instance_limit' }));
  });

  it('never costs more than the renter accepts', () => {
    expect(() => checkMaxRate('m-1', 2n * USD, null)).not.toThrow();
    expect(() => checkMaxRate('m-1', 2n * USD, 2n * USD)).not.toThrow();
    const dear = () => checkMaxRate('m-1', 2n * USD, 2n * USD - 1n);
    expect(dear).toThrow('machine m-1 costs 2.00 USD per hour, more than the maximum of 1.999999');
    expect(dear).toThrow(expect.objectContaining({ code: 'deploy_failed', reason: 'price' }));
  });
});

describe('the minimum charge for a preempting start', () => {
  it('is the unused part of its first 60 seconds', () => {
    expect([minimumUntilOf(10n, true), minimumUntilOf(10n, false)]).toEqual([70n, null]);
    const rest = (endedAt: bigint, minimumUntil: bigint | null = 70n) =>
      minimumUnitsAt({ minimumUntil, gpuRate: 3n }, endedAt);
    expect([rest(10n), rest(69n), rest(70n), rest(71n), rest(10n, null)]).toEqual([180n, 3n, 0n, 0n, 0n]);
  });
});
