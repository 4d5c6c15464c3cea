import { type Accrual, advance, exhaustionOf } from './accrual.js';
import { DomainError } from './errors.js';
import { type Rate, type Units, unitsOfUsage } from './money.js';
import type { LockedRates, PricingMode } from './price-rule.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilFrom } from './reserved.js';
import type { Instant } from './time.js';

/**
 * The life of an instance and of the account that pays for it. Unlike all other rules, these steps change the rows they
 * are given and note every change in `Changes`; they read nothing else and return nothing but their answer.
 */

export type InstanceStatus = 'RUNNING' | 'STOPPED' | 'DESTROYED';
export type InstanceActionKind = 'START' | 'STOP' | 'DESTROY';
export type StopReason = 'USER' | 'PREEMPTED' | 'BALANCE_EXHAUSTED' | 'ACCOUNT_SUSPENDED' | 'OPERATOR' | 'START_FAILED';
export type LedgerKind = 'CREDIT' | 'ADJUSTMENT' | 'GPU_USAGE' | 'DISK_USAGE' | 'EARLY_EXIT' | 'SERVICE_CREDIT';

export interface Account extends Accrual {
  id: string;
  suspendedAt: Instant | null;
  liveInstances: number;
  deployedInstances: number;
  /** The second credit ran out; null again once a credit lifts the balance above zero. */
  exhaustedAt: Instant | null;
  /** End of the grace period that began at exhaustedAt. */
  diskDeleteAt: Instant | null;
  /** The second at which the next exhaustion or end of grace falls; null when none will. */
  dueAt: Instant | null;
}

export interface Instance {
  id: string;
  accountId: string;
  sequence: number;
  machineId: string;
  status: InstanceStatus;
  gpu: string;
  numGpus: number;
  region: string;
  template: string;
  diskGb: number;
  mode: PricingMode;
  gpuRate: Rate;
  diskRate: Rate;
  onDemandRate: Rate;
  createdAt: Instant;
  runningSince: Instant | null;
  stoppedAt: Instant | null;
  destroyedAt: Instant | null;
  stopReason: StopReason | null;
  gpuSeconds: bigint;
  gpuIntervals: number;
  reservedUntil: Instant | null;
  earlyExitUnits: Units;
}

/** Seconds [startedAt, endedAt) of one instance's GPUs or disk at a locked rate; endedAt is null while it is open. */
export interface UsageInterval {
  instanceId: string;
  resource: 'GPU' | 'DISK';
  /** Counts the instance's intervals of the resource from 1. */
  ordinal: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
}

/** An immutable money movement: credits are positive, charges negative. */
export interface LedgerEntry {
  id: string;
  accountId: string;
  kind: LedgerKind;
  units: Units;
  at: Instant;
  instanceId: string | null;
  reference: string | null;
  note: string | null;
}

/** What steps changed, for the ledger to write at once. Steps add to it and never read it. */
export interface Changes {
  accounts: Set<Account>;
  created: Set<Instance>;
  updated: Set<Instance>;
  opened: UsageInterval[];
  closed: UsageInterval[];
  entries: LedgerEntry[];
}

export function noChanges(): Changes {
  return { accounts: new Set(), created: new Set(), updated: new Set(), opened: [], closed: [], entries: [] };
}

/** What a step needs: the account, the second it happens in, and where it notes its changes. */
export interface Step {
  account: Account;
  at: Instant;
  changes: Changes;
}

/** The states each action is allowed in; every other pair is refused. */
const ALLOWED_FROM: Record<InstanceActionKind, readonly InstanceStatus[]> = {
  START: ['STOPPED'],
  STOP: ['RUNNING'],
  DESTROY: ['RUNNING', 'STOPPED'],
};

/** Refuses with action_failed. */
export function checkAllowed(action: InstanceActionKind, status: InstanceStatus): void {
  if (ALLOWED_FROM[action].includes(status)) return;
  throw new DomainError(
    'action_failed',
    `${action.toLowerCase()} is not allowed while the instance is ${status.toLowerCase()}`,
  );
}

/** What falls due at a second happens once that second is over: its credits and actions count first. */
export function isDue(account: Pick<Account, 'dueAt'>, now: Instant): boolean {
  return account.dueAt !== null && account.dueAt < now;
}

/** When credit runs out at the present burn, or ran out; null when it never will. */
export function exhaustsAtOf({ exhaustedAt, dueAt }: Pick<Account, 'exhaustedAt' | 'dueAt'>): Instant | null {
  return exhaustedAt ?? dueAt;
}

/** When its instances are destroyed: the end of the present grace period, or of the one to come; null when there are none. */
export function diskDeleteAtOf(
  account: Pick<Account, 'exhaustedAt' | 'diskDeleteAt' | 'dueAt' | 'liveInstances'>,
  grace: bigint,
): Instant | null {
  if (account.liveInstances === 0) return null;
  const exhaustsAt = exhaustsAtOf(account);
  return account.diskDeleteAt ?? (exhaustsAt === null ? null : exhaustsAt + grace);
}

/** What an instance is deployed with. */
export interface NewInstance extends LockedRates, Pick<Instance, 'template' | 'diskGb' | 'mode'> {
  id: string;
  machine: Pick<Instance, 'gpu' | 'numGpus' | 'region'> & { id: string };
}

/** A new instance begins: running, its GPU and disk intervals open. */
export function deploy(step: Step, { id, machine, template, diskGb, mode, ...rates }: NewInstance): Instance {
  const instance: Instance = {
    id,
    accountId: step.account.id,
    sequence: step.account.deployedInstances + 1,
    machineId: machine.id,
    status: 'RUNNING',
    gpu: machine.gpu,
    numGpus: machine.numGpus,
    region: machine.region,
    template,
    diskGb,
    mode,
    gpuRate: rates.gpuRate,
    diskRate: rates.diskRate,
    onDemandRate: rates.onDemandRate,
    createdAt: step.at,
    runningSince: step.at,
    stoppedAt: null,
    destroyedAt: null,
    stopReason: null,
    gpuSeconds: 0n,
    gpuIntervals: 1,
    reservedUntil: null,
    earlyExitUnits: 0n,
  };
  begin(step, instance);
  return instance;
}

function begin(step: Step, instance: Instance): void {
  const { account, at, changes } = step;
  advance(account, at);
  account.liveInstances += 1;
  account.deployedInstances += 1;
  instance.reservedUntil = reservedUntilFrom(instance, at);
  changes.created.add(instance);
  changes.opened.push(diskInterval(instance, null), gpuInterval(instance, at, null));
  changeBurn(step, instance.gpuRate + instance.diskRate);
}

export function start(step: Step, instance: Instance): void {
  const { account, at, changes } = step;
  advance(account, at);
  instance.status = 'RUNNING';
  instance.stopReason = null;
  instance.stoppedAt = null;
  instance.gpuIntervals += 1;
  instance.reservedUntil = reservedUntilFrom(instance, at);
  instance.runningSince = at;
  changes.updated.add(instance);
  changes.opened.push(gpuInterval(instance, at, null));
  changeBurn(step, instance.gpuRate);
}

export function stop(step: Step, instance: Instance, reason: StopReason): void {
  advance(step.account, step.at);
  closeGpu(step, instance);
  instance.status = 'STOPPED';
  instance.stoppedAt = step.at;
  instance.stopReason = reason;
  step.changes.updated.add(instance);
  changeBurn(step, -instance.gpuRate);
}

/** Closes both intervals and charges an early exit where the reserved term is not over. `reason` is why a running one stops. */
export function destroy(step: Step, instance: Instance, reason: StopReason): void {
  const { account, at, changes } = step;
  advance(account, at);
  const earlyExit = earlyExitUnitsAt(instance, at);
  const wasRunning = instance.status === 'RUNNING';
  if (wasRunning) {
    closeGpu(step, instance);
    instance.stoppedAt = at;
    instance.stopReason = reason;
  }
  const disk = diskInterval(instance, at);
  changes.closed.push(disk);
  charge(step, instance, `${instance.id}/disk/1`, 'DISK_USAGE', unitsOfUsage(disk.rate, at - disk.startedAt));
  if (earlyExit > 0n) {
    charge(step, instance, `${instance.id}/early-exit`, 'EARLY_EXIT', earlyExit);
    // Spend grows by the second for usage; an early exit is the one charge that is added at once.
    account.spendUnits += earlyExit;
    instance.earlyExitUnits = earlyExit;
  }
  instance.status = 'DESTROYED';
  instance.destroyedAt = at;
  account.liveInstances -= 1;
  changes.updated.add(instance);
  changeBurn(step, -(wasRunning ? instance.gpuRate + instance.diskRate : instance.diskRate));
}

/** A credit (positive) or an adjustment (either sign). A balance lifted above zero ends the grace period. */
export function credit(step: Step, entry: LedgerEntry): void {
  const { account, at, changes } = step;
  advance(account, at);
  account.creditUnits += entry.units;
  if (account.creditUnits > account.spendUnits) {
    account.exhaustedAt = null;
    account.diskDeleteAt = null;
  }
  changes.entries.push(entry);
  changeBurn(step, 0n);
}

/** Refuses the account's keys and stops what it runs. `live` are its undestroyed instances. Once is enough. */
export function suspend(step: Step, live: readonly Instance[]): void {
  const { account, at, changes } = step;
  if (account.suspendedAt !== null) return;
  account.suspendedAt = at;
  changes.accounts.add(account);
  for (const instance of live) if (instance.status === 'RUNNING') stop(step, instance, 'ACCOUNT_SUSPENDED');
}

/** Accepts the account's keys again. What was stopped stays stopped. */
export function resume({ account, changes }: Step): void {
  account.suspendedAt = null;
  changes.accounts.add(account);
}

/**
 * Carries out what fell due before `now`, each at its own second: at exhaustion everything running stops, at the end of
 * grace everything is destroyed. `live` are the account's undestroyed instances. How late this is called changes no amount.
 */
export function settle(
  account: Account,
  live: readonly Instance[],
  now: Instant,
  grace: bigint,
  changes: Changes,
): void {
  while (isDue(account, now)) {
    const step: Step = { account, at: account.dueAt!, changes };
    if (account.exhaustedAt === null) {
      for (const instance of live) if (instance.status === 'RUNNING') stop(step, instance, 'BALANCE_EXHAUSTED');
      advance(account, step.at);
      account.exhaustedAt = step.at;
      account.diskDeleteAt = step.at + grace;
    } else {
      for (const instance of live) if (instance.status !== 'DESTROYED') destroy(step, instance, 'BALANCE_EXHAUSTED');
    }
    changeBurn(step, 0n);
  }
}

/** Every step ends here: a change of burn, credit or state changes what is due next. */
function changeBurn({ account, changes }: Step, difference: Rate): void {
  account.burnRate += difference;
  account.dueAt = nextDue(account);
  changes.accounts.add(account);
}

function nextDue(account: Account): Instant | null {
  if (account.liveInstances === 0) return null;
  return account.exhaustedAt === null ? exhaustionOf(account) : account.diskDeleteAt;
}

function closeGpu(step: Step, instance: Instance): void {
  const interval = gpuInterval(instance, instance.runningSince!, step.at);
  instance.gpuSeconds = gpuSecondsAt(instance, step.at);
  instance.runningSince = null;
  step.changes.closed.push(interval);
  const units = unitsOfUsage(interval.rate, step.at - interval.startedAt);
  charge(step, instance, `${instance.id}/gpu/${interval.ordinal}`, 'GPU_USAGE', units);
}

/** The id is derived from what is charged, so that nothing is charged twice. */
function charge({ account, at, changes }: Step, instance: Instance, id: string, kind: LedgerKind, units: Units): void {
  const { id: instanceId } = instance;
  changes.entries.push({ id, accountId: account.id, kind, units: -units, at, instanceId, reference: null, note: null });
}

function gpuInterval(instance: Instance, startedAt: Instant, endedAt: Instant | null): UsageInterval {
  const { id, gpuIntervals, gpuRate } = instance;
  return { instanceId: id, resource: 'GPU', ordinal: gpuIntervals, rate: gpuRate, startedAt, endedAt };
}

/** A disk has one interval, from creation to destruction. */
function diskInterval(instance: Instance, endedAt: Instant | null): UsageInterval {
  const { id, diskRate, createdAt } = instance;
  return { instanceId: id, resource: 'DISK', ordinal: 1, rate: diskRate, startedAt: createdAt, endedAt };
}
