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

/** Fields of an instance that the rules read. */
export type InstanceOnMachine = Pick<
  Instance,
  'status' | 'mode' | 'firstGpu' | 'numGpus' | 'diskGb' | 'volumeGb' | 'accountId' | 'gpuRate' | 'runKeyId'
>;

/** A machine to evaluate, with the undestroyed instances on its host. */
export interface MachineForAdmission<T extends InstanceOnMachine> extends MachineDisk {
  gpu: string;
  firstGpu: number;
  numGpus: number;
  state: MachineCondition;
  /** Whether the operator sells these GPUs as one machine. */
  isSold: boolean;
  /** Current price per GPU-hour on demand; null if the model has no price. */
  ratePerGpu: Rate | null;
  liveInstances: readonly T[];
  /** Whether its host agent predates launches. */
  hasOldAgent: boolean;
  /** Whether its host agent reports how busy instances are. */
  reportsLoad: boolean;
  /** Whether its host agent mounts volumes; true without an agent, where volumes are only records. */
  supportsVolumes: boolean;
  /** Whether its host agent starts containers as the user of a launch; true without an agent. */
  supportsUsers: boolean;
}

/** The rates that a rental would lock, and the instances that would have to stop for it. */
export interface Claim<T extends InstanceOnMachine> extends LockedRates {
  preempted: readonly T[];
}

/**
 * Returns the rates that a rental of the machine locks. Refuses with deploy_failed if it can't be rented on these terms
 * now.
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

/** Returns the rates of a rental, whether or not the machine is free. */
export function ratesOf(
  { gpu, numGpus, ratePerGpu }: Pick<MachineForAdmission<never>, 'gpu' | 'numGpus' | 'ratePerGpu'>,
  terms: { mode: PricingMode; diskGb: number },
  diskRatePerGb: Rate,
): LockedRates {
  if (ratePerGpu === null) throw new Error(`model ${gpu} has no price`);
  return lockedRates({ numGpus, ratePerGpu }, terms, diskRatePerGb);
}

/** Refuses with deploy_failed if the account may not rent on these terms. */
export function admitAccount(
  account: Account,
  at: Instant,
  { gpuRate, diskRate, preempted }: Claim<InstanceOnMachine>,
  coverSeconds: bigint,
): void {
  checkInstanceLimit(account);
  checkCover(account, at, { addedRate: gpuRate + diskRate, preempted, coverSeconds }, 'deploy_failed');
}

/** Addition of a deploy or start to the spend that limits count. */
export interface AddedSpend {
  /** API key of the request. */
  keyId: string | null;
  gpuRate: Rate;
  /** GPU rate and, for a deploy, disk rate. */
  addedRate: Rate;
  /** Rate added to the key's line, if different. */
  addedToKey?: Rate;
  preempted: readonly Pick<InstanceOnMachine, 'accountId' | 'gpuRate' | 'runKeyId'>[];
}

/**
 * Refuses with `code` a start or deploy that exceeds a monthly limit of the API key or of the account. The account must
 * include `limited` if it has such limits.
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

/** Refuses with deploy_failed a price above the caller's maximum; null accepts any. */
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
