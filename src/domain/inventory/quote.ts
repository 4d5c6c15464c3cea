import type { Prisma } from '../../database/database.js';
import type { Machine } from '../../database/generated/client/client.js';
import type { SettlingDeps } from '../billing/deps.js';
import { settledWithLimits } from '../billing/settlement.js';
import { instanceFields } from '../instances/fields.js';
import { checkSpendLimits, checkTerms, type TermsInput, unknownMachine } from '../instances/instances.js';
import { machineForPreview } from '../instances/machine-for-preview.js';
import type { MachineAsRead } from '../instances/machine-loader.js';
import { checkTcpPorts } from '../instances/tcp-ports.js';
import { templateTerms } from '../instances/template-terms.js';
import { advance, balanceAt, balanceUnitsAt, exhaustionOf } from '../kernel/accrual.js';
import { admitAccount, admitMachine, type Claim, checkMaxRate, ratesOf } from '../kernel/admission.js';
import { burnAfter, coverNeeded } from '../kernel/cover.js';
import { deadlinesOf } from '../kernel/deadline.js';
import type { KernelDeps } from '../kernel/deps.js';
import { freeDiskGb } from '../kernel/disk.js';
import { DomainError, type Refused, refusalOf, refusedBy } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { checkIdleWatch } from '../kernel/idle.js';
import { checkAgent } from '../kernel/launch.js';
import type { Account, Instance } from '../kernel/lifecycle.js';
import { type Micro, type Rate, shownCost, unitsOfUsage } from '../kernel/money.js';
import { PREEMPTION_MINIMUM_SECONDS } from '../kernel/preemption.js';
import type { PricingMode } from '../kernel/price-rule.js';
import { termEndFrom } from '../kernel/reserved.js';
import { checkVariables } from '../kernel/template.js';
import { type Instant, latest, SECONDS_PER_HOUR } from '../kernel/time.js';
import { checkSecrets } from '../secrets/secrets.js';
import { sizeOfVolumes } from '../volumes/attachments.js';
import { checkVolumes } from '../volumes/leases.js';
import { checkSupportsVolumes } from '../volumes/rules/volume-attachment.js';
import { checkPreferences, inSlugs, nothingFits, type Preferences } from './deploy-best.js';
import type { InventoryDeps } from './deps.js';
import { bestOffer } from './rules/best-offer.js';

/**
 * Maximum number of machines tried when quoting the best one. Another machine is tried if another account has just
 * rented the previous one.
 */
const MAX_TRIES = 5;

export interface QuoteInput extends TermsInput, Preferences {
  /** If omitted, the best matching machine is quoted, which is the one that `deployBest` would choose. */
  machineId?: string | null;
}

/** The cost and requirements of a rental if `deploy` decided on it in this second. */
export interface Quote {
  machineId: string;
  template: string;
  diskGb: number;
  mode: PricingMode;
  /** Space available for a new disk, in GB. */
  freeDiskGb: number;
  gpuRate: Rate;
  diskRate: Rate;
  onDemandRate: Rate;
  preempts: boolean;
  /** Number of instances that the rental would preempt. */
  preemptedInstances: number;
  /** Minimum GPU time that would be billed, in seconds. */
  minimumGpuSeconds: bigint;
  minimumCost: Micro;
  /** Balance required for just this rental. */
  coverNeeded: Micro;
  /** The end of a reserved term that starts now and is never paused. Null in other modes. */
  reservedUntil: Instant | null;
  /** Null if the machine can be deployed. Without an account, a sufficient balance is assumed. */
  refusal: Refused | null;
  account: QuoteForAccount | null;
  asOf: Instant;
}

export interface QuoteForAccount {
  balance: Micro;
  /** Sum of all rates, including this rental's. */
  burnPerHour: Rate;
  /** Balance required for all instances combined. */
  coverNeeded: Micro;
  /** When credit would run out if this rental were deployed now. Null if it would never run out. */
  exhaustsAt: Instant | null;
  hoursLeft: number | null;
}

/** Quotes a rental. Throws invalid_request, or deploy_failed if there is no machine to quote. */
export async function quote(
  deps: SettlingDeps & Pick<InventoryDeps, 'inventory' | 'fleet' | 'machineLoader'>,
  accountId: string | null,
  input: QuoteInput,
  keyId: string | null = null,
): Promise<Quote> {
  const terms = checkTerms(input);
  const volumeGb = await sizeOfVolumes(deps, accountId, terms.volumes);
  const wanted = { ...checkPreferences(input), ...terms, keyId, volumeGb };
  const account = accountId === null ? null : await settledWithLimits(deps, accountId);
  const { launch = {}, template, deadlines, mode, volumes = [] } = wanted;
  if (deadlines !== undefined) deadlinesOf(deadlines, mode, deps.clock.now());
  const quoted = await quoteOfMachine(deps, account, input, wanted);
  if (quoted.refusal !== null) return quoted;
  const known = await templateTerms(deps, template);
  const unset = known && refusedBy(() => checkVariables(known, launch));
  if (unset !== null || account === null) return { ...quoted, refusal: unset };
  const place = { settings: deps.settings, accountId: account.id, at: deps.clock.now() };
  const lacking =
    (await refusalOf(checkSecrets(deps.db.pool, account.id, launch, template, 'deploy_failed'))) ??
    (await refusalOf(checkTcpPorts(deps.db.pool, place, launch))) ??
    (await refusalOf(checkVolumes(deps, { accountId: account.id, volumes }, 'deploy_failed')));
  return { ...quoted, refusal: lacking && { code: lacking.code, message: lacking.message } };
}

async function quoteOfMachine(
  deps: SettlingDeps & Pick<InventoryDeps, 'inventory' | 'machineLoader'>,
  account: Readonly<Account> | null,
  input: QuoteInput,
  wanted: Terms,
): Promise<Quote> {
  if (input.machineId !== null && input.machineId !== undefined) {
    if (input.filter || input.gpus || input.regions) {
      throw new DomainError('invalid_request', "machineId can't be combined with filter, gpus or regions", {
        field: 'machineId',
      });
    }
    const machineId = check('machineId', instanceFields.machineId, input.machineId);
    const machine = await machineForPreview(deps, machineId);
    if (machine === null) throw unknownMachine(machineId);
    return quoteOf(deps, account, machine, wanted);
  }
  const { offers, catalogue } = await deps.inventory.current();
  const { criteria, order } = bestOffer(inSlugs(catalogue.gpuModels, wanted));
  for (const { machineId } of offers.best(criteria, order, MAX_TRIES, new Set())) {
    const machine = await machineForPreview(deps, machineId);
    if (machine === null) continue;
    const quoted = quoteOf(deps, account, machine, wanted);
    const suits =
      (machine.reportsLoad || wanted.stopWhenIdle === undefined) &&
      (machine.supportsVolumes || wanted.volumes === undefined);
    if (quoted.isFree && suits) return quoted;
  }
  throw new DomainError('deploy_failed', nothingFits(wanted));
}

/** Reads the quoted machine. */
export function quotedMachine(
  deps: Pick<KernelDeps, 'db'>,
  { machineId }: Pick<Quote, 'machineId'>,
  query: Pick<Prisma.MachineFindFirstArgs, 'include' | 'select'>,
): Promise<Machine> {
  return deps.db.prisma.machine.findUniqueOrThrow({ ...query, where: { id: machineId } });
}

type Terms = ReturnType<typeof checkTerms> &
  ReturnType<typeof checkPreferences> & { keyId: string | null; volumeGb: number };

function quoteOf(
  deps: Pick<KernelDeps, 'clock' | 'settings'>,
  account: Readonly<Account> | null,
  machine: MachineAsRead,
  { template, diskGb, mode, maxRate, launch = {}, keyId, spendLimit, stopWhenIdle, volumes, volumeGb }: Terms,
): Quote & { isFree: boolean } {
  const { diskRatePerGb, coverSeconds } = deps.settings;
  const asOf = latest(deps.clock.now(), account?.settledAt ?? 0n);
  let claimed: Claim<Readonly<Instance>> | null = null;
  const refusal = refusedBy(() => {
    checkAgent(machine, launch, 'deploy_failed');
    checkIdleWatch(machine, stopWhenIdle);
    if (volumes !== undefined) checkSupportsVolumes(machine, 'deploy_failed');
    claimed = admitMachine(machine, { mode, diskGb, volumeGb }, diskRatePerGb);
    checkMaxRate(machine.id, claimed.gpuRate, maxRate);
    if (account === null) return;
    admitAccount(account, asOf, claimed, coverSeconds);
    checkSpendLimits(account, asOf, { ...claimed, keyId, spendLimit: spendLimit ?? null });
  });
  const { gpuRate, diskRate, onDemandRate } = ratesOf(machine, { mode, diskGb }, diskRatePerGb);
  // Assigned by the check above.
  const preempted = (claimed as Claim<Readonly<Instance>> | null)?.preempted ?? [];
  const minimumGpuSeconds = preempted.length === 0 ? 0n : PREEMPTION_MINIMUM_SECONDS;
  const added = { addedRate: gpuRate + diskRate, preempted, coverSeconds };
  return {
    isFree: claimed !== null,
    machineId: machine.id,
    template,
    diskGb,
    mode,
    freeDiskGb: freeDiskGb(machine),
    gpuRate,
    diskRate,
    onDemandRate,
    preempts: preempted.length > 0,
    preemptedInstances: preempted.length,
    minimumGpuSeconds,
    minimumCost: shownCost(unitsOfUsage(gpuRate, minimumGpuSeconds)),
    coverNeeded: shownCost(unitsOfUsage(gpuRate + diskRate, coverSeconds)),
    reservedUntil: mode === 'RESERVED' ? termEndFrom(asOf) : null,
    refusal,
    account: account && forAccount(account, asOf, added),
    asOf,
  };
}

function forAccount(
  account: Readonly<Account>,
  at: Instant,
  added: Parameters<typeof coverNeeded>[1],
): QuoteForAccount {
  const burnPerHour = burnAfter(account, added);
  const then = { ...account };
  advance(then, at);
  then.burnRate = burnPerHour;
  const left = balanceUnitsAt(account, at);
  const hours = Number(left) / Number(burnPerHour * SECONDS_PER_HOUR);
  return {
    balance: balanceAt(account, at),
    burnPerHour,
    coverNeeded: shownCost(coverNeeded(account, added)),
    exhaustsAt: exhaustionOf(then),
    hoursLeft: burnPerHour === 0n ? null : Math.max(hours, 0),
  };
}
