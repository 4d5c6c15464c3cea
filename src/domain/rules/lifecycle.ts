import { type Accrual, addCharge, advance, changeRate, exhaustionOf, type MonthLine } from './accrual.js';
import { DomainError } from './errors.js';
import { type Micro, type Rate, type Units, unitsOfUsage } from './money.js';
import { minimumUnitsAt, minimumUntilOf } from './preemption.js';
import type { LockedRates, PricingMode } from './price-rule.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilFrom } from './reserved.js';
import { instanceLimitAt, type LimitedKey, type MonthlyLimit, monthlyLimitAt } from './spend-limit.js';
import { earliest, type Instant, latest, type Second } from './time.js';

/**
 * The life of an instance and of the account that pays for it; that of a volume is in volume.ts. Unlike all other rules, these steps change the rows they
 * are given and note every change in `RowChanges`; they read nothing else and return nothing but their answer.
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
  /** Volumes that are not deleted. */
  liveVolumes: number;
  deployedInstances: number;
  /** The second credit ran out; null again once a credit lifts the balance above zero. */
  exhaustedAt: Instant | null;
  /** End of the grace period that began at exhaustedAt. */
  diskDeleteAt: Instant | null;
  /** The second at which the next exhaustion or end of grace falls; null when none will. */
  dueAt: Instant | null;
  /** Not after the first second at which a deadline or a limit ends something; may be before it. */
  deadlineAt: Instant | null;
  /** How many of its keys have a monthly limit. */
  limitedKeys: number;
  /** Of an account with a monthly limit, or a key with one: what is needed to know when it is reached. */
  limited?: Limited;
}

export interface Limited {
  keys: LimitedKey[];
  /** The account's undestroyed instances. */
  live: Instance[];
}

/** What is changed by steps needs `limited` first. */
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
  /** The host of the machine, and the place of the first of its GPUs there. */
  hostId: string;
  firstGpu: number;
  status: InstanceStatus;
  gpu: string;
  numGpus: number;
  region: string;
  template: string;
  diskGb: number;
  /** GB of the host's disk that its volumes take, beside diskGb. */
  volumeGb: number;
  mode: PricingMode;
  gpuRate: Rate;
  diskRate: Rate;
  onDemandRate: Rate;
  createdAt: Instant;
  /** Up to a second ahead of the clock: a start within a second that is sold begins after it. */
  runningSince: Instant | null;
  /** The end of the second it stopped in. */
  stoppedAt: Instant | null;
  destroyedAt: Instant | null;
  /** It stops at this second, if it runs then; null again once that is over. */
  stopAt: Instant | null;
  destroyAt: Instant | null;
  /** What it may cost; null for no limit. */
  spendLimit: Micro | null;
  /** When that was reached; null again once the limit is changed. */
  limitReachedAt: Instant | null;
  /** Minutes without load and connections after which it stops; null: it does not. */
  stopWhenIdle: number | null;
  /** The API keys that deployed it, and that began its last run; null for the operator. */
  keyId: string | null;
  runKeyId: string | null;
  stopReason: StopReason | null;
  gpuSeconds: bigint;
  gpuIntervals: number;
  reservedUntil: Instant | null;
  earlyExitUnits: Units;
  /** While it runs after it sent another instance away: its GPU seconds are paid for until then, whatever ends it. */
  minimumUntil: Instant | null;
  /** What the rests of such minimums came to. */
  minimumUnits: Units;
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
  /** The instance's, when the interval began. */
  minimumUntil: Instant | null;
  /** The API key that began it, whose limit counts it. */
  keyId: string | null;
  /** Why it ended; null while it is open, and where an earlier version ended it. */
  stopReason: StopReason | null;
}

/** An account's own disk. What is charged follows from its sizes, one interval each. */
export interface Volume {
  id: string;
  accountId: string;
  name: string;
  sizeGb: number;
  /** Locked when it was created, per GB. */
  gbRate: Rate;
  /** The API key that created it; null for the operator. */
  keyId: string | null;
  createdAt: Instant;
  /** The end of the second it was deleted in. */
  deletedAt: Instant | null;
  deleteReason: StopReason | null;
  /** Number and begin of the interval of its present size, and the API key that began it, whose limit counts it. */
  sizes: number;
  sizedAt: Instant;
  sizeKeyId: string | null;
}

/** A volume that begins, with what opens its repository, sealed: `\x` and hexadecimal digits. */
export interface NewVolume extends Volume {
  sealedPassword: string;
  sealingKeyId: string;
  /** The volume whose repository it begins as, and the snapshot of that which it starts from; null for an empty one. */
  copyOf: string | null;
  headSnapshotId: string | null;
}

/** Seconds [startedAt, endedAt) of a volume at one size; endedAt is null while it is open. */
export interface VolumeInterval {
  volumeId: string;
  /** Counts the volume's sizes from 1. */
  ordinal: number;
  sizeGb: number;
  rate: Rate;
  startedAt: Instant;
  endedAt: Instant | null;
  keyId: string | null;
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
 * What a step needs: the account, the second it happens in, and where it notes its changes. What begins takes the
 * second from `at`; what ends does so at `end`.
 */
export interface Step extends Second {
  account: Account;
  changes: RowChanges;
}

/** What a start takes over of its machine. */
export interface Takeover {
  /** The end of the last second that was sold of the machine; null when none was. */
  soldUntil: Instant | null;
  /** Interruptible instances had to leave. */
  preempts: boolean;
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

/** False: nothing is due. What falls due at a second happens once that second is over: its credits and actions count first. */
export function isDue(account: Pick<Account, 'dueAt' | 'deadlineAt'>, now: Instant): boolean {
  const next = earliest(account.dueAt, account.deadlineAt);
  return next !== null && next < now;
}

/** When credit runs out at the present burn, or ran out; null when it never will. */
export function exhaustsAtOf({ exhaustedAt, dueAt }: Pick<Account, 'exhaustedAt' | 'dueAt'>): Instant | null {
  return exhaustedAt ?? dueAt;
}

/**
 * When its instances are destroyed and its volumes deleted: the end of the present grace period, or of the one to come;
 * null when there are none.
 */
export function diskDeleteAtOf(
  account: Pick<Account, 'exhaustedAt' | 'diskDeleteAt' | 'dueAt' | 'liveInstances' | 'liveVolumes'>,
  grace: bigint,
): Instant | null {
  if (hasNothing(account)) return null;
  const exhaustsAt = exhaustsAtOf(account);
  return account.diskDeleteAt ?? (exhaustsAt === null ? null : exhaustsAt + grace);
}

/** When an instance ends by itself; null for never. */
export type Deadlines = Pick<Instance, 'stopAt' | 'destroyAt'>;

/** What an instance is deployed with. */
export interface NewInstance
  extends LockedRates,
    Deadlines,
    Pick<Instance, 'template' | 'diskGb' | 'mode' | 'spendLimit' | 'stopWhenIdle' | 'keyId'>,
    Partial<Pick<Instance, 'volumeGb'>> {
  id: string;
  machine: Pick<Instance, 'hostId' | 'firstGpu' | 'gpu' | 'numGpus' | 'region'> & { id: string };
  takeover: Takeover;
}

/** A new instance begins: running, its GPU and disk intervals open. */
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

/** Moves, sets or takes away when the instance ends by itself. */
export function setDeadlines(step: Step, instance: Instance, { stopAt, destroyAt }: Deadlines): void {
  instance.stopAt = stopAt;
  instance.destroyAt = destroyAt;
  step.changes.updated.add(instance);
  noteEnds(step, instance);
}

/** Unlike a deadline it changes no second that can be computed: whether an instance is idle is observed. */
export function setStopWhenIdle({ changes }: Step, instance: Instance, minutes: number | null): void {
  instance.stopWhenIdle = minutes;
  changes.updated.add(instance);
}

/** An instance ends by itself at its deadlines and its limit. */
export function noteEnds({ account, changes }: Step, instance: Instance): void {
  account.deadlineAt = earliest(account.deadlineAt, ...endsOf(instance));
  changes.accounts.add(account);
}

export function endsOf(instance: Instance): (Instant | null)[] {
  return [instance.stopAt, instance.destroyAt, instanceLimitAt(instance)];
}

/** `keyId`: the API key that starts it. `volumeGb`: what its volumes take of the host from now on. */
export function start(
  step: Step,
  instance: Instance,
  takeover: Takeover,
  keyId: string | null,
  volumeGb = instance.volumeGb,
): void {
  // A deadline in the second it starts in was for the time before.
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
 * Closes both intervals and charges an early exit where the reserved term is not over. `reason` is why a running one
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

/** The instant at which a destroy in this second ends the instance. */
export function destroyEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  const from = instance.runningSince ?? instance.stoppedAt ?? instance.createdAt;
  return endOfInstance(step, instance, from, instance.destroyAt);
}

/** The instant at which a stop in this second ends the run. */
export function stopEndOf(step: Pick<Step, 'account' | 'end'>, instance: Instance): Instant {
  return endOfInstance(step, instance, instance.runningSince!, earliest(instance.stopAt, instance.destroyAt));
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
  changeBurn(step, 0n, at, null);
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

/** What runs under a monthly limit: of a key what it began, of the account everything. */
export function runsOf(limit: LimitedKey | Account, live: readonly Instance[]): Instance[] {
  const isKey = !('creditUnits' in limit);
  return live.filter((instance) => isRunning(instance) && (!isKey || instance.runKeyId === limit.id));
}

export function isRunning({ status }: Instance): boolean {
  return status === 'RUNNING';
}

/** A change of burn, credit or state changes what is due next. */
export function changeBurn(step: Step, difference: Rate, from: Instant, keyId: string | null): void {
  const { account } = step;
  for (const line of linesOf(step, keyId)) changeRate(line, difference, from);
  account.dueAt = nextDue(account);
}

function chargeLines(step: Step, units: Units, at: Instant, keyId: string | null): void {
  for (const line of linesOf(step, keyId)) addCharge(line, units, at);
}

/** The account's line, and that of the key which begins what is charged, where it has a limit. */
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

/** No disk and no volume: nothing that could be billed or erased. */
function hasNothing({ liveInstances, liveVolumes }: Pick<Account, 'liveInstances' | 'liveVolumes'>): boolean {
  return liveInstances === 0 && liveVolumes === 0;
}

/** Of a second that is sold, to this instance too, nothing is sold again: the interval begins after it. */
function openGpu(step: Step, instance: Instance, { soldUntil, preempts }: Takeover): void {
  const from = latest(step.at, soldUntil ?? step.at);
  instance.gpuIntervals += 1;
  instance.reservedUntil = reservedUntilFrom(instance, from);
  instance.runningSince = from;
  instance.minimumUntil = minimumUntilOf(from, preempts);
  step.changes.opened.push(gpuInterval(instance, from, null));
  changeBurn(step, instance.gpuRate, from, instance.runKeyId);
  noteEnds(step, instance);
}

/** Returns the instant at which the interval ends. */
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
 * Where a step ends what began at `from`: with its second, but never later than what is due in that second, so that
 * nothing is charged after credit ran out, a limit of the account or of one of the keys was reached, or after `deadline`.
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

/** The id is derived from what is charged, so that nothing is charged twice. */
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

/** A disk has one interval, from creation to destruction. */
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
