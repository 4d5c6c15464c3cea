import type { Prisma } from '../../database/database.js';
import { isUnavailable } from '../../database/faults.js';
import { StaleReadError, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps, SettlingDeps } from '../billing/deps.js';
import {
  type IdempotentRequest,
  idempotentRequest,
  recall,
  retryWhileInUse,
  storedResponse,
  storeResponse,
} from '../billing/idempotency.js';
import { type Scope, type Write, write } from '../billing/ledger.js';
import type { MachineUnderLock } from '../billing/ledger-rows.js';
import { settleDue, settledAccount } from '../billing/settlement.js';
import {
  type AddedSpend,
  admitAccount,
  admitMachine,
  type Claim,
  checkLimits,
  checkMaxRate,
  type InstanceOnMachine,
} from '../kernel/admission.js';
import { checkCover } from '../kernel/cover.js';
import { type DeadlineTexts, deadlinesOf } from '../kernel/deadline.js';
import type { KernelDeps } from '../kernel/deps.js';
import { checkGrownVolumes } from '../kernel/disk.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional, limitOf, priceLimit } from '../kernel/field.js';
import { commonFields } from '../kernel/fields.js';
import { claim } from '../kernel/free-machine.js';
import { checkIdleWatch } from '../kernel/idle.js';
import { MAX_LIVE_INSTANCES } from '../kernel/instance-limit.js';
import { checkAgent, type Launch } from '../kernel/launch.js';
import * as lifecycle from '../kernel/lifecycle.js';
import {
  type Account,
  checkAllowed,
  destroy,
  destroyEndOf,
  INSTANCE_ID,
  type Instance,
  type InstanceActionKind,
  isRunning,
  type Labels,
  type StopReason,
  setDeadlines,
  start,
  stop,
  stopEndOf,
  type Takeover,
} from '../kernel/lifecycle.js';
import type { Micro, Rate } from '../kernel/money.js';
import { minimumUntilOf } from '../kernel/preemption.js';
import type { PricingMode } from '../kernel/price-rule.js';
import { randomId } from '../kernel/random-id.js';
import { checkInstanceSpendLimit, newLimited } from '../kernel/spend-limit.js';
import { type Instant, latest } from '../kernel/time.js';
import { checkSecrets } from '../secrets/secrets.js';
import { attachedTo, readVolumes } from '../volumes/attachments.js';
import { type LockedVolume, lockVolumes, takeLeases, totalGb } from '../volumes/leases.js';
import { checkSupportsVolumes, type VolumeAtPath } from '../volumes/rules/volume-attachment.js';
import { readWith } from './as-of.js';
import { beginContainer, beginContainerStart, watchIdle } from './containers.js';
import { type DeadlinesInput, readDeadlines } from './deadlines.js';
import type { InstanceDeps } from './deps.js';
import { instanceFields } from './fields.js';
import { fromJson, fromRow, type InstanceRow, toJson, toRow } from './instance-row.js';
import { selectorOf } from './label-selector.js';
import { checkLaunchOfStart, type LaunchInput, readLaunch, storeLaunch } from './launch.js';
import { checkEarlyExit } from './rules/early-exit.js';
import { hasLabels } from './rules/labels.js';
import { earlyExitCostAt, termEndAt, type Usage, usageAt } from './rules/usage.js';
import { reserveTcpPorts, storeTcpPorts } from './tcp-ports.js';
import { checkTemplate, generateTokensFor, type TemplateInUse, templateInUse } from './template-terms.js';

export type { InstanceRow, Usage };

/** Number of random bytes in an instance id, which is `i-` followed by 8 hex characters. */
const INSTANCE_ID_BYTES = 4;
const MAX_LISTED_INSTANCES = 10_000;
const NO_DEADLINES: DeadlineTexts = { stopAt: null, destroyAt: null };

/** The terms of a rental, as given by the caller. */
export interface TermsInput extends DeadlinesInput {
  template?: string | null;
  diskGb?: number | null;
  mode?: PricingMode | null;
  launch?: LaunchInput | null;
  /** The instance's maximum total cost, in USD. */
  spendLimit?: number | null;
  /** Number of idle minutes after which the instance stops. */
  stopWhenIdle?: number | null;
  volumes?: readonly VolumeAtPath[] | null;
  labels?: Labels | null;
  idempotencyKey?: string | null;
}

export interface DeployInput extends TermsInput {
  machineId: string;
  /**
   * Maximum price of the whole machine in the chosen mode, in USD per hour. The rental is rejected if the price is
   * higher.
   */
  maxPricePerHour?: number | null;
}

/** The validated terms of a rental. */
export interface RentalTerms {
  template: string;
  diskGb: number;
  mode: PricingMode;
  /** If omitted, only the template's settings apply. */
  launch?: Launch | undefined;
  deadlines?: DeadlineTexts | undefined;
  /** If omitted, there is no spend limit. */
  spendLimit?: Micro | undefined;
  /** If omitted, the instance never stops because it is idle. */
  stopWhenIdle?: number | undefined;
  /** If omitted, no volumes are attached. */
  volumes?: readonly VolumeAtPath[] | undefined;
  /** If omitted, the instance has no labels. */
  labels?: Labels | undefined;
  /** The API key that made the request, or null for the operator. */
  keyId: string | null;
  /** Maximum acceptable rate for the whole machine in the chosen mode. */
  maxRate: Rate | null;
  /**
   * Whether the machine was picked because it matched the request. If it no longer matches, another machine can be
   * picked.
   */
  isPicked?: boolean;
  /** An instance stopped by the same write, whose volumes the new instance can take over. */
  stopping?: string | undefined;
  inUse: TemplateInUse;
}

export interface ActionInput {
  id: string;
  action: InstanceActionKind;
  idempotencyKey?: string | null;
}

/**
 * The instance after the change. `replayed` means that it was taken from the response stored for an earlier identical
 * request.
 */
export interface Outcome {
  instance: InstanceRow;
  replayed: boolean;
}

/**
 * Returns the account's running and stopped instances, newest first. With `labels`, a selector, only those that have the
 * labels. Throws invalid_request if it isn't a selector.
 */
export async function activeInstances(
  deps: SettlingDeps,
  accountId: string,
  query: Pick<Prisma.InstanceFindManyArgs, 'include' | 'select'> = {},
  labels?: string | null,
): Promise<InstanceRow[]> {
  const selector = selectorOf(labels);
  const account = await settledAccount(deps, accountId);
  // Clients poll the plain list, which costs half as much to read without Prisma.
  const isPlain = !('include' in query) && !('select' in query);
  const live = isPlain || selector !== null ? await deps.accountLoader.liveInstances(accountId) : [];
  const matching = selector === null ? live : live.filter((instance) => hasLabels(instance.labels, selector));
  if (isPlain) return matching.map((each) => readWith(account, toRow(each)));
  const rows = await deps.db.prisma.instance.findMany({
    ...query,
    where: {
      accountId,
      status: { not: 'DESTROYED' },
      ...(selector !== null && { id: { in: matching.map(({ id }) => id) } }),
    },
    orderBy: { sequence: 'desc' },
    take: MAX_LIVE_INSTANCES,
  });
  return rows.map((row) => readWith(account, row));
}

/**
 * Returns up to 10,000 settled live instances, newest first, of one account or of all accounts. Used by operator
 * commands.
 */
export async function listInstances(deps: SettlingDeps, accountId: string | null): Promise<InstanceRow[]> {
  if (accountId !== null) await settledAccount(deps, accountId);
  else while ((await settleDue(deps)) > 0);
  return deps.db.prisma.instance.findMany({
    where: { status: { not: 'DESTROYED' }, ...(accountId !== null && { accountId }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: MAX_LISTED_INSTANCES,
  });
}

/**
 * Returns an instance, or null if the account has no such instance. Another account's instance is indistinguishable
 * from one that doesn't exist.
 */
export async function findInstance(
  deps: SettlingDeps,
  accountId: string,
  id: string,
  query: Pick<Prisma.InstanceFindFirstArgs, 'include' | 'select'> = {},
): Promise<InstanceRow | null> {
  // `query` is read first, even if it turns out not to be needed, because Pothos warns about an unread query.
  const wanted = { ...query, where: { id, accountId } };
  if (!INSTANCE_ID.test(id)) return null;
  const account = await settledAccount(deps, accountId);
  const row = await deps.db.prisma.instance.findFirst(wanted);
  return row && readWith(account, row);
}

/**
 * Returns the current state of the instance that a request with this idempotency key rented or acted on. Returns null
 * if no such request was carried out within the last 24 hours. A client can use this to recover from a lost response.
 * Throws invalid_request or idempotency_in_progress.
 */
export async function instanceByIdempotencyKey(
  deps: SettlingDeps,
  accountId: string,
  idempotencyKey: string,
  query: Pick<Prisma.InstanceFindFirstArgs, 'include' | 'select'> = {},
): Promise<InstanceRow | null> {
  const key = check('idempotencyKey', commonFields.idempotencyKey, idempotencyKey);
  const response = (await storedResponse(deps, accountId, key)) as { id?: unknown } | undefined;
  // Responses to other operations are stored too, but the ids in them aren't instance ids.
  return findInstance(deps, accountId, String(response?.id), query);
}

/**
 * Rents a machine. `keyId` is the API key whose monthly limit applies to the rental. Throws missing_machine,
 * invalid_request or deploy_failed.
 */
export function deploy(
  deps: LedgerDeps & Pick<InstanceDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: DeployInput,
  keyId: string | null = null,
): Promise<Outcome> {
  return countOutcome(deps, () => deployMachine(deps, accountId, input, keyId));
}

async function deployMachine(
  deps: LedgerDeps & Pick<InstanceDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: DeployInput,
  keyId: string | null,
): Promise<Outcome> {
  const wanted = { ...checkDeploy(input), keyId };
  const { machineId, template, diskGb, mode, maxRate, launch, deadlines } = wanted;
  const others = [maxRate ?? undefined, launch, deadlines].filter((each) => each !== undefined);
  const optional = Object.entries(optionalTerms(wanted)).map(([name, value]) => ({ [name]: value }));
  const what = [machineId, template, diskGb, mode, ...others, ...optional];
  const request = idempotentRequest(accountId, wanted.idempotencyKey, 'deploy', what);
  const inUse = await templateInUse(deps, template, launch);
  return writeOnce(deps, { accountIds: [accountId], machineId }, request, (current) => {
    const account = activeAccount(current, accountId);
    checkEnds(wanted, current.at);
    if (current.machine === undefined) throw unknownMachine(machineId);
    return rent(deps, current, account, current.machine, { ...wanted, inUse });
  });
}

/**
 * Returns the given optional terms for a request's fingerprint. Omits the others, because a request without them must
 * keep its fingerprint, which is stored with earlier responses.
 */
export function optionalTerms({
  spendLimit,
  stopWhenIdle,
  volumes,
  labels,
}: Omit<RentalTerms, 'keyId' | 'maxRate' | 'inUse'>) {
  return {
    ...(spendLimit !== undefined && { spendLimit: `${spendLimit}` }),
    ...(stopWhenIdle !== undefined && { stopWhenIdle }),
    ...(volumes !== undefined && { volumes }),
    ...(labels !== undefined && { labels }),
  };
}

/**
 * Throws if a deadline is invalid. Called before searching for a machine, because invalid input must be reported first.
 */
export function checkEnds({ deadlines, mode }: Pick<RentalTerms, 'deadlines' | 'mode'>, at: Instant): void {
  if (deadlines !== undefined) deadlinesOf(deadlines, mode, at);
}

/** Rents the locked machine, no matter how it was chosen. */
export async function rent(
  deps: Pick<InstanceDeps, 'settings' | 'fleet'>,
  current: Write,
  account: Account,
  machine: MachineUnderLock,
  wanted: RentalTerms,
): Promise<Instance> {
  const { template, diskGb, mode, launch, deadlines = NO_DEADLINES, maxRate, isPicked = false, keyId } = wanted;
  const { inUse } = wanted;
  const { spendLimit = null, stopWhenIdle = null, volumes: atPaths = [], labels = null, stopping = null } = wanted;
  const { diskRatePerGb, coverSeconds } = deps.settings;
  const ends = deadlinesOf(deadlines, mode, current.at);
  checkTemplate(inUse, launch);
  checkAgent(machine, launch ?? {}, 'deploy_failed');
  checkIdleWatch(machine, stopWhenIdle);
  if (atPaths.length > 0) checkSupportsVolumes(machine, 'deploy_failed');
  const requested = { accountId: account.id, volumes: atPaths, stopping };
  const volumes = await lockVolumes(current, deps, requested, 'deploy_failed');
  const volumeGb = totalGb(volumes);
  const claimed = admitMachine(machine, { mode, diskGb, volumeGb }, diskRatePerGb);
  // If the rate is now too high, a new price was published after the machine was picked.
  if (isPicked && maxRate !== null && claimed.gpuRate > maxRate) throw new StaleReadError();
  checkMaxRate(machine.id, claimed.gpuRate, maxRate);
  admitAccount(account, current.at, claimed, coverSeconds);
  checkSpendLimits(account, current.at, { ...claimed, keyId, spendLimit });
  if (launch !== undefined) await checkSecrets(current.transaction, account.id, launch, template, 'deploy_failed');
  const tcpPorts = machine.hasHost ? await reserveTcpPorts(current, deps, account.id, launch ?? {}) : [];
  const { preempted, ...rates } = claimed;
  const takeover = takeOver(current, machine, preempted);
  const id = randomId('i', INSTANCE_ID_BYTES);
  const own = { template, diskGb, volumeGb, mode, spendLimit, stopWhenIdle, labels, keyId };
  const terms = { id, machine, takeover, ...own, ...ends, ...rates };
  const instance = lifecycle.deploy(current.step(account), terms);
  if (launch !== undefined) storeLaunch(current, instance, launch);
  if (launch !== undefined) storeTcpPorts(current, instance, launch, tcpPorts);
  generateTokensFor(current, machine, instance, inUse, launch);
  if (machine.hasHost) beginContainer(current, instance, launch);
  if (stopWhenIdle !== null) watchIdle(current, instance);
  takeLeases(current, instance, machine.hasHost, volumes);
  return instance;
}

/** Throws deploy_failed if the rental would exceed its own spend limit, its key's limit or its account's limit. */
export function checkSpendLimits(
  account: Account,
  at: Instant,
  terms: Pick<Claim<InstanceOnMachine>, 'gpuRate' | 'diskRate' | 'preempted'> & Pick<Instance, 'keyId' | 'spendLimit'>,
): void {
  const minimumUntil = minimumUntilOf(at, terms.preempted.length > 0);
  checkInstanceSpendLimit(newLimited({ ...terms, minimumUntil }, at), at, 'deploy_failed');
  checkLimits(account, at, { ...terms, addedRate: terms.gpuRate + terms.diskRate }, 'deploy_failed');
}

/** Starts, stops or destroys one of the account's instances. Throws not_found or action_failed. */
export async function act(
  deps: LedgerDeps & Pick<InstanceDeps, 'fleet'>,
  accountId: string,
  input: ActionInput,
  keyId: string | null = null,
): Promise<Outcome> {
  const key = checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey);
  if (!INSTANCE_ID.test(input.id)) throw notFound();
  const request = idempotentRequest(accountId, key, 'action', [input.id, input.action]);
  const scope: Scope = { accountIds: [accountId], instanceId: input.id };
  if (input.action === 'START') scope.machineId = await machineOf(deps, accountId, input.id);
  return writeOnce(deps, scope, request, async (current) => {
    const account = activeAccount(current, accountId);
    const { transaction, machine } = current;
    const instance = current.instance(input.id);
    const isStart = input.action === 'START' && machine !== undefined && instance?.accountId === accountId;
    if (isStart) await checkLaunchOfStart(transaction, machine, instance);
    const volumes =
      isStart && instance.status === 'STOPPED' ? await volumesOfStart(deps, current, machine, instance) : [];
    return actOn(deps, current, account, { ...input, reason: 'USER', keyId, volumes });
  });
}

/**
 * Sets when an instance is stopped or destroyed automatically. Omitted deadlines stay unchanged, and null removes a
 * deadline. Throws invalid_request, not_found, or action_failed if the instance is destroyed.
 */
export async function changeDeadlines(
  deps: LedgerDeps,
  accountId: string,
  id: string,
  input: DeadlinesInput,
): Promise<InstanceRow> {
  const texts = readDeadlines(input) ?? NO_DEADLINES;
  if (!INSTANCE_ID.test(id)) throw notFound();
  return write(deps, { accountIds: [accountId], instanceId: id }, (current) => {
    const account = activeAccount(current, accountId);
    const instance = current.instance(id);
    const { stopAt, destroyAt } = deadlinesOf(texts, instance?.mode ?? 'ON_DEMAND', current.at);
    if (instance === undefined) throw notFound();
    if (instance.status === 'DESTROYED')
      throw new DomainError('action_failed', "a destroyed instance can't have deadlines");
    setDeadlines(current.step(account), instance, {
      stopAt: input.stopAt === undefined ? instance.stopAt : stopAt,
      destroyAt: input.destroyAt === undefined ? instance.destroyAt : destroyAt,
    });
    return readWith(account, toRow(instance));
  });
}

/**
 * Stops or destroys an instance on behalf of the operator, regardless of the account's balance. Throws not_found or
 * action_failed.
 */
export async function operatorAct(deps: LedgerDeps, id: string, action: 'STOP' | 'DESTROY'): Promise<InstanceRow> {
  const found = INSTANCE_ID.test(id) ? await deps.db.prisma.instance.findUnique({ where: { id } }) : null;
  if (found === null) throw notFound();
  const scope: Scope = { accountIds: [found.accountId], instanceId: id };
  return write(deps, scope, (current) => {
    const account = current.lockedAccount(found.accountId);
    return toRow(actOn(deps, current, account, { id, action, reason: 'OPERATOR', keyId: null, volumes: [] }));
  });
}

function actOn(
  deps: Pick<KernelDeps, 'settings'>,
  current: Write,
  account: Account,
  wanted: {
    id: string;
    action: InstanceActionKind;
    reason: StopReason;
    keyId: string | null;
    /** The volumes to attach if the action starts the instance. */
    volumes: readonly LockedVolume[];
  },
): Instance {
  const { id, action, reason, keyId, volumes } = wanted;
  const instance = current.instance(id);
  if (instance === undefined || instance.accountId !== account.id) throw notFound();
  checkAllowed(action, instance.status);
  const step = current.step(account);
  switch (action) {
    case 'STOP':
      stop(step, instance, reason);
      break;
    case 'DESTROY':
      // The operator can destroy an instance even if the balance doesn't cover the early exit.
      if (reason === 'USER')
        checkEarlyExit(
          account,
          instance,
          isRunning(instance) ? stopEndOf(step, instance) : destroyEndOf(step, instance),
        );
      destroy(step, instance, reason);
      break;
    case 'START': {
      const machine = required(current.machine, 'machine of an instance');
      const preempted = claim(machine, instance.mode, 'action_failed');
      checkGrownVolumes(machine, instance, totalGb(volumes));
      const { coverSeconds } = deps.settings;
      checkCover(account, current.at, { addedRate: instance.gpuRate, preempted, coverSeconds }, 'action_failed');
      checkStartLimits(account, instance, current.at, { keyId, preempted });
      start(step, instance, takeOver(current, machine, preempted), keyId, totalGb(volumes));
      if (machine.hasHost) beginContainerStart(current, instance);
      takeLeases(current, instance, machine.hasHost, volumes);
    }
  }
  return instance;
}

/**
 * Locks and returns the volumes needed to start an instance. Throws action_failed if a volume is deleted, in use or
 * unavailable on this host.
 */
async function volumesOfStart(
  deps: Pick<InstanceDeps, 'fleet'>,
  current: Write,
  machine: MachineUnderLock,
  instance: Instance,
): Promise<LockedVolume[]> {
  const volumes = await attachedTo(current.transaction, instance);
  if (volumes.length > 0) checkSupportsVolumes(machine, 'action_failed');
  return lockVolumes(current, deps, { accountId: instance.accountId, volumes }, 'action_failed');
}

/** Throws action_failed if the start would exceed a limit on the instance, the key or the account. */
export function checkStartLimits(
  account: Account,
  instance: Instance,
  now: Instant,
  { keyId, preempted }: Pick<AddedSpend, 'keyId' | 'preempted'>,
): void {
  const at = latest(now, instance.stoppedAt ?? now);
  const minimumUntil = minimumUntilOf(at, preempted.length > 0);
  checkInstanceSpendLimit({ ...instance, runningSince: at, minimumUntil }, at, 'action_failed');
  const { gpuRate } = instance;
  checkLimits(account, now, { keyId, gpuRate, addedRate: gpuRate, preempted }, 'action_failed');
}

/** Returns the instance's usage and cost up to `now`. */
export function usageOf(row: InstanceRow, now: Instant): Usage {
  return usageAt(fromRow(row), now);
}

/** Returns when the reserved term ends, as of `now`, or null in other modes. */
export function reservedUntilOf(row: InstanceRow, now: Instant): Instant | null {
  return termEndAt(fromRow(row), now);
}

/** Returns the cost of destroying the instance now, on top of its usage. */
export function earlyExitCostOf(row: InstanceRow, now: Instant): Micro {
  return earlyExitCostAt(fromRow(row), now);
}

function checkDeploy(input: DeployInput) {
  if (input.machineId === '') throw new DomainError('missing_machine', 'machineId is required', { field: 'machineId' });
  return {
    machineId: check('machineId', instanceFields.machineId, input.machineId),
    maxRate: priceLimit(checkOptional('maxPricePerHour', instanceFields.maxPricePerHour, input.maxPricePerHour)),
    ...checkTerms(input),
  };
}

export function checkTerms(input: TermsInput) {
  const mode = checkOptional<PricingMode>('mode', instanceFields.mode, input.mode);
  return {
    template: checkOptional('template', instanceFields.template, input.template),
    diskGb: checkOptional('diskGb', instanceFields.diskGb, input.diskGb),
    mode,
    launch: readLaunch(input.launch, mode),
    deadlines: readDeadlines(input),
    spendLimit: limitOf(checkOptional('spendLimit', instanceFields.spendLimit, input.spendLimit)) ?? undefined,
    stopWhenIdle: checkOptional('stopWhenIdle', instanceFields.stopWhenIdle, input.stopWhenIdle),
    volumes: readVolumes(input.volumes),
    labels: checkOptional('labels', instanceFields.labels, input.labels),
    idempotencyKey: checkOptional('idempotencyKey', commonFields.idempotencyKey, input.idempotencyKey),
  };
}

/**
 * Stops the preempted instances in the same second. The stops are written before the new instance, because the database
 * allows only one running instance per GPU.
 */
function takeOver(current: Write, { soldUntil }: MachineUnderLock, preempted: readonly Instance[]): Takeover {
  for (const holder of preempted) stop(current.step(current.lockedAccount(holder.accountId)), holder, 'PREEMPTED');
  if (preempted.length > 0) current.flush();
  const stops = preempted.map(({ stoppedAt }) => required(stoppedAt, 'end of a preempted run'));
  return { soldUntil: stops.length === 0 ? soldUntil : latest(soldUntil ?? 0n, ...stops), preempts: stops.length > 0 };
}

export async function writeOnce(
  deps: LedgerDeps,
  scope: Scope,
  request: IdempotentRequest | null,
  decide: (current: Write) => Promise<Instance> | Instance,
): Promise<Outcome> {
  if (request === null) {
    return write(deps, scope, async (current) => outcomeOf(current, await decide(current)));
  }
  const decideAndKeep = async (current: Write): Promise<Outcome> => {
    const instance = await decide(current);
    storeResponse(current.transaction, request, toJson(instance), current.at);
    return outcomeOf(current, instance);
  };
  const repeat = async (transaction: Transaction): Promise<Outcome | undefined> => {
    const kept = await recall(transaction, request, deps.clock.now());
    return kept === undefined ? undefined : { instance: toRow(fromJson(kept)), replayed: true };
  };
  return retryWhileInUse(() => write(deps, scope, decideAndKeep, repeat));
}

function outcomeOf(current: Write, instance: Instance): Outcome {
  return { instance: readWith(current.lockedAccount(instance.accountId), toRow(instance)), replayed: false };
}

/** Runs a deploy and counts its outcome. */
export async function countOutcome(
  { events }: Pick<InstanceDeps, 'events'>,
  deploy: () => Promise<Outcome>,
): Promise<Outcome> {
  try {
    const outcome = await deploy();
    events.deploy(outcome.replayed ? 'replayed' : 'rented');
    return outcome;
  } catch (error) {
    events.deploy(refusalOf(error));
    throw error;
  }
}

function refusalOf(error: unknown): string {
  if (error instanceof DomainError) return error.reason ?? error.code;
  return isUnavailable(error) ? 'unavailable' : 'internal';
}

export function unknownMachine(id: string): DomainError {
  return new DomainError('deploy_failed', `machine ${id} is not on offer`, { reason: 'unknown_machine' });
}

/** Returns the id of an instance's machine. The id never changes, so it can be read before anything is locked. */
async function machineOf(deps: Pick<KernelDeps, 'db'>, accountId: string, id: string): Promise<string> {
  const row = await deps.db.prisma.instance.findFirst({ where: { id, accountId }, select: { machineId: true } });
  if (row === null) throw notFound();
  return row.machineId;
}

export function notFound(): DomainError {
  return new DomainError('not_found', 'no such instance');
}
