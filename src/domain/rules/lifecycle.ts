import { type Accrual, addCharge, advance, changeRate, exhaustionOf, type MonthLine } from './accrual.js';
import { DomainError } from './errors.js';
import { type Micro, type Rate, type Units, unitsOfUsage } from './money.js';
import { minimumUnitsAt, minimumUntilOf } from './preemption.js';
import type { LockedRates, PricingMode } from './price-rule.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilFrom } from './reserved.js';
import { instanceLimitAt, type LimitedKey, type MonthlyLimit, monthlyLimitAt } from './spend-limit.js';
import { earliest, type Instant, latest, type Second } from './time.js';

/**
 * The life cycle of an instance and of the account that pays for it; that of a volume is in volume.ts. Unlike other
 * rules, these steps change the rows passed to them and record every change in `RowChanges`. They read nothing else and
 * return only their result.
 */

/** Eight hexadecimal digits. */
export const INSTANCE_ID = /^i-[0-9a-f]{8}$/;
export const INSTANCE_STATUSES = ['RUNNING', 'STOPPED', 'DESTROYED'] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];
export type InstanceActionKind = 'START' | 'STOP' | 'DESTROY';
export type StopReason =
  | 'USER'
  | 'PREEMPTED'
  | 'BALANCE_EXHAUSTED'
  | 'ACCOUNT_SUSPENDED'
  | 'OPERATOR'
  | 'START_FAILED'
  | 'COMMAND_ENDED'
  | 'DEADLINE'
  | 'SPEND_LIMIT'
  | 'IDLE';
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
  /** Volumes, except deleted ones. */
  liveVolumes: number;
  deployedInstances: number;
  /** When credit ran out; null again once a credit lifts the balance above zero. */
  exhaustedAt: Instant | null;
  /** End of the grace period that began at exhaustedAt. */
  diskDeleteAt: Instant | null;
  /** When the next exhaustion or end of grace is due; null for never. */
  dueAt: Instant | null;
  /** Lower bound of the first second at which a deadline or a limit ends something. */
  deadlineAt: Instant | null;
  /** Number of its keys with a monthly limit. */
  limitedKeys: number;
  /** Data for computing when limits are reached; set if the account or one of its keys has a monthly limit. */
  limited?: Limited;
}

export interface Limited {
  keys: LimitedKey[];
  /** The account's undestroyed instances. */
  live: Instance[];
}

/** Whether steps on the account need `limited`. */
export function hasMonthlyLimits({
  monthlyLimit,
  limitedKeys,
}: Pick<Account, 'monthlyLimit' | 'limitedKeys'>): boolean {
  return monthlyLimit !== null || limitedKeys > 0;
}

export interface Instance {
  id: string;
  accountId: string;
  sequence: number;
  machineId: string;
  /** Host of the machine, and the place of its first GPU there. */
  hostId: string;
  firstGpu: number;
  status: InstanceStatus;
  gpu: string;
  numGpus: number;
  region: string;
  template: string;
  diskGb: number;
  /** GB of the host's disk used by its volumes, in addition to diskGb. */
  volumeGb: number;
  mode: PricingMode;
  gpuRate: Rate;
  diskRate: Rate;
  onDemandRate: Rate;
  createdAt: Instant;
  /** Up to one second ahead of the clock: a start within a second that was already sold begins after it. */
  runningSince: Instant | null;
  /** The end of the second it stopped in. */
  stoppedAt: Instant | null;
  destroyedAt: Instant | null;
  /** When it stops, if it is running then; null again afterwards. */
  stopAt: Instant | null;
  destroyAt: Instant | null;
  /** Spend limit; null for no limit. */
  spendLimit: Micro | null;
  /** When the spend limit was reached; null again once the limit is changed. */
  limitReachedAt: Instant | null;
  /** Minutes without load and connections after which it stops; null: never. */
  stopWhenIdle: number | null;
  /** API keys that deployed it, and that began its last run; null for the operator. */
  keyId: string | null;
  runKeyId: string | null;
  stopReason: StopReason | null;
  gpuSeconds: bigint;
  gpuIntervals: number;
  reservedUntil: Instant | null;
  earlyExitUnits: Units;
  /**
   * Set while it runs after preempting another instance: its GPU seconds are charged until then, regardless of how it
   * ends.
   */
  minimumUntil: Instant | null;
  /** Total of the remainders of such minimums. */
  minimumUnits: Units;
}

/** Seconds [startedAt, endedAt) of one instance's GPUs or disk at a locked rate; endedAt is null while it is open. */
export interface UsageInterval {
  instanceId: string;
  resource: 'GPU' | 'DISK';
  /** Number of the interval among the instance's intervals of the resource, from 1. */
  ordinal: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  /** The instance's minimumUntil when the interval began. */
  minimumUntil: Instant | null;
  /** API key that began it, whose limit counts it. */
  keyId: string | null;
  /** Why it ended; null while it is open, and if an earlier version ended it. */
  stopReason: StopReason | null;
}

/** An account's own disk. It is charged by its sizes, one interval each. */
export interface Volume {
  id: string;
  accountId: string;
  name: string;
  sizeGb: number;
  /** Rate per GB, locked at creation. */
  gbRate: Rate;
  /** API key that created it; null for the operator. */
  keyId: string | null;
  createdAt: Instant;
  /** The end of the second it was deleted in. */
  deletedAt: Instant | null;
  deleteReason: StopReason | null;
  /** Number and start of the interval of its current size, and the API key that began it, whose limit counts it. */
  sizes: number;
  sizedAt: Instant;
  sizeKeyId: string | null;
}

/** A new volume, with the password of its repository, sealed: `\x` and hexadecimal digits. */
export interface NewVolume extends Volume {
  sealedPassword: string;
  sealingKeyId: string;
  /** The volume whose repository it copies, and the snapshot of it to start from; null for an empty one. */
  copyOf: string | null;
  headSnapshotId: string | null;
}

/** Seconds [startedAt, endedAt) of a volume at one size; endedAt is null while it is open. */
export interface VolumeInterval {
  volumeId: string;
  /** Number of the size among the volume's sizes, from 1. */
  ordinal: number;
  sizeGb: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  keyId: string | null;
}

/** An immutable movement of money: credits are positive, charges negative. */
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

/** The rows that steps changed, which the ledger writes together. Steps add to it and never read it. */
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
 * Inputs of a step: the account, its second, and where to record changes. Beginnings take the second from `at`; ends
 * take place at `end`.
 */
export interface Step extends Second {
  account: Account;
  changes: RowChanges;
}

/** State of the machine that a start takes over. */
export interface Takeover {
  /** The end of the machine's last sold second; null if none was sold. */
  soldUntil: Instant | null;
  /** Whether interruptible instances had to yield. */
  preempts: boolean;
}

/** The states in which each action is allowed; any other combination is refused. */
const ALLOWED_FROM: Record<InstanceActionKind, readonly InstanceStatus[]> = {
  START: ['STOPPED'],
  STOP: ['RUNNING'],
  DESTROY: ['RUNNING', 'STOPPED'],
};

/** Refuses with action_failed an action that is not allowed in the status. */
export function checkAllowed(action: InstanceActionKind, status: InstanceStatus): void {
  if (ALLOWED_FROM[action].includes(status)) return;
  throw new DomainError(
    'action_failed',
    `${action.toLowerCase()} is not allowed while the instance is ${status.toLowerCase()}`,
  );
}

/**
 * Whether something is due. What is due at a second happens once that second is over: its credits and actions count
 * first.
 */
export function isDue(account: Pick<Account, 'dueAt' | 'deadlineAt'>, now: Instant): boolean {
  const next = earliest(account.dueAt, account.deadlineAt);
  return next !== null && next < now;
}

/** Returns when credit runs out at the current burn rate, or ran out; null for never. */
export function exhaustsAtOf({ exhaustedAt, dueAt }: Pick<Account, 'exhaustedAt' | 'dueAt'>): Instant | null {
  return exhaustedAt ?? dueAt;
}

/**
 * Returns when its instances are destroyed and its volumes deleted: the end of the current or the next grace period;
 * null if it has neither.
 */
export function diskDeleteAtOf(
  account: Pick<Account, 'exhaustedAt' | 'diskDeleteAt' | 'dueAt' | 'liveInstances' | 'liveVolumes'>,
  grace: bigint,
): Instant | null {
  if (hasNothing(account)) return null;
  const exhaustsAt = exhaustsAtOf(account);
  return account.diskDeleteAt ?? (exhaustsAt === null ? null : exhaustsAt + grace);
}

/** When an instance ends automatically; null for never. */
export type Deadlines = Pick<Instance, 'stopAt' | 'destroyAt'>;

/** Terms of a deploy. */
export interface NewInstance
  extends LockedRates,
    Deadlines,
    Pick<Instance, 'template' | 'diskGb' | 'mode' | 'spendLimit' | 'stopWhenIdle' | 'keyId'>,
    Partial<Pick<Instance, 'volumeGb'>> {
  id: string;
  machine: Pick<Instance, 'hostId' | 'firstGpu' | 'gpu' | 'numGpus' | 'region'> & { id: string };
  takeover: Takeover;
}

/** Creates a running instance with open GPU and disk intervals. */
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

/** Sets, moves or removes when the instance ends automatically. */
export function setDeadlines(step: Step, instance: Instance, { stopAt, destroyAt }: Deadlines): void {
  instance.stopAt = stopAt;
  instance.destroyAt = destroyAt;
  step.changes.updated.add(instance);
  updateDeadline(step, instance);
}

/**
 * Sets the idle minutes. Unlike a deadline, they imply no computable second: whether an instance is idle is observed.
 */
export function setStopWhenIdle({ changes }: Step, instance: Instance, minutes: number | null): void {
  instance.stopWhenIdle = minutes;
  changes.updated.add(instance);
}

/** Updates the account's next deadline with those of an instance. */
export function updateDeadline({ account, changes }: Step, instance: Instance): void {
  account.deadlineAt = earliest(account.deadlineAt, ...endsOf(instance));
  changes.accounts.add(account);
}

export function endsOf(instance: Instance): (Instant | null)[] {
  return [instance.stopAt, instance.destroyAt, instanceLimitAt(instance)];
}

/** Starts an instance. `keyId`: the API key of the request. `volumeGb`: space that its volumes now need on the host. */
export function start(
  step: Step,
  instance: Instance,
  takeover: Takeover,
  keyId: string | null,
  volumeGb = instance.volumeGb,
): void {
  // A deadline in the second in which it starts belonged to the previous run.
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
 * Closes both intervals, and charges an early exit if the reserved term is not over. `reason` is why a running one
 * stops.
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

/** Returns the instant at which a destroy in this second ends the instance. */
export function destroyEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  const from = instance.runningSince ?? instance.stoppedAt ?? instance.createdAt;
  return endOfInstance(step, instance, from, instance.destroyAt);
}

/** Returns the instant at which a stop in this second ends the run. */
export function stopEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  return endOfInstance(step, instance, instance.runningSince!, earliest(instance.stopAt, instance.destroyAt));
}

/**
 * Books a credit (positive) or an adjustment (positive or negative). A balance lifted above zero ends the grace period.
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
 * Suspends the account: its keys are rejected and its instances stopped. `live` are its undestroyed instances. Has no
 * effect if repeated.
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

/** Returns the running instances that count under a monthly limit: for a key those it began, for the account all. */
export function runsOf(limit: LimitedKey | Account, live: readonly Instance[]): Instance[] {
  const isKey = !('creditUnits' in limit);
  return live.filter((instance) => isRunning(instance) && (!isKey || instance.runKeyId === limit.id));
}

export function isRunning({ status }: Instance): boolean {
  return status === 'RUNNING';
}

/** Changes the burn rate, and with it what is due next. */
export function changeBurn(step: Step, difference: Rate, from: Instant, keyId: string | null): void {
  const { account } = step;
  for (const line of linesOf(step, keyId)) changeRate(line, difference, from);
  account.dueAt = nextDue(account);
}

function chargeLines(step: Step, units: Units, at: Instant, keyId: string | null): void {
  for (const line of linesOf(step, keyId)) addCharge(line, units, at);
}

/** Returns the account's line, and that of the charged key if it has a limit. */
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

/** Whether an account has neither disks nor volumes: nothing to bill or erase. */
function hasNothing({ liveInstances, liveVolumes }: Pick<Account, 'liveInstances' | 'liveVolumes'>): boolean {
  return liveInstances === 0 && liveVolumes === 0;
}

/**
 * Opens a GPU interval. A second already sold, even to this instance, is not sold again: the interval begins after it.
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
  const interval = { ...gpuInterval(instance, instance.runningSince!, end), stopReason: reason };
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

function endOfInstance(
  step: Pick<Step, 'account' | 'end'>,
  instance: Instance,
  from: Instant,
  deadline: Instant | null,
): Instant {
  return endOf(step, from, [instance.keyId, instance.runKeyId], earliest(deadline, instanceLimitAt(instance)));
}

/**
 * Returns the end, in this step, of an interval that began at `from`: the end of the step's second, or an earlier event
 * that is due in that second. Nothing is charged after credit ran out, a limit of the account or of one of the keys was
 * reached, or `deadline` has passed.
 */
export function endOf(
  { account, end }: Pick<Step, 'account' | 'end'>,
  from: Instant,
  keyIds: readonly (string | null)[],
  deadline: Instant | null,
): Instant {
  const { limited } = account;
  const limits = limited && [account, ...limited.keys.filter(({ id }) => keyIds.includes(id))];
  const reached = limits?.map((limit) => monthlyLimitAt(limit, runsOf(limit, limited!.live)));
  return latest(from, earliest(end, account.dueAt, deadline, ...(reached ?? []))!);
}

/** Books a charge. Its id is derived from what is charged, so that nothing is charged twice. */
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

/** Returns the interval of a disk, which has only one, from creation to destruction. */
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
