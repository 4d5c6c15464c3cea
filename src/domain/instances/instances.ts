import type { Prisma } from '../../database/database.js';
import { StaleReadError, type Transaction } from '../../database/transaction.js';
import { type IdempotentRequest, idempotentRequest, onceFree, recall, remember } from '../billing/idempotency.js';
import { type Scope, type Write, write } from '../billing/ledger.js';
import type { MachineUnderLock } from '../billing/ledger-rows.js';
import { settleDue, settled } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { check, checkOptional, fields } from '../fields.js';
import { randomId } from '../random-id.js';
import { balanceAt, balanceUnitsAt } from '../rules/accrual.js';
import { DomainError, type ErrorCode } from '../rules/errors.js';
import {
  type Account,
  begin,
  destroy,
  type Instance,
  type InstanceActionKind,
  isAllowed,
  MAX_LIVE_INSTANCES,
  type StopReason,
  start,
  stop,
} from '../rules/lifecycle.js';
import { formatUsd, type Micro, type Rate, shownSpend, type Units, unitsOfUsage } from '../rules/money.js';
import { type PricingMode, rateInMode } from '../rules/price-rule.js';
import { earlyExitUnitsAt, gpuSecondsAt, reservedUntilAt } from '../rules/reserved.js';
import { type Instant, latest } from '../rules/time.js';
import { fromJson, fromRow, type InstanceRow, toJson, toRow } from './instance-row.js';

/** `i-` and 8 hex characters (contract section 2.3). */
const INSTANCE_ID = /^i-[a-f0-9]{8}$/;
const INSTANCE_ID_BYTES = 4;
const LISTED_INSTANCES = 10_000;

/** What every rental is asked with. */
export interface TermsInput {
  template?: string | null;
  diskGb?: number | null;
  mode?: PricingMode | null;
  idempotencyKey?: string | null;
}

export interface DeployInput extends TermsInput {
  machineId: string;
}

/** The checked terms. */
interface RentalTerms {
  template: string;
  diskGb: number;
  mode: PricingMode;
  /** The rate of the whole machine in the mode, at most. */
  maxRate?: Rate | null;
}

export interface ActionInput {
  id: string;
  action: InstanceActionKind;
  idempotencyKey?: string | null;
}

/** The instance after the change; `replayed` when it is the kept answer of an earlier, same request. */
export interface Outcome {
  instance: InstanceRow;
  replayed: boolean;
}

/** The account's running and stopped instances, newest first. */
export async function activeInstances(
  deps: Deps,
  accountId: string,
  query: Pick<Prisma.InstanceFindManyArgs, 'include' | 'select'> = {},
): Promise<InstanceRow[]> {
  await settled(deps, accountId);
  // The list alone, as it is polled, costs half of what Prisma takes for it.
  if (!('include' in query) && !('select' in query))
    return (await deps.accountLoader.liveInstances(accountId)).map(toRow);
  return deps.db.prisma.instance.findMany({
    ...query,
    where: { accountId, status: { not: 'DESTROYED' } },
    orderBy: { sequence: 'desc' },
    take: MAX_LIVE_INSTANCES,
  });
}

/** For the operator: undestroyed instances of one account or of all, settled, newest first; at most 10,000. */
export async function listInstances(deps: Deps, accountId: string | null): Promise<InstanceRow[]> {
  if (accountId !== null) await settled(deps, accountId);
  else while ((await settleDue(deps)) > 0);
  return deps.db.prisma.instance.findMany({
    where: { status: { not: 'DESTROYED' }, ...(accountId !== null && { accountId }) },
    orderBy: [{ createdAt: 'desc' }, { id: 'asc' }],
    take: LISTED_INSTANCES,
  });
}

/** Null when the account has no such instance: another account's looks exactly like one that never was. */
export async function findInstance(
  deps: Deps,
  accountId: string,
  id: string,
  query: Pick<Prisma.InstanceFindFirstArgs, 'include' | 'select'> = {},
): Promise<InstanceRow | null> {
  // Read before it may turn out not to be needed: Pothos takes a query that nobody read for a forgotten one.
  const wanted = { ...query, where: { id, accountId } };
  if (!INSTANCE_ID.test(id)) return null;
  await settled(deps, accountId);
  return deps.db.prisma.instance.findFirst(wanted);
}

/** Every instance of the account, newest first, one page of it. */
export async function instanceHistory(
  deps: Deps,
  accountId: string,
  page: Pick<Prisma.InstanceFindManyArgs, 'include' | 'select' | 'cursor' | 'take' | 'skip'>,
): Promise<InstanceRow[]> {
  await settled(deps, accountId);
  return deps.db.prisma.instance.findMany({ ...page, where: { accountId }, orderBy: { sequence: 'desc' } });
}

/** Rents a machine. Refuses with missing_machine, invalid_request and deploy_failed. */
export async function deploy(deps: Deps, accountId: string, input: DeployInput): Promise<Outcome> {
  const wanted = checkDeploy(input);
  const { machineId, template, diskGb, mode } = wanted;
  const request = idempotentRequest(accountId, wanted.idempotencyKey, 'deploy', [machineId, template, diskGb, mode]);
  return writeOnce(deps, { accountIds: [accountId], machineId }, request, async (current) => {
    const account = renter(current, accountId);
    if (current.machine === undefined) throw refusal('deploy_failed', `no machine ${machineId} is offered`);
    return rent(deps, current, account, current.machine, wanted);
  });
}

/** The one way to an instance, however its machine was found. */
export async function rent(
  deps: Deps,
  current: Write,
  account: Account,
  machine: MachineUnderLock,
  { template, diskGb, mode, maxRate = null }: RentalTerms,
): Promise<Instance> {
  const preempted = claim(machine, mode, 'deploy_failed');
  checkDisk(machine, diskGb);
  if (account.liveInstances >= MAX_LIVE_INSTANCES) {
    throw refusal('deploy_failed', `an account holds at most ${MAX_LIVE_INSTANCES} undestroyed instances`);
  }
  if (machine.rate === null) throw new Error(`model ${machine.gpu} has no price`);
  const onDemandRate = machine.rate * BigInt(machine.numGpus);
  const gpuRate = rateInMode(onDemandRate, mode);
  // A new price came out since the machine was chosen.
  if (maxRate !== null && gpuRate > maxRate) throw new StaleReadError();
  const diskRate = deps.settings.diskRatePerGb * BigInt(diskGb);
  checkCover(deps, current, account, gpuRate + diskRate, preempted, 'deploy_failed');
  await preempt(current, preempted);
  const instance: Instance = {
    id: randomId('i', INSTANCE_ID_BYTES),
    accountId: account.id,
    sequence: account.deployedInstances + 1,
    machineId: machine.id,
    status: 'RUNNING',
    gpu: machine.gpu,
    numGpus: machine.numGpus,
    region: machine.region,
    template,
    diskGb,
    mode,
    gpuRate,
    diskRate,
    onDemandRate,
    createdAt: current.at,
    runningSince: current.at,
    stoppedAt: null,
    destroyedAt: null,
    stopReason: null,
    gpuSeconds: 0n,
    gpuIntervals: 1,
    reservedUntil: null,
    earlyExitUnits: 0n,
  };
  begin(current.step(account), instance);
  return instance;
}

/** Starts, stops or destroys an instance of the account. Refuses with not_found and action_failed. */
export async function act(deps: Deps, accountId: string, input: ActionInput): Promise<Outcome> {
  const key = checkOptional('idempotencyKey', fields.idempotencyKey, input.idempotencyKey);
  if (!INSTANCE_ID.test(input.id)) throw notFound();
  const request = idempotentRequest(accountId, key, 'action', [input.id, input.action]);
  const scope: Scope = { accountIds: [accountId], instanceId: input.id };
  if (input.action === 'START') scope.machineId = await machineOf(deps, accountId, input.id);
  return writeOnce(deps, scope, request, (current) =>
    actOn(deps, current, renter(current, accountId), input.id, input.action, 'USER'),
  );
}

/** The operator's stop or destroy. Never refused for an early exit that the balance can't pay. */
export async function operatorAct(deps: Deps, id: string, action: 'STOP' | 'DESTROY'): Promise<InstanceRow> {
  const found = INSTANCE_ID.test(id) ? await deps.db.prisma.instance.findUnique({ where: { id } }) : null;
  if (found === null) throw notFound();
  const scope: Scope = { accountIds: [found.accountId], instanceId: id };
  return write(deps, scope, async (current) => {
    const account = current.account(found.accountId)!;
    return toRow(await actOn(deps, current, account, id, action, 'OPERATOR'));
  });
}

async function actOn(
  deps: Deps,
  current: Write,
  account: Account,
  id: string,
  action: InstanceActionKind,
  reason: StopReason,
): Promise<Instance> {
  const instance = current.instance(id);
  if (instance === undefined || instance.accountId !== account.id) throw notFound();
  if (!isAllowed(action, instance.status)) {
    throw refusal(
      'action_failed',
      `${action.toLowerCase()} is not allowed while the instance is ${instance.status.toLowerCase()}`,
    );
  }
  const step = current.step(account);
  if (action === 'STOP') stop(step, instance, reason);
  if (action === 'DESTROY') {
    if (reason === 'USER') checkEarlyExit(current, account, instance);
    destroy(step, instance, reason);
  }
  if (action === 'START') {
    const preempted = claim(current.machine!, instance.mode, 'action_failed');
    checkCover(deps, current, account, instance.gpuRate, preempted, 'action_failed');
    await preempt(current, preempted);
    start(step, instance);
  }
  return instance;
}

/** The account's own view of one instance at a second: what it used and what leaving would cost. */
export interface Usage {
  gpuSeconds: bigint;
  diskSeconds: bigint;
  gpuCost: Micro;
  diskCost: Micro;
  earlyExit: Micro;
  total: Micro;
}

/** Each part is the rounded total after it less the rounded total before it, so that the parts add up. */
export function usageOf(row: InstanceRow, now: Instant): Usage {
  const instance = fromRow(row);
  const at = seenAt(instance, now);
  const gpuSeconds = gpuSecondsAt(instance, at);
  const diskSeconds = at - instance.createdAt;
  const gpuUnits = unitsOfUsage(instance.gpuRate, gpuSeconds);
  const usageUnits = gpuUnits + unitsOfUsage(instance.diskRate, diskSeconds);
  const gpuCost = shownSpend(gpuUnits);
  const usage = shownSpend(usageUnits);
  const total = shownSpend(usageUnits + instance.earlyExitUnits);
  return { gpuSeconds, diskSeconds, gpuCost, diskCost: usage - gpuCost, earlyExit: total - usage, total };
}

/** The end of the reserved term as it stands now; null for other modes. */
export function reservedUntilOf(row: InstanceRow, now: Instant): Instant | null {
  const instance = fromRow(row);
  return reservedUntilAt(instance, seenAt(instance, now));
}

/** What destroying now would cost beyond usage, rounded up to the micro-USD. */
export function earlyExitCostOf(row: InstanceRow, now: Instant): Micro {
  const instance = fromRow(row);
  return roundedUp(earlyExitUnitsAt(instance, seenAt(instance, now)));
}

/** A destroyed instance is seen as it ended; no instance is seen before its last change. */
function seenAt(instance: Instance, now: Instant): Instant {
  if (instance.destroyedAt !== null) return instance.destroyedAt;
  return latest(now, instance.createdAt, instance.runningSince ?? 0n, instance.stoppedAt ?? 0n);
}

function checkDeploy(input: DeployInput) {
  if (input.machineId === '') throw new DomainError('missing_machine', 'machineId is required', { field: 'machineId' });
  return { machineId: check('machineId', fields.machineId, input.machineId), ...checkTerms(input) };
}

export function checkTerms(input: TermsInput) {
  return {
    template: checkOptional('template', fields.template, input.template)!,
    diskGb: checkOptional('diskGb', fields.diskGb, input.diskGb)!,
    mode: checkOptional<PricingMode>('mode', fields.mode, input.mode)!,
    idempotencyKey: checkOptional('idempotencyKey', fields.idempotencyKey, input.idempotencyKey),
  };
}

/** The account of the scope, as long as its keys are accepted. */
export function renter(current: Write, accountId: string): Account {
  const account = current.account(accountId);
  if (account === undefined || account.suspendedAt !== null) {
    throw new DomainError('unauthorized', 'missing or unknown API key');
  }
  return account;
}

/** The instance that must yield for this mode to take the machine, if any; refuses when it can't be had. */
function claim(machine: MachineUnderLock, mode: PricingMode, code: ErrorCode): Instance | null {
  if (machine.state !== 'LISTED')
    throw refusal(code, `machine ${machine.id} is ${machine.state === 'OFFLINE' ? 'offline' : 'no longer listed'}`);
  const holder = machine.liveInstances.find((instance) => instance.status === 'RUNNING');
  if (holder === undefined) return null;
  if (holder.mode === 'INTERRUPTIBLE' && mode !== 'INTERRUPTIBLE') return holder;
  throw refusal(code, `machine ${machine.id} is taken`);
}

function checkDisk(machine: MachineUnderLock, diskGb: number): void {
  const used = machine.liveInstances.reduce(
    (sum, { status, diskGb: gb }) => (status === 'DESTROYED' ? sum : sum + gb),
    0,
  );
  const left = Math.max(machine.diskGb - used, 0);
  if (diskGb > left)
    throw refusal(
      'deploy_failed',
      `machine ${machine.id} has ${left} GB of disk left, less than the ${diskGb} asked for`,
    );
}

/** The balance must cover every rate the account would then be paying for the cover time. */
function checkCover(
  deps: Deps,
  current: Write,
  account: Account,
  addedRate: Rate,
  preempted: Instance | null,
  code: ErrorCode,
): void {
  const freed = preempted?.accountId === account.id ? preempted.gpuRate : 0n;
  const needed = unitsOfUsage(account.burnRate + addedRate - freed, deps.settings.coverSeconds);
  if (balanceUnitsAt(account, current.at) >= needed) return;
  const hours = Number(deps.settings.coverSeconds) / 3600;
  throw refusal(
    code,
    `balance too small: ${formatUsd(balanceAt(account, current.at))} USD does not cover ${hours} h of all instances, ${formatUsd(roundedUp(needed))} USD`,
  );
}

function checkEarlyExit(current: Write, account: Account, instance: Instance): void {
  const cost = earlyExitUnitsAt(instance, current.at);
  if (cost === 0n || balanceUnitsAt(account, current.at) >= cost) return;
  throw refusal(
    'action_failed',
    `leaving the reserved term early costs ${formatUsd(roundedUp(cost))} USD, more than the balance`,
  );
}

/** The holder stops in this very second. Written at once: the database lets a machine have one running instance. */
async function preempt(current: Write, holder: Instance | null): Promise<void> {
  if (holder === null) return;
  stop(current.step(current.account(holder.accountId)!), holder, 'PREEMPTED');
  current.flush();
}

export async function writeOnce(
  deps: Deps,
  scope: Scope,
  request: IdempotentRequest | null,
  decide: (current: Write) => Promise<Instance>,
): Promise<Outcome> {
  if (request === null) {
    const instance = await write(deps, scope, decide);
    return { instance: toRow(instance), replayed: false };
  }
  const decideAndKeep = async (current: Write): Promise<Outcome> => {
    const instance = await decide(current);
    remember(current.transaction, request, toJson(instance), current.at);
    return { instance: toRow(instance), replayed: false };
  };
  const repeat = async (transaction: Transaction): Promise<Outcome | undefined> => {
    const kept = await recall(transaction, request, deps.clock.now());
    return kept === undefined ? undefined : { instance: toRow(fromJson(kept)), replayed: true };
  };
  return onceFree(() => write(deps, scope, decideAndKeep, repeat));
}

/** The machine of an instance never changes: it may be read before the locks. */
async function machineOf(deps: Deps, accountId: string, id: string): Promise<string> {
  const row = await deps.db.prisma.instance.findFirst({ where: { id, accountId }, select: { machineId: true } });
  if (row === null) throw notFound();
  return row.machineId;
}

function roundedUp(units: Units): Micro {
  return -shownSpend(-units);
}

function refusal(code: ErrorCode, message: string): DomainError {
  return new DomainError(code, message);
}

function notFound(): DomainError {
  return new DomainError('not_found', 'no such instance');
}
