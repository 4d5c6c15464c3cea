import type { Transaction } from '../../database/transaction.js';
import { idempotentRequest } from '../billing/idempotency.js';
import type { Candidate, MachinePicker } from '../billing/ledger.js';
import { settleUnlocked } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields, priceLimit } from '../fields.js';
import {
  checkTerms,
  countOutcome,
  type Outcome,
  rent,
  renter,
  type TermsInput,
  writeOnce,
} from '../instances/instances.js';
import { templateInUse } from '../instances/template-terms.js';
import { HAS_OLD_AGENT, WATCHES_LOAD } from '../machine-condition.js';
import { type BestOffer, bestOffer } from '../rules/best-offer.js';
import { DomainError } from '../rules/errors.js';
import { needsAgent } from '../rules/launch.js';
import { formatUsd } from '../rules/money.js';
import { type PricedModel, traitsOf } from '../rules/offer.js';
import { fits } from '../rules/offer-filter.js';
import { compareOffers } from '../rules/offer-order.js';
import { CURRENT_PRICES, MACHINE_COLUMNS, MACHINES, type MachineRow, offeredMachine } from './inventory.js';
import { checkFilter, checkList, type OfferSearchFilter } from './offer-search.js';

/** How often a request waits for machines that others have locked before it gives up; each time another got one. */
const MAX_ATTEMPTS = 50;
const RETRY_AFTER_SECONDS = 1;
/** Machines checked by one statement: the first is nearly always free, unless others want the same ones. */
const CANDIDATES_AT_ONCE = 50;
/** Entries of a list that a refusal names. */
const NAMED_ENTRIES = 5;

/** How the machine is chosen. */
export interface Preferences {
  filter?: OfferSearchFilter | null;
  /** The only models and regions to take, most preferred first. */
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  /** USD per hour of the whole machine in the mode. */
  maxPricePerHour?: number | null;
}

export interface DeployBestInput extends TermsInput, Preferences {}

type CheckedDeployBest = ReturnType<typeof checkDeployBest>;

/**
 * Rents the best machine that fits; a machine that another request has locked is waited for only when no other fits.
 * Refuses with invalid_request, deploy_failed (also when nothing that fits is free) and unavailable.
 */
export function deployBest(
  deps: Deps,
  accountId: string,
  input: DeployBestInput,
  keyId: string | null = null,
): Promise<Outcome> {
  return countOutcome(deps, () => deployBestMachine(deps, accountId, input, keyId));
}

async function deployBestMachine(
  deps: Deps,
  accountId: string,
  input: DeployBestInput,
  keyId: string | null,
): Promise<Outcome> {
  const wanted = checkDeployBest(input);
  const { idempotencyKey, maxRate, spendLimit, stopWhenIdle, ...rest } = wanted;
  const limits = {
    maxRate: `${maxRate}`,
    ...(spendLimit !== undefined && { spendLimit: `${spendLimit}` }),
    ...(stopWhenIdle !== undefined && { stopWhenIdle }),
  };
  const request = idempotentRequest(accountId, idempotencyKey, 'deployBest', [{ ...rest, ...limits }]);
  const best = {
    ...bestOffer(wanted),
    needsAgent: needsAgent(wanted.launch ?? {}),
    needsLoad: stopWhenIdle !== undefined,
  };
  const inUse = await templateInUse(deps, wanted.template, wanted.launch);
  let waitFor: string | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await settleUnlocked(deps);
    // Before the transaction: a reading needs a connection, and transactions may hold all of them.
    await deps.inventory.current();
    const { version } = deps.inventory;
    const scope = { accountIds: [accountId], picker: pickerOf(deps, best, waitFor) };
    try {
      return await writeOnce(deps, scope, request, async (current) => {
        const account = renter(current, accountId);
        if (current.machine !== undefined)
          return rent(deps, current, account, current.machine, { ...wanted, keyId, isPicked: true, inUse });
        const locked = await firstCandidate(deps, best, async (ids) => {
          return (await fittingOf(current.transaction, best, ids))[0];
        });
        if (locked !== undefined) throw new LockedByOthers(locked);
        // Once: where machines come and go all the time, a refusal would never be certain.
        if (attempt === 1 && version !== deps.inventory.version) throw new OffersChanged();
        throw new DomainError('deploy_failed', nothingFits(wanted), { reason: 'nothing_fits' });
      });
    } catch (error) {
      if (error instanceof LockedByOthers) waitFor = error.machineId;
      else if (!(error instanceof OffersChanged)) throw error;
    }
  }
  const message = 'others were quicker at every machine that fits; try again';
  throw new DomainError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/**
 * Every machine that fits is locked by another request. The best of them is waited for, with nothing held meanwhile.
 */
class LockedByOthers extends Error {
  readonly machineId: string;

  constructor(machineId: string) {
    super(`machine ${machineId} is locked by another request`);
    this.machineId = machineId;
  }
}

/** Nothing fits by what was in memory, which has changed meanwhile, as by a new price. */
class OffersChanged extends Error {}

/** What the machine must have, and in which order machines are tried. */
interface Search extends BestOffer {
  /** It can't run on a host agent of a version before launches. */
  needsAgent: boolean;
  /** Its host agent has to say how busy instances are. */
  needsLoad: boolean;
}

/** Picks the best machine: the offers in memory say which to try, locked rows decide. */
function pickerOf(deps: Deps, best: Search, waitFor: string | null): MachinePicker {
  return {
    waitFor,
    lockBest: (transaction, busyAccounts) =>
      firstCandidate(deps, best, async (ids) => {
        const { rows } = await transaction.query<Candidate>({
          name: 'lock-best-machine',
          text: LOCK_BEST_SQL,
          values: [await fittingOf(transaction, best, ids), busyAccounts],
        });
        return rows[0];
      }),
    stillFits: async (transaction, machineId) => (await fittingOf(transaction, best, [machineId])).length === 1,
  };
}

/**
 * Returns the result of `find` for the first batch of candidates where it finds anything. Batches come best first, from
 * memory.
 */
async function firstCandidate<T>(
  { inventory }: Deps,
  { criteria, order }: BestOffer,
  find: (machineIds: readonly string[]) => Promise<T | undefined>,
): Promise<T | undefined> {
  const excluded = new Set<string>();
  for (;;) {
    // Asked for each batch: the offers may have changed meanwhile.
    const offers = inventory.latest.offers.best(criteria, order, CANDIDATES_AT_ONCE, excluded);
    if (offers.length === 0) return undefined;
    const machineIds = offers.map(({ machineId }) => machineId);
    const found = await find(machineIds);
    if (found !== undefined) return found;
    for (const id of machineIds) excluded.add(id);
  }
}

/**
 * Those of the machines that fit as the tables stand, best first, whether or not another transaction has locked them.
 */
async function fittingOf(
  transaction: Transaction,
  { criteria, order, needsAgent, needsLoad }: Search,
  machineIds: readonly string[],
): Promise<string[]> {
  const { rows } = await transaction.query<MachineRow & PricedModel & { hasOldAgent: boolean; watchesLoad: boolean }>({
    name: 'best-machines',
    text: PRICED_MACHINES_SQL,
    values: [machineIds],
  });
  const offers = rows.flatMap(({ tier, vramGb, onDemandRate, hasOldAgent, watchesLoad, ...row }) => {
    const machine = offeredMachine(row);
    return machine === null || (needsAgent && hasOldAgent) || (needsLoad && !watchesLoad)
      ? []
      : [{ ...machine, ...traitsOf(machine, { tier, vramGb, onDemandRate }) }];
  });
  return offers
    .filter((offer) => fits(criteria, offer))
    .sort((one, other) => compareOffers(order, one, other))
    .map(({ machineId }) => machineId);
}

function checkDeployBest(input: DeployBestInput) {
  return { ...checkPreferences(input), ...checkTerms(input) };
}

export function checkPreferences(input: Preferences) {
  return {
    filter: checkFilter(input.filter),
    gpus: checkList('gpus', fields.preferredGpus, input.gpus),
    regions: checkList('regions', fields.preferredRegions, input.regions),
    maxRate: priceLimit(checkOptional('maxPricePerHour', fields.maxPricePerHour, input.maxPricePerHour)),
  };
}

/** Names every requirement, so that the caller sees what to relax. */
export function nothingFits({
  filter,
  gpus,
  regions,
  maxRate,
  diskGb,
  mode,
}: Omit<
  CheckedDeployBest,
  'template' | 'launch' | 'deadlines' | 'spendLimit' | 'stopWhenIdle' | 'idempotencyKey'
>): string {
  const cap = maxRate === null ? '' : `, at most ${formatUsd(maxRate)} USD per hour`;
  const asked = Object.entries({ ...filter, preferredGpus: gpus, preferredRegions: regions })
    .filter(([name, value]) => value !== null && (value !== false || name !== 'includePreemptible'))
    .map(([name, value]) => `, ${name} ${typeof value === 'bigint' ? formatUsd(value) : brief(value)}`);
  return `no machine that fits is free now: ${mode.toLowerCase()}, ${diskGb} GB of disk${cap}${asked.join('')}`;
}

function brief(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const more = value.length - NAMED_ENTRIES;
  return value.slice(0, NAMED_ENTRIES).join('|') + (more > 0 ? `|… (${more} more)` : '');
}

/** The machines as the tables stand, with their prices. */
const PRICED_MACHINES_SQL = `
  select ${MACHINE_COLUMNS}, tier, vram_gb as "vramGb", on_demand_rate as "onDemandRate",
    ${HAS_OLD_AGENT} as "hasOldAgent", ${WATCHES_LOAD} as "watchesLoad"
  from (${MACHINES}) machine join (${CURRENT_PRICES}) price using (gpu)
    join (select slug as gpu, tier, vram_gb from gpu_model) model using (gpu)
  where id = any($1)`;

const LOCK_BEST_SQL = `
  select machine.id as "machineId", case when holder.account_id is null then '{}'::text[] else array[holder.account_id] end as "holderIds"
  from unnest($1::text[]) with ordinality as candidate (id, place) join machine on machine.id = candidate.id
    left join instance holder on holder.machine_id = machine.id and holder.status = 'RUNNING'
  where coalesce(holder.account_id <> all($2::text[]), true)
  order by place limit 1 for no key update of machine skip locked`;
