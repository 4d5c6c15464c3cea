import { checkCover } from './cover.js';
import { checkDisk, type MachineDisk } from './disk.js';
import { DomainError, type ErrorCode } from './errors.js';
import { claim, type MachineCondition } from './free-machine.js';
import { checkInstanceLimit } from './instance-limit.js';
import { type Account, type Instance, runsOf } from './lifecycle.js';
import { formatUsd, type Rate } from './money.js';
import { minimumUntilOf } from './preemption.js';
import { type LockedRates, lockedRates, type PricingMode } from './price-rule.js';
import { checkMonthlyLimit } from './spend-limit.js';
import type { Instant } from './time.js';

/** The instance fields needed by the rules. */
export type InstanceOnMachine = Pick<
  Instance,
  'status' | 'mode' | 'firstGpu' | 'numGpus' | 'diskGb' | 'volumeGb' | 'accountId' | 'gpuRate' | 'runKeyId'
>;

/** A machine to decide on, with all live instances on its host. */
export interface MachineForAdmission<T extends InstanceOnMachine> extends MachineDisk {
  gpu: string;
  firstGpu: number;
  numGpus: number;
  state: MachineCondition;
  /** Whether the operator sells these GPUs as one machine. */
  isSold: boolean;
  /** Current on-demand price per GPU-hour, or null if the model has no price. */
  ratePerGpu: Rate | null;
  liveInstances: readonly T[];
  /** Whether the machine's host agent is too old to support launches. */
  hasOldAgent: boolean;
  /** Whether the machine's host agent reports how busy instances are. */
  reportsLoad: boolean;
  /**
   * Whether the machine's host agent can mount volumes. True if there is no agent, because volumes are then only
   * records.
   */
  supportsVolumes: boolean;
  /**
   * Whether the machine's host agent can start containers as the user a launch specifies. True if there is no agent.
   */
  supportsUsers: boolean;
}

/** The rates that a rental would lock, and the instances that it would preempt. */
export interface Claim<T extends InstanceOnMachine> extends LockedRates {
  preempted: readonly T[];
}

/**
 * Returns the rates locked by a rental of the machine. Throws deploy_failed if the machine can't be rented on these
 * terms now.
 */
export function admitMachine<T extends InstanceOnMachine>(
  machine: MachineForAdmission<T>,
  { mode, diskGb, volumeGb = 0 }: { mode: PricingMode; diskGb: number; volumeGb?: number },
  diskRatePerGb: Rate,
): Claim<T> {
  const preempted = claim(machine.isSold ? machine : { ...machine, state: 'DRAINED' }, mode, 'deploy_failed');
  checkDisk(machine, diskGb, volumeGb);
  return { ...ratesOf(machine, { mode, diskGb }, diskRatePerGb), preempted };
}

/** Returns the rates for renting a machine, whether or not it is free. */
export function ratesOf(
  { gpu, numGpus, ratePerGpu }: Pick<MachineForAdmission<never>, 'gpu' | 'numGpus' | 'ratePerGpu'>,
  terms: { mode: PricingMode; diskGb: number },
  diskRatePerGb: Rate,
): LockedRates {
  if (ratePerGpu === null) throw new Error(`model ${gpu} has no price`);
  return lockedRates({ numGpus, ratePerGpu }, terms, diskRatePerGb);
}

/** Throws deploy_failed if the account isn't allowed to rent on these terms. */
export function admitAccount(
  account: Account,
  at: Instant,
  { gpuRate, diskRate, preempted }: Claim<InstanceOnMachine>,
  coverSeconds: bigint,
): void {
  checkInstanceLimit(account);
  checkCover(account, at, { addedRate: gpuRate + diskRate, preempted, coverSeconds }, 'deploy_failed');
}

/** The amounts that a deploy or start would add to the spend counted by limits. */
export interface AddedSpend {
  /** The API key that made the request. */
  keyId: string | null;
  gpuRate: Rate;
  /** The GPU rate plus, for a deploy, the disk rate. */
  addedRate: Rate;
  /** The rate added to the key's spend. Defaults to `addedRate`. */
  addedToKey?: Rate;
  preempted: readonly Pick<InstanceOnMachine, 'accountId' | 'gpuRate' | 'runKeyId'>[];
}

/**
 * Throws an error with `code` if a deploy or start would exceed the API key's or the account's monthly limit. If there
 * are such limits, the account must include `limited`.
 */
export function checkLimits(account: Account, at: Instant, added: AddedSpend, code: ErrorCode): void {
  const { keys, live } = account.limited ?? { keys: [], live: [] };
  const { keyId, gpuRate, addedRate, addedToKey = addedRate, preempted } = added;
  const minimumUntil = minimumUntilOf(at, preempted.length > 0);
  const own = preempted.filter(({ accountId }) => accountId === account.id);
  for (const key of keys.filter(({ id }) => id === keyId)) {
    const yieldedRate = sumOfRates(own.filter(({ runKeyId }) => runKeyId === key.id));
    const run = { gpuRate, minimumUntil, addedRate: addedToKey, yieldedRate };
    checkMonthlyLimit("the API key's", key, runsOf(key, live), at, run, code);
  }
  const run = { gpuRate, minimumUntil, addedRate, yieldedRate: sumOfRates(own) };
  checkMonthlyLimit("the account's", account, runsOf(account, live), at, run, code);
}

function sumOfRates(instances: readonly Pick<Instance, 'gpuRate'>[]): Rate {
  return instances.reduce((sum, { gpuRate }) => sum + gpuRate, 0n);
}

/** Throws deploy_failed if the price exceeds the caller's maximum. Null accepts any price. */
export function checkMaxRate(machineId: string, gpuRate: Rate, maxRate: Rate | null): void {
  if (maxRate === null || gpuRate <= maxRate) return;
  const [is, most] = [gpuRate, maxRate].map(formatUsd);
  throw new DomainError(
    'deploy_failed',
    `machine ${machineId} costs ${is} USD per hour, more than the maximum of ${most}`,
    {
      reason: 'price',
    },
  );
}
