import type { Transaction } from '../../database/transaction.js';
import { nearestName } from '../../std/nearest-name.js';
import { activeAccount } from '../billing/active-account.js';
import type { SettlingDeps } from '../billing/deps.js';
import { type IdempotentRequest, idempotentRequest } from '../billing/idempotency.js';
import type { Candidate, MachinePicker, Scope, Write } from '../billing/ledger.js';
import { settleUnlocked } from '../billing/settlement.js';
import { instanceFields } from '../instances/fields.js';
import {
  checkEnds,
  checkTerms,
  countOutcome,
  type Outcome,
  optionalTerms,
  type RentalTerms,
  rent,
  type TermsInput,
  writeOnce,
} from '../instances/instances.js';
import { templateInUse } from '../instances/template-terms.js';
import { DomainError } from '../kernel/errors.js';
import { checkOptional, priceLimit } from '../kernel/field.js';
import { modelsNamed, type NamedModel } from '../kernel/gpu-names.js';
import { needsAgent } from '../kernel/launch.js';
import type { Account } from '../kernel/lifecycle.js';
import { HAS_OLD_AGENT, REPORTS_LOAD, SUPPORTS_USERS, SUPPORTS_VOLUMES } from '../kernel/machine-condition.js';
import { formatUsd } from '../kernel/money.js';
import { sizeOfVolumes } from '../volumes/attachments.js';
import type { InventoryDeps } from './deps.js';
import { offerFields } from './fields.js';
import { CURRENT_PRICES, HOST_COLUMNS, HOSTS, type HostRow, offeredHost } from './inventory.js';
import { checkFilter, checkList, type OfferSearchFilter, withModels } from './offer-search.js';
import { type BestOffer, bestOffer } from './rules/best-offer.js';
import { groupKeyOf, offerOf, type PricedModel, traitsOf } from './rules/offer.js';
import { fits } from './rules/offer-filter.js';
import { compareOffers } from './rules/offer-order.js';

/**
 * Maximum number of attempts for a request that repeatedly waits for a locked machine and then loses it to another
 * request.
 */
const MAX_ATTEMPTS = 50;
const RETRY_AFTER_SECONDS = 1;
/**
 * Number of machines checked by one statement. The first one is nearly always free unless other requests want the same
 * machines.
 */
const CANDIDATE_BATCH = 50;
/** Maximum number of list entries named in an error message. */
const NAMED_ENTRIES = 5;

/** The renter's preferences for choosing a machine. */
export interface Preferences {
  filter?: OfferSearchFilter | null;
  /** The only acceptable models and regions, in order of preference. */
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  /** Maximum price of the whole machine in the chosen mode, in USD per hour. */
  maxPricePerHour?: number | null;
}

export interface DeployBestInput extends TermsInput, Preferences {}

type CheckedDeployBest = ReturnType<typeof checkDeployBest>;

/**
 * Rents the best matching machine. Waits for a machine locked by another request only if no other machine matches.
 * Throws invalid_request, unavailable, or deploy_failed, for example if no matching machine is free.
 */
export function deployBest(
  deps: SettlingDeps & Pick<InventoryDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: DeployBestInput,
  keyId: string | null = null,
): Promise<Outcome> {
  return countOutcome(deps, () => deployBestMachine(deps, accountId, input, keyId));
}

async function deployBestMachine(
  deps: SettlingDeps & Pick<InventoryDeps, 'sealingKeys' | 'inventory' | 'fleet'>,
  accountId: string,
  input: DeployBestInput,
  keyId: string | null,
): Promise<Outcome> {
  const wanted = checkDeployBest(input);
  // The members' order is part of the fingerprint.
  const { idempotencyKey, maxRate, spendLimit: _limit, stopWhenIdle, volumes, ...rest } = wanted;
  const what = { ...rest, maxRate: `${maxRate}`, ...optionalTerms(wanted) };
  const request = idempotentRequest(accountId, idempotencyKey, 'deployBest', [what]);
  const { gpuModels } = (await deps.inventory.current()).catalogue;
  const best = {
    ...bestOffer({ ...inSlugs(gpuModels, wanted), volumeGb: await sizeOfVolumes(deps, accountId, volumes) }),
    needsAgent: needsAgent(wanted.launch ?? {}),
    needsUsers: wanted.launch?.user !== undefined,
    needsLoad: stopWhenIdle !== undefined,
    needsVolumes: volumes !== undefined,
    excludedHost: null,
  };
  const inUse = await templateInUse(deps, wanted.template, wanted.launch);
  return rentBest(deps, { accountIds: [accountId] }, request, {
    best,
    prepare: async ({ at }) => {
      checkEnds(wanted, at);
      return { ...wanted, keyId, inUse };
    },
    refusal: () =>
      new DomainError('deploy_failed', nothingFits(wanted) + unknownModel(gpuModels, wanted), {
        reason: 'nothing_fits',
      }),
  });
}

/** A rental of the best matching machine. */
export interface BestRental {
  best: Search;
  /**
   * Returns the terms of the rental. Called while the rows are locked, but before it is known whether a machine is
   * free. May throw a DomainError.
   */
  prepare(current: Write, account: Account): Promise<RentalTerms>;
  /** Returns the error to throw if no machine matches. */
  refusal(): DomainError;
}

/**
 * Rents the machine for the first account of the scope, once per request. Throws unavailable, as well as any error
 * thrown by the rental's own functions.
 */
export async function rentBest(
  deps: SettlingDeps & Pick<InventoryDeps, 'inventory' | 'fleet'>,
  scope: Scope & { accountIds: readonly [string] },
  request: IdempotentRequest | null,
  { best, prepare, refusal }: BestRental,
): Promise<Outcome> {
  let waitFor: string | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await settleUnlocked(deps);
    // Read before the transaction starts, because reading needs a connection and transactions may be using all of them.
    await deps.inventory.current();
    const { version } = deps.inventory;
    const picking = { ...scope, picker: pickerOf(deps, best, waitFor) };
    try {
      return await writeOnce(deps, picking, request, async (current) => {
        const account = activeAccount(current, scope.accountIds[0]);
        const terms = await prepare(current, account);
        if (current.machine !== undefined)
          return rent(deps, current, account, current.machine, { ...terms, isPicked: true });
        const locked = await firstCandidate(deps, best, async (ids) => {
          return (await fittingOf(current.transaction, best, ids))[0];
        });
        if (locked !== undefined) throw new LockedByOthers(locked);
        // Retried only once. If machines came and went continuously, it might never be certain that none matches.
        if (attempt === 1 && version !== deps.inventory.version) throw new OffersChanged();
        throw refusal();
      });
    } catch (error) {
      if (error instanceof LockedByOthers) waitFor = error.machineId;
      else if (!(error instanceof OffersChanged)) throw error;
    }
  }
  const message = 'other requests took every matching machine first; try again';
  throw new DomainError('unavailable', message, { retryAfterSeconds: RETRY_AFTER_SECONDS });
}

/**
 * Thrown if every matching machine is locked by other requests. The next attempt waits for the best of these machines,
 * without holding any locks in the meantime.
 */
class LockedByOthers extends Error {
  readonly machineId: string;

  constructor(machineId: string) {
    super(`machine ${machineId} is locked by another request`);
    this.machineId = machineId;
  }
}

/**
 * Thrown if no machine in memory matches, but the data in memory has changed in the meantime, for example because of a
 * new price.
 */
class OffersChanged extends Error {}

/** Requirements for the machine, and the order for trying candidates. */
export interface Search extends BestOffer {
  /** Whether the machine's host agent must support launches. */
  needsAgent: boolean;
  /** Whether the machine's host agent must be able to start containers as the user a launch specifies. */
  needsUsers: boolean;
  /** Whether the machine's host agent must report how busy instances are. */
  needsLoad: boolean;
  /** Whether the machine's host must be able to mount volumes. */
  needsVolumes: boolean;
  /** A host to exclude, or null to allow all hosts. */
  excludedHost: string | null;
}

/**
 * Creates a picker for the best machine. The picker takes candidates from the offers in memory but decides based on the
 * locked rows.
 */
function pickerOf(deps: Pick<InventoryDeps, 'inventory'>, best: Search, waitFor: string | null): MachinePicker {
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
 * Calls `find` with batches of candidates from memory, best first, and returns the first result that isn't undefined.
 */
async function firstCandidate<T>(
  { inventory }: Pick<InventoryDeps, 'inventory'>,
  { criteria, order }: BestOffer,
  find: (machineIds: readonly string[]) => Promise<T | undefined>,
): Promise<T | undefined> {
  const excluded = new Set<string>();
  for (;;) {
    // Read again for each batch, because the offers may have changed in the meantime.
    const offers = inventory.latest.offers.best(criteria, order, CANDIDATE_BATCH, excluded);
    if (offers.length === 0) return undefined;
    const machineIds = offers.map(({ machineId }) => machineId);
    const found = await find(machineIds);
    if (found !== undefined) return found;
    for (const id of machineIds) excluded.add(id);
  }
}

/**
 * Returns the machines that match according to the database, best first, including machines locked by other
 * transactions.
 */
async function fittingOf(
  transaction: Transaction,
  { criteria, order, needsAgent, needsUsers, needsLoad, needsVolumes, excludedHost }: Search,
  machineIds: readonly string[],
): Promise<string[]> {
  const { rows } = await transaction.query<CandidateRow>({
    name: 'best-machines',
    text: PRICED_MACHINES_SQL,
    values: [machineIds],
  });
  return rows
    .filter(({ hasOldAgent, reportsLoad }) => !(needsAgent && hasOldAgent) && !(needsLoad && !reportsLoad))
    .filter(
      ({ supportsVolumes, supportsUsers }) => (supportsVolumes || !needsVolumes) && (supportsUsers || !needsUsers),
    )
    .filter(({ hostId }) => hostId !== excludedHost)
    .flatMap((row) => pricedOffers(row))
    .filter((offer) => fits(criteria, offer))
    .sort((one, other) => compareOffers(order, one, other))
    .map(({ machineId }) => machineId);
}

/** Returns the machine's offer with its group's traits. Returns an empty list if the machine isn't offered. */
function pricedOffers({ machineId, ...row }: CandidateRow) {
  const host = offeredHost(row);
  const block = host?.layout.blocks.find(({ suffix }) => host.hostId + suffix === machineId);
  if (host === null || block === undefined) return [];
  const key = groupKeyOf(host, block);
  if (key === null) return [];
  const traits = traitsOf(key, row);
  return [{ ...offerOf(host, block, key.preemptible, traits.pricePerHour), ...traits }];
}

function checkDeployBest(input: DeployBestInput) {
  return { ...checkPreferences(input), ...checkTerms(input) };
}

export function checkPreferences(input: Preferences) {
  return {
    filter: checkFilter(input.filter),
    gpus: checkList('gpus', offerFields.preferredGpus, input.gpus),
    regions: checkList('regions', offerFields.preferredRegions, input.regions),
    maxRate: priceLimit(checkOptional('maxPricePerHour', instanceFields.maxPricePerHour, input.maxPricePerHour)),
  };
}

/** Returns the preferences with model names replaced by slugs. */
export function inSlugs<Wanted extends ReturnType<typeof checkPreferences>>(
  models: readonly NamedModel[],
  wanted: Wanted,
): Wanted {
  return { ...withModels(models, wanted), filter: withModels(models, wanted.filter) };
}

/** Returns a message suffix about the first model that isn't in the catalogue, with a similar name if there is one. */
function unknownModel(models: readonly NamedModel[], { gpus, filter }: ReturnType<typeof checkPreferences>): string {
  const unknown = [...(gpus ?? []), ...(filter.gpus ?? [])].find((name) => modelsNamed(models, name).length === 0);
  if (unknown === undefined) return '';
  const near = nearestName(
    unknown,
    models.map(({ slug }) => slug),
  );
  return `; there is no GPU model ${unknown}${near === null ? '' : `: did you mean ${near}?`}`;
}

/** Returns a message that lists all requirements, so that the caller can see which ones to relax. */
export function nothingFits({
  filter,
  gpus,
  regions,
  maxRate,
  diskGb,
  mode,
}: Pick<CheckedDeployBest, 'filter' | 'gpus' | 'regions' | 'maxRate' | 'diskGb' | 'mode'>): string {
  const cap = maxRate === null ? '' : `, at most ${formatUsd(maxRate)} USD per hour`;
  const requirements = Object.entries({ ...filter, preferredGpus: gpus, preferredRegions: regions })
    .filter(([name, value]) => value !== null && (value !== false || name !== 'includePreemptible'))
    .map(([name, value]) => `, ${name} ${typeof value === 'bigint' ? formatUsd(value) : brief(value)}`);
  return `no matching machine is free now: ${mode.toLowerCase()}, ${diskGb} GB of disk${cap}${requirements.join('')}`;
}

function brief(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const more = value.length - NAMED_ENTRIES;
  return value.slice(0, NAMED_ENTRIES).join('|') + (more > 0 ? `|… (${more} more)` : '');
}

interface CandidateRow extends HostRow, PricedModel {
  machineId: string;
  hasOldAgent: boolean;
  reportsLoad: boolean;
  supportsVolumes: boolean;
  supportsUsers: boolean;
}

/** SQL for the given machines as stored in the database, each with its host and its model's price. */
const PRICED_MACHINES_SQL = `
  select candidate.id as "machineId", tier, vram_gb as "vramGb", on_demand_rate as "onDemandRate", machine.*
  from machine candidate join (${CURRENT_PRICES}) price using (gpu) join gpu_model on gpu_model.slug = candidate.gpu
    join lateral (
      select ${HOST_COLUMNS}, ${HAS_OLD_AGENT} as "hasOldAgent", ${REPORTS_LOAD} as "reportsLoad",
        ${SUPPORTS_VOLUMES} as "supportsVolumes", ${SUPPORTS_USERS} as "supportsUsers"
      from (${HOSTS}) machine where id = candidate.host_id
    ) machine on true
  where candidate.id = any($1)`;

/** Locks the best machine. The database itself ensures that sold_gpu contains the GPUs of all running instances. */
const LOCK_BEST_SQL = `
  select machine.id as "machineId", holder.ids as "holderIds"
  from unnest($1::text[]) with ordinality as candidate (id, place) join machine on machine.id = candidate.id
    join machine host on host.id = machine.host_id
    cross join lateral (
      select array(
        select distinct account_id from sold_gpu join instance on instance.id = instance_id
        where sold_gpu.host_id = host.id and sold_gpu.gpu between machine.first_gpu and machine.first_gpu + machine.num_gpus - 1
      ) as ids
    ) holder
  where not holder.ids && $2::text[]
  order by place limit 1 for no key update of host skip locked`;
