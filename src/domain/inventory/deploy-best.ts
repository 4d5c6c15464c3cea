import type { Transaction } from '../../database/transaction.js';
import { nearestName } from '../../nearest-name.js';
import { activeAccount } from '../billing/active-account.js';
import { type IdempotentRequest, idempotentRequest } from '../billing/idempotency.js';
import type { Candidate, MachinePicker, Scope, Write } from '../billing/ledger.js';
import { settleUnlocked } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields, priceLimit } from '../fields.js';
import {
  checkEnds,
  checkTerms,
  countOutcome,
  type Outcome,
  type RentalTerms,
  rent,
  type TermsInput,
  writeOnce,
} from '../instances/instances.js';
import { templateInUse } from '../instances/template-terms.js';
import { HAS_OLD_AGENT, REPORTS_LOAD, SUPPORTS_USERS, SUPPORTS_VOLUMES } from '../machine-condition.js';
import { type BestOffer, bestOffer } from '../rules/best-offer.js';
import { DomainError } from '../rules/errors.js';
import { modelsNamed, type NamedModel } from '../rules/gpu-names.js';
import { needsAgent } from '../rules/launch.js';
import type { Account } from '../rules/lifecycle.js';
import { formatUsd } from '../rules/money.js';
import { groupKeyOf, offerOf, type PricedModel, traitsOf } from '../rules/offer.js';
import { fits } from '../rules/offer-filter.js';
import { compareOffers } from '../rules/offer-order.js';
import { sizeOfVolumes } from '../volumes/attachments.js';
import { CURRENT_PRICES, HOST_COLUMNS, HOSTS, type HostRow, offeredHost } from './inventory.js';
import { checkFilter, checkList, type OfferSearchFilter, withModels } from './offer-search.js';

/** Maximum times that a request waits for a machine locked by others and loses it to another request. */
const MAX_ATTEMPTS = 50;
const RETRY_AFTER_SECONDS = 1;
/** Machines checked by one statement. The first is nearly always free, unless other requests want the same ones. */
const CANDIDATE_BATCH = 50;
/** Maximum list entries named in a refusal. */
const NAMED_ENTRIES = 5;

/** Criteria for choosing the machine. */
export interface Preferences {
  filter?: OfferSearchFilter | null;
  /** The only acceptable models and regions, most preferred first. */
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  /** Maximum USD per hour of the whole machine in the mode. */
  maxPricePerHour?: number | null;
}

export interface DeployBestInput extends TermsInput, Preferences {}

type CheckedDeployBest = ReturnType<typeof checkDeployBest>;

/**
 * Rents the best matching machine. It waits for a machine locked by another request only if no other matches. Refuses
 * with invalid_request, deploy_failed (also if no matching machine is free) and unavailable.
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
  const { idempotencyKey, maxRate, spendLimit, stopWhenIdle, volumes, ...rest } = wanted;
  const limits = {
    maxRate: `${maxRate}`,
    ...(spendLimit !== undefined && { spendLimit: `${spendLimit}` }),
    ...(stopWhenIdle !== undefined && { stopWhenIdle }),
    ...(volumes !== undefined && { volumes }),
  };
  const request = idempotentRequest(accountId, idempotencyKey, 'deployBest', [{ ...rest, ...limits }]);
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
   * Returns the terms of the rental, decided with the rows locked, before it is known whether a machine is free. May
   * refuse.
   */
  prepare(current: Write, account: Account): Promise<RentalTerms>;
  /** Returns the refusal for when no machine matches. */
  refusal(): DomainError;
}

/**
 * Rents the machine for the first account of the scope, once per request. Refuses with unavailable, and as its parts
 * do.
 */
export async function rentBest(
  deps: Deps,
  scope: Scope & { accountIds: readonly [string] },
  request: IdempotentRequest | null,
  { best, prepare, refusal }: BestRental,
): Promise<Outcome> {
  let waitFor: string | null = null;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    await settleUnlocked(deps);
    // Before the transaction: reading needs a connection, and transactions may hold all of them.
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
        // Retried only once: if machines come and go all the time, a refusal would otherwise never be certain.
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
 * Thrown if every matching machine is locked by other requests. The best one is then waited for, with nothing held in
 * the meantime.
 */
class LockedByOthers extends Error {
  readonly machineId: string;

  constructor(machineId: string) {
    super(`machine ${machineId} is locked by another request`);
    this.machineId = machineId;
  }
}

/** Thrown if nothing matches in memory, but the data in memory has changed in the meantime, e.g. by a new price. */
class OffersChanged extends Error {}

/** Requirements for the machine, and the order in which machines are tried. */
export interface Search extends BestOffer {
  /** Whether its host agent must support launches. */
  needsAgent: boolean;
  /** Whether its host agent must start containers as the user of a launch. */
  needsUsers: boolean;
  /** Whether its host agent must report the load of instances. */
  needsLoad: boolean;
  /** Whether its host must be able to mount volumes. */
  needsVolumes: boolean;
  /** A host to exclude; null for none. */
  excludedHost: string | null;
}

/** Creates a picker for the best machine. Offers in memory suggest candidates; locked rows decide. */
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
 * Returns the result of `find` for the first batch of candidates in which it finds anything. Batches come from memory,
 * best first.
 */
async function firstCandidate<T>(
  { inventory }: Deps,
  { criteria, order }: BestOffer,
  find: (machineIds: readonly string[]) => Promise<T | undefined>,
): Promise<T | undefined> {
  const excluded = new Set<string>();
  for (;;) {
    // Read for each batch, because the offers may have changed in the meantime.
    const offers = inventory.latest.offers.best(criteria, order, CANDIDATE_BATCH, excluded);
    if (offers.length === 0) return undefined;
    const machineIds = offers.map(({ machineId }) => machineId);
    const found = await find(machineIds);
    if (found !== undefined) return found;
    for (const id of machineIds) excluded.add(id);
  }
}

/**
 * Returns the machines that match according to the tables, best first, whether or not another transaction has locked
 * them.
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

/** Returns the machine's offer, with the traits of its group; empty if it is not offered. */
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
    gpus: checkList('gpus', fields.preferredGpus, input.gpus),
    regions: checkList('regions', fields.preferredRegions, input.regions),
    maxRate: priceLimit(checkOptional('maxPricePerHour', fields.maxPricePerHour, input.maxPricePerHour)),
  };
}

/** Returns the preferences with names of models replaced by slugs. */
export function inSlugs<Wanted extends ReturnType<typeof checkPreferences>>(
  models: readonly NamedModel[],
  wanted: Wanted,
): Wanted {
  return { ...withModels(models, wanted), filter: withModels(models, wanted.filter) };
}

/** Describes the first model that is not in the catalogue, with a suggestion. */
function unknownModel(models: readonly NamedModel[], { gpus, filter }: ReturnType<typeof checkPreferences>): string {
  const unknown = [...(gpus ?? []), ...(filter.gpus ?? [])].find((name) => modelsNamed(models, name).length === 0);
  if (unknown === undefined) return '';
  const near = nearestName(
    unknown,
    models.map(({ slug }) => slug),
  );
  return `; there is no GPU model ${unknown}${near === null ? '' : `: did you mean ${near}?`}`;
}

/** Describes all requirements, so that the caller sees what to relax. */
export function nothingFits({
  filter,
  gpus,
  regions,
  maxRate,
  diskGb,
  mode,
}: Omit<
  CheckedDeployBest,
  'template' | 'launch' | 'deadlines' | 'spendLimit' | 'stopWhenIdle' | 'volumes' | 'idempotencyKey'
>): string {
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

/** The machines according to the tables, each with its host and the price of its model. */
const PRICED_MACHINES_SQL = `
  select candidate.id as "machineId", tier, vram_gb as "vramGb", on_demand_rate as "onDemandRate", machine.*
  from machine candidate join (${CURRENT_PRICES}) price using (gpu) join gpu_model on gpu_model.slug = candidate.gpu
    join lateral (
      select ${HOST_COLUMNS}, ${HAS_OLD_AGENT} as "hasOldAgent", ${REPORTS_LOAD} as "reportsLoad",
        ${SUPPORTS_VOLUMES} as "supportsVolumes", ${SUPPORTS_USERS} as "supportsUsers"
      from (${HOSTS}) machine where id = candidate.host_id
    ) machine on true
  where candidate.id = any($1)`;

/** The GPUs of a running instance are in sold_gpu: the database itself ensures that. */
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
