import { required } from '../../std/required.js';
import { type Accrual, addCharge, advance, changeRate, exhaustionOf, type MonthLine } from './accrual.js';
import { DomainError } from './errors.js';
import { type Micro, type Rate, type Units, unitsOfUsage } from './money.js';
import { minimumUnitsAt, minimumUntilOf } from './preemption.js';
import type { LockedRates, PricingMode } from './price-rule.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilFrom } from './reserved.js';
import { instanceLimitAt, type LimitedKey, type MonthlyLimit, monthlyLimitAt } from './spend-limit.js';
import { earliest, type Instant, latest, type Second } from './time.js';

/**
 * The life cycle of an instance and of the account that pays for it. The life cycle of a volume is in volume.ts. Unlike
 * other rules, these steps modify the rows passed to them and record every change in `RowChanges`. They read nothing
 * else, and their only other output is a return value.
 */

/** Matches an instance id, which ends in eight hexadecimal digits. */
export const INSTANCE_ID = /^i-[0-9a-f]{8}$/;
export const INSTANCE_STATUSES = ['RUNNING', 'STOPPED', 'DESTROYED'] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];
export type InstanceActionKind = 'START' | 'STOP' | 'DESTROY';
export const STOP_REASONS = [
  'USER',
  'PREEMPTED',
  'BALANCE_EXHAUSTED',
  'ACCOUNT_SUSPENDED',
  'OPERATOR',
  'START_FAILED',
  'COMMAND_ENDED',
  'DEADLINE',
  'SPEND_LIMIT',
  'IDLE',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];
export type LedgerKind =
  | 'CREDIT'
  | 'ADJUSTMENT'
  | 'GPU_USAGE'
  | 'DISK_USAGE'
  | 'EARLY_EXIT'
  | 'PREEMPTION_MINIMUM'
  | 'SERVICE_CREDIT'
  | 'VOLUME_USAGE';

export interface Account extends Accrual, MonthlyLimit {
  id: string;
  suspendedAt: Instant | null;
  liveInstances: number;
  /** Number of volumes that haven't been deleted. */
  liveVolumes: number;
  deployedInstances: number;
  /** When credit ran out. Reset to null once a credit raises the balance above zero. */
  exhaustedAt: Instant | null;
  /** End of the grace period that began at `exhaustedAt`. */
  diskDeleteAt: Instant | null;
  /** When credit runs out next or when the grace period ends. Null if neither will happen. */
  dueAt: Instant | null;
  /** Lower bound on the first second in which a deadline or a limit ends something. */
  deadlineAt: Instant | null;
  /** Number of the account's keys with a monthly limit. */
  limitedKeys: number;
  /** Data for computing when limits are reached. Set if the account or any of its keys has a monthly limit. */
  limited?: Limited;
}

export interface Limited {
  keys: LimitedKey[];
  /** The account's live instances. */
  live: Instance[];
}

/** Whether steps on the account need `limited`. */
export function hasMonthlyLimits({
  monthlyLimit,
  limitedKeys,
}: Pick<Account, 'monthlyLimit' | 'limitedKeys'>): boolean {
  return monthlyLimit !== null || limitedKeys > 0;
}

/** An instance's labels: key-value pairs by which the renter finds it. */
export type Labels = Readonly<Record<string, string>>;

export interface Instance {
  id: string;
  accountId: string;
  sequence: number;
  machineId: string;
  /** The machine's host, and its first GPU's position on that host. */
  hostId: string;
  firstGpu: number;
  status: InstanceStatus;
  gpu: string;
  numGpus: number;
  region: string;
  template: string;
  diskGb: number;
  /** Host disk space used by the instance's volumes, in addition to diskGb, in GB. */
  volumeGb: number;
  mode: PricingMode;
  gpuRate: Rate;
  diskRate: Rate;
  onDemandRate: Rate;
  createdAt: Instant;
  /**
   * May be up to one second ahead of the clock, because a start within a second that has already been sold begins after
   * that second.
   */
  runningSince: Instant | null;
  /** End of the second in which the instance stopped. */
  stoppedAt: Instant | null;
  destroyedAt: Instant | null;
  /** When the instance is to be stopped if it is still running. Reset to null afterwards. */
  stopAt: Instant | null;
  destroyAt: Instant | null;
  /** Maximum total cost, or null for no limit. */
  spendLimit: Micro | null;
  /** When the spend limit was reached. Reset to null when the limit is changed. */
  limitReachedAt: Instant | null;
  /**
   * Number of minutes without load or connections after which the instance stops. Null if it never stops for being
   * idle.
   */
  stopWhenIdle: number | null;
  /** The renter's labels, or null for none. */
  labels: Labels | null;
  /** The API keys that deployed the instance and began its last run, respectively. Null for the operator. */
  keyId: string | null;
  runKeyId: string | null;
  stopReason: StopReason | null;
  gpuSeconds: bigint;
  gpuIntervals: number;
  reservedUntil: Instant | null;
  earlyExitUnits: Units;
  /**
   * Set while the instance is running after preempting another one. Its GPU seconds are charged until then, no matter
   * how it ends.
   */
  minimumUntil: Instant | null;
  /** Total amount that such minimums have added to usage. */
  minimumUnits: Units;
}

/**
 * The seconds [startedAt, endedAt) in which an instance's GPUs or disk were used at a locked rate. endedAt is null
 * while the interval is open.
 */
export interface UsageInterval {
  instanceId: string;
  resource: 'GPU' | 'DISK';
  /** The interval's number among the instance's intervals for this resource, starting at 1. */
  ordinal: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  /** The instance's minimumUntil at the start of the interval. */
  minimumUntil: Instant | null;
  /** The API key that began the interval and whose limit counts it. */
  keyId: string | null;
  /** Why the interval ended. Null while it is open, or if it was ended by an earlier version. */
  stopReason: StopReason | null;
}

/**
 * A disk that belongs to an account rather than to an instance. It is charged by size, with one interval for each size.
 */
export interface Volume {
  id: string;
  accountId: string;
  name: string;
  sizeGb: number;
  /** Rate per GB, locked when the volume was created. */
  gbRate: Rate;
  /** The API key that created it, or null for the operator. */
  keyId: string | null;
  createdAt: Instant;
  /** End of the second in which the volume was deleted. */
  deletedAt: Instant | null;
  deleteReason: StopReason | null;
  /** Number and start of the current size's interval, and the API key that began it and whose limit counts it. */
  sizes: number;
  sizedAt: Instant;
  sizeKeyId: string | null;
}

/** A new volume, along with its repository's sealed password, written as `\x` followed by hexadecimal digits. */
export interface NewVolume extends Volume {
  sealedPassword: string;
  sealingKeyId: string;
  /** The volume whose repository is copied, and the snapshot to start from. Null for an empty volume. */
  copyOf: string | null;
  headSnapshotId: string | null;
}

/**
 * The seconds [startedAt, endedAt) in which a volume had a certain size. endedAt is null while the interval is open.
 */
export interface VolumeInterval {
  volumeId: string;
  /** The size's number among the volume's sizes, starting at 1. */
  ordinal: number;
  sizeGb: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  keyId: string | null;
}

/** A movement of money, which never changes. Credits are positive and charges are negative. */
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

/**
 * The rows changed by steps, which the ledger writes together. Steps only add to these collections and never read them.
 */
export interface RowChanges {
  accounts: Set<Account>;
  created: Set<Instance>;
  updated: Set<Instance>;
  keys: Set<LimitedKey>;
  opened: UsageInterval[];
  closed: UsageInterval[];
  createdVolumes: Set<NewVolume>;
  updatedVolumes: Set<Volume>;
  openedSizes: VolumeInterval[];
  closedSizes: VolumeInterval[];
  entries: LedgerEntry[];
}

export function noChanges(): RowChanges {
  return {
    accounts: new Set(),
    created: new Set(),
    updated: new Set(),
    keys: new Set(),
    opened: [],
    closed: [],
    createdVolumes: new Set(),
    updatedVolumes: new Set(),
    openedSizes: [],
    closedSizes: [],
    entries: [],
  };
}

/**
 * The inputs of a step: the account, the step's second, and the object that records changes. Everything that begins in
 * the step begins at `at`, and everything that ends in it ends at `end`.
 */
export interface Step extends Second {
  account: Account;
  changes: RowChanges;
}

/** The state of the machine that a start takes over. */
export interface Takeover {
  /** End of the last second in which the machine was sold, or null if it was never sold. */
  soldUntil: Instant | null;
  /** Whether interruptible instances had to stop for the start. */
  preempts: boolean;
}

/** The states that allow each action. An action is rejected in any other state. */
const ALLOWED_FROM: Record<InstanceActionKind, readonly InstanceStatus[]> = {
  START: ['STOPPED'],
  STOP: ['RUNNING'],
  DESTROY: ['RUNNING', 'STOPPED'],
};

/** Throws action_failed if the action isn't allowed in this status. */
export function checkAllowed(action: InstanceActionKind, status: InstanceStatus): void {
  if (ALLOWED_FROM[action].includes(status)) return;
  throw new DomainError(
    'action_failed',
    `${action.toLowerCase()} is not allowed while the instance is ${status.toLowerCase()}`,
  );
}

/**
 * Whether anything is due. Something that falls due in a certain second is carried out only once that second is over,
 * so that credits and actions within the second still count.
 */
export function isDue(account: Pick<Account, 'dueAt' | 'deadlineAt'>, now: Instant): boolean {
  const next = earliest(account.dueAt, account.deadlineAt);
  return next !== null && next < now;
}

/** Returns when credit runs out at the current burn rate, or when it ran out. Returns null if neither applies. */
export function exhaustsAtOf({ exhaustedAt, dueAt }: Pick<Account, 'exhaustedAt' | 'dueAt'>): Instant | null {
  return exhaustedAt ?? dueAt;
}

/**
 * Returns when the account's instances are destroyed and its volumes deleted, which is at the end of the current or
 * next grace period. Returns null if there is no such grace period.
 */
export function diskDeleteAtOf(
  account: Pick<Account, 'exhaustedAt' | 'diskDeleteAt' | 'dueAt' | 'liveInstances' | 'liveVolumes'>,
  grace: bigint,
): Instant | null {
  if (hasNothing(account)) return null;
  const exhaustsAt = exhaustsAtOf(account);
  return account.diskDeleteAt ?? (exhaustsAt === null ? null : exhaustsAt + grace);
}

/** When an instance is stopped or destroyed automatically. Null if it never is. */
export type Deadlines = Pick<Instance, 'stopAt' | 'destroyAt'>;

/** The terms of a deploy. */
export interface NewInstance
  extends LockedRates,
    Deadlines,
    Pick<Instance, 'template' | 'diskGb' | 'mode' | 'spendLimit' | 'stopWhenIdle' | 'keyId'>,
    Partial<Pick<Instance, 'volumeGb' | 'labels'>> {
  id: string;
  machine: Pick<Instance, 'hostId' | 'firstGpu' | 'gpu' | 'numGpus' | 'region'> & { id: string };
  takeover: Takeover;
}

/** Creates a running instance with open intervals for its GPUs and its disk. */
export function deploy(step: Step, { id, machine, takeover, template, diskGb, mode, ...terms }: NewInstance): Instance {
  const instance: Instance = {
    id,
    accountId: step.account.id,
    sequence: step.account.deployedInstances + 1,
    machineId: machine.id,
    hostId: machine.hostId,
    firstGpu: machine.firstGpu,
    status: 'RUNNING',
    gpu: machine.gpu,
    numGpus: machine.numGpus,
    region: machine.region,
    template,
    diskGb,
    volumeGb: terms.volumeGb ?? 0,
    mode,
    gpuRate: terms.gpuRate,
    diskRate: terms.diskRate,
    onDemandRate: terms.onDemandRate,
    createdAt: step.at,
    runningSince: null,
    stoppedAt: null,
    destroyedAt: null,
    stopAt: terms.stopAt,
    destroyAt: terms.destroyAt,
    spendLimit: terms.spendLimit,
    limitReachedAt: null,
    stopWhenIdle: terms.stopWhenIdle,
    labels: noneIfEmpty(terms.labels ?? null),
    keyId: terms.keyId,
    runKeyId: terms.keyId,
    stopReason: null,
    gpuSeconds: 0n,
    gpuIntervals: 0,
    reservedUntil: null,
    earlyExitUnits: 0n,
    minimumUntil: null,
    minimumUnits: 0n,
  };
  begin(step, instance, takeover);
  return instance;
}

function begin(step: Step, instance: Instance, takeover: Takeover): void {
  const { account, at, changes } = step;
  account.liveInstances += 1;
  account.deployedInstances += 1;
  account.limited?.live.push(instance);
  changes.created.add(instance);
  changes.opened.push(diskInterval(instance, null));
  changeBurn(step, instance.diskRate, at, instance.keyId);
  openGpu(step, instance, takeover);
}

/** Sets, changes or removes the times at which the instance ends automatically. */
export function setDeadlines(step: Step, instance: Instance, { stopAt, destroyAt }: Deadlines): void {
  instance.stopAt = stopAt;
  instance.destroyAt = destroyAt;
  step.changes.updated.add(instance);
  updateDeadline(step, instance);
}

/**
 * Sets the number of idle minutes. Unlike with a deadline, the second of the stop can't be computed in advance, because
 * idleness has to be observed.
 */
export function setStopWhenIdle({ changes }: Step, instance: Instance, minutes: number | null): void {
  instance.stopWhenIdle = minutes;
  changes.updated.add(instance);
}

/** Replaces the instance's labels. */
export function setLabels({ changes }: Step, instance: Instance, labels: Labels): void {
  instance.labels = noneIfEmpty(labels);
  changes.updated.add(instance);
}

function noneIfEmpty(labels: Labels | null): Labels | null {
  return labels === null || Object.keys(labels).length === 0 ? null : labels;
}

/** Updates the account's next deadline if one of the instance's deadlines is earlier. */
export function updateDeadline({ account, changes }: Step, instance: Instance): void {
  account.deadlineAt = earliest(account.deadlineAt, ...endsOf(instance));
  changes.accounts.add(account);
}

export function endsOf(instance: Instance): (Instant | null)[] {
  return [instance.stopAt, instance.destroyAt, instanceLimitAt(instance)];
}

/**
 * Starts an instance. `keyId` is the API key that made the request, and `volumeGb` is the host disk space that the
 * instance's volumes now need.
 */
export function start(
  step: Step,
  instance: Instance,
  takeover: Takeover,
  keyId: string | null,
  volumeGb = instance.volumeGb,
): void {
  // A deadline no later than the start's own second was meant for the previous run.
  if (instance.stopAt !== null && instance.stopAt <= step.at) instance.stopAt = null;
  instance.status = 'RUNNING';
  instance.stopReason = null;
  instance.stoppedAt = null;
  instance.runKeyId = keyId;
  instance.volumeGb = volumeGb;
  step.changes.updated.add(instance);
  openGpu(step, instance, takeover);
}

export function stop(step: Step, instance: Instance, reason: StopReason): void {
  const end = closeGpu(step, instance, reason);
  instance.status = 'STOPPED';
  instance.stoppedAt = end;
  instance.stopReason = reason;
  step.changes.updated.add(instance);
}

/**
 * Destroys an instance by closing both of its intervals. Charges an early exit if the reserved term isn't over.
 * `reason` is the reason for stopping the instance if it is running.
 */
export function destroy(step: Step, instance: Instance, reason: StopReason): void {
  const { account, changes } = step;
  const end = destroyEndOf(step, instance);
  if (instance.status === 'RUNNING') {
    instance.stoppedAt = closeGpu(step, instance, reason);
    instance.stopReason = reason;
  }
  const earlyExit = earlyExitUnitsAt(instance, end);
  const disk = { ...diskInterval(instance, end), stopReason: reason };
  changes.closed.push(disk);
  charge(step, instance, `${instance.id}/disk/1`, 'DISK_USAGE', unitsOfUsage(disk.rate, end - disk.startedAt), end);
  if (earlyExit > 0n) {
    charge(step, instance, `${instance.id}/early-exit`, 'EARLY_EXIT', earlyExit, end);
    chargeLines(step, earlyExit, end, instance.keyId);
    instance.earlyExitUnits = earlyExit;
  }
  instance.status = 'DESTROYED';
  instance.destroyedAt = end;
  account.liveInstances -= 1;
  changes.updated.add(instance);
  changeBurn(step, -instance.diskRate, end, instance.keyId);
}

/** Returns when the instance ends if it is destroyed in this second. */
export function destroyEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  const from = instance.runningSince ?? instance.stoppedAt ?? instance.createdAt;
  return endOfInstance(step, instance, from, instance.destroyAt);
}

/** Returns when the run ends if the instance is stopped in this second. */
export function stopEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  return endOfInstance(step, instance, runStartOf(instance), earliest(instance.stopAt, instance.destroyAt));
}

/**
 * Records a credit (positive) or an adjustment (positive or negative). If the balance rises above zero, the grace
 * period ends.
 */
export function credit(step: Step, entry: LedgerEntry): void {
  const { account, at, changes } = step;
  advance(account, at);
  account.creditUnits += entry.units;
  if (account.creditUnits > account.spendUnits) {
    account.exhaustedAt = null;
    account.diskDeleteAt = null;
  }
  changes.entries.push(entry);
  changeBurn(step, 0n, at, null);
}

/**
 * Suspends the account, so that its keys are rejected, and stops its running instances. `live` are its live instances.
 * Has no effect if the account is already suspended.
 */
export function suspend(step: Step, live: readonly Instance[]): void {
  const { account, at, changes } = step;
  if (account.suspendedAt !== null) return;
  account.suspendedAt = at;
  changes.accounts.add(account);
  for (const instance of live) if (instance.status === 'RUNNING') stop(step, instance, 'ACCOUNT_SUSPENDED');
}

/** Accepts the account's keys again. Stopped instances stay stopped. */
export function resume({ account, changes }: Step): void {
  account.suspendedAt = null;
  changes.accounts.add(account);
}

/**
 * Returns the running instances that a monthly limit applies to. For a key, these are the instances started by that
 * key. For the account, they are all of its running instances.
 */
export function runsOf(limit: LimitedKey | Account, live: readonly Instance[]): Instance[] {
  const isKey = !('creditUnits' in limit);
  return live.filter((instance) => isRunning(instance) && (!isKey || instance.runKeyId === limit.id));
}

export function isRunning({ status }: Instance): boolean {
  return status === 'RUNNING';
}

/** Changes the burn rate and consequently what is due next. */
export function changeBurn(step: Step, difference: Rate, from: Instant, keyId: string | null): void {
  const { account } = step;
  for (const line of linesOf(step, keyId)) changeRate(line, difference, from);
  account.dueAt = nextDue(account);
}

function chargeLines(step: Step, units: Units, at: Instant, keyId: string | null): void {
  for (const line of linesOf(step, keyId)) addCharge(line, units, at);
}

/** Returns the account's spend and, if the key being charged has a limit, that key's spend. */
function linesOf({ account, changes }: Step, keyId: string | null): MonthLine[] {
  changes.accounts.add(account);
  const key = account.limited?.keys.find(({ id }) => id === keyId);
  if (key === undefined) return [account];
  changes.keys.add(key);
  return [account, key];
}

function nextDue(account: Account): Instant | null {
  if (hasNothing(account)) return null;
  return account.exhaustedAt === null ? exhaustionOf(account) : account.diskDeleteAt;
}

/** Whether an account has neither disks nor volumes, which means that there is nothing to bill or erase. */
function hasNothing({ liveInstances, liveVolumes }: Pick<Account, 'liveInstances' | 'liveVolumes'>): boolean {
  return liveInstances === 0 && liveVolumes === 0;
}

/**
 * Opens a GPU interval. A second that has already been sold, even to the same instance, is never sold again. In that
 * case, the interval begins after it.
 */
function openGpu(step: Step, instance: Instance, { soldUntil, preempts }: Takeover): void {
  const from = latest(step.at, soldUntil ?? step.at);
  instance.gpuIntervals += 1;
  instance.reservedUntil = reservedUntilFrom(instance, from);
  instance.runningSince = from;
  instance.minimumUntil = minimumUntilOf(from, preempts);
  step.changes.opened.push(gpuInterval(instance, from, null));
  changeBurn(step, instance.gpuRate, from, instance.runKeyId);
  updateDeadline(step, instance);
}

/** Closes the GPU interval. Returns the instant at which it ends. */
function closeGpu(step: Step, instance: Instance, reason: StopReason): Instant {
  const end = stopEndOf(step, instance);
  const interval = { ...gpuInterval(instance, runStartOf(instance), end), stopReason: reason };
  instance.gpuSeconds = gpuSecondsAt(instance, end);
  instance.runningSince = null;
  step.changes.closed.push(interval);
  const id = `${instance.id}/gpu/${interval.ordinal}`;
  charge(step, instance, id, 'GPU_USAGE', unitsOfUsage(interval.rate, end - interval.startedAt), end);
  const minimum = minimumUnitsAt(instance, end);
  if (minimum > 0n) {
    charge(step, instance, `${id}/minimum`, 'PREEMPTION_MINIMUM', minimum, end);
    chargeLines(step, minimum, end, instance.runKeyId);
    instance.minimumUnits += minimum;
  }
  instance.minimumUntil = null;
  changeBurn(step, -instance.gpuRate, end, instance.runKeyId);
  return end;
}

function runStartOf({ runningSince }: Instance): Instant {
  return required(runningSince, 'start of a run');
}

function endOfInstance(
  step: Pick<Step, 'account' | 'end'>,
  instance: Instance,
  from: Instant,
  deadline: Instant | null,
): Instant {
  return endOf(step, from, [instance.keyId, instance.runKeyId], earliest(deadline, instanceLimitAt(instance)));
}

/**
 * Returns when an interval that began at `from` ends in this step. This is at the end of the step's second, or earlier
 * if something is due within that second. Nothing is charged once credit has run out, a limit on the account or on one
 * of the keys has been reached, or `deadline` has passed.
 */
export function endOf(
  { account, end }: Pick<Step, 'account' | 'end'>,
  from: Instant,
  keyIds: readonly (string | null)[],
  deadline: Instant | null,
): Instant {
  const { limited } = account;
  const limits = limited === undefined ? [] : [account, ...limited.keys.filter(({ id }) => keyIds.includes(id))];
  const reached = limits.map((limit) => monthlyLimitAt(limit, runsOf(limit, limited?.live ?? [])));
  return latest(from, earliest(end, account.dueAt, deadline, ...reached));
}

/** Records a charge. Its id is derived from the thing charged, so that nothing can be charged twice. */
function charge(
  { account, changes }: Step,
  instance: Instance,
  id: string,
  kind: LedgerKind,
  units: Units,
  at: Instant,
): void {
  const { id: instanceId } = instance;
  changes.entries.push({ id, accountId: account.id, kind, units: -units, at, instanceId, reference: null, note: null });
}

function gpuInterval(instance: Instance, startedAt: Instant, endedAt: Instant | null): UsageInterval {
  const { id, gpuIntervals, gpuRate, minimumUntil, runKeyId } = instance;
  const ordinal = gpuIntervals;
  const [rate, keyId] = [gpuRate, runKeyId];
  return { instanceId: id, resource: 'GPU', ordinal, rate, startedAt, endedAt, minimumUntil, keyId, stopReason: null };
}

/**
 * Returns the interval for an instance's disk. A disk has only one interval, from its creation until its destruction.
 */
function diskInterval(instance: Instance, endedAt: Instant | null): UsageInterval {
  const { id, diskRate, createdAt, keyId } = instance;
  return {
    instanceId: id,
    resource: 'DISK',
    ordinal: 1,
    rate: diskRate,
    startedAt: createdAt,
    endedAt,
    minimumUntil: null,
    keyId,
    stopReason: null,
  };
}
