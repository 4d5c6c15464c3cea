import type { Transaction } from '../../database/transaction.js';
import { idempotentRequest } from '../billing/idempotency.js';
import type { Choice, Chosen } from '../billing/ledger.js';
import { settleUnlocked } from '../billing/settlement.js';
import type { Deps } from '../deps.js';
import { checkOptional, fields, priceLimit } from '../fields.js';
import { checkTerms, type Outcome, rent, renter, type TermsInput, writeOnce } from '../instances/instances.js';
import { DomainError } from '../rules/errors.js';
import { formatUsd } from '../rules/money.js';
import { rateInMode } from '../rules/price-rule.js';
import { CURRENT_PRICES, type MachineRow, OFFERED_COLUMNS, OFFERED_MACHINES, toMachine } from './inventory.js';
import {
  BY_PRICE,
  compareOffers,
  fits,
  type OfferCriteria,
  type OfferOrder,
  type PricedModel,
  traitsOf,
} from './offer-index.js';
import { checkFilter, checkList, criteriaOf, type OfferSearchFilter, onlyOf } from './offer-search.js';

/** Times that a request waits for what others have in hand before it gives up; each time another got a machine. */
const MAX_CLAIMS = 50;
const CLAIM_AGAIN_SECONDS = 1;
/** Machines that are judged at once: the first is nearly always free, unless others are after the same ones. */
const CANDIDATES_AT_ONCE = 50;
/** Entries of a list that a refusal repeats. */
const NAMED_ENTRIES = 5;

export interface DeployBestInput extends TermsInput {
  filter?: OfferSearchFilter | null;
  /** The only models and regions to take, most wanted first. */
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  /** USD per hour of the whole machine in the mode. */
  maxPricePerHour?: number | null;
}

type CheckedDeployBest = ReturnType<typeof checkDeployBest>;

/** What fits, and which of it is better. */
interface Best {
  wanted: OfferCriteria;
  order: OfferOrder;
}

/**
 * Rents the best machine that fits; a machine that another request has in hand is waited for only when no other fits.
 * Refuses with invalid_request, deploy_failed (also when nothing that fits is free) and unavailable.
 */
export async function deployBest(deps: Deps, accountId: string, input: DeployBestInput): Promise<Outcome> {
  const wanted = checkDeployBest(input);
  const { idempotencyKey, maxRate, ...rest } = wanted;
  const request = idempotentRequest(accountId, idempotencyKey, 'deployBest', [{ ...rest, maxRate: `${maxRate}` }]);
  const best = bestOf(wanted);
  let awaited: string | null = null;
  for (let attempt = 1; attempt <= MAX_CLAIMS; attempt += 1) {
    await settleUnlocked(deps);
    // Not in the transaction: what this waits for needs a connection, and all may be those of transactions.
    await deps.inventory.current();
    const scope = { accountIds: [accountId], choice: choiceOf(deps, best, awaited) };
    try {
      return await writeOnce(deps, scope, request, async (current) => {
        const account = renter(current, accountId);
        if (current.machine !== undefined) return rent(deps, current, account, current.machine, wanted);
        const inHand = await firstCandidate(
          deps,
          best,
          async (ids) => (await fittingOf(current.transaction, best, ids))[0],
        );
        if (inHand === undefined) throw new DomainError('deploy_failed', nothingFits(wanted));
        throw new MachineInHand(inHand);
      });
    } catch (error) {
      if (!(error instanceof MachineInHand)) throw error;
      awaited = error.machineId;
    }
  }
  const message = 'others were quicker at every machine that fits; try again';
  throw new DomainError('unavailable', message, { retryAfterSeconds: CLAIM_AGAIN_SECONDS });
}

/** All that fits is in the hands of other requests: its first is to be waited for, with nothing held meanwhile. */
class MachineInHand extends Error {
  readonly machineId: string;

  constructor(machineId: string) {
    super(`machine ${machineId} is in the hands of another request`);
    this.machineId = machineId;
  }
}

/** The choice of the best machine for a write: memory tells which to try, locked rows decide. */
function choiceOf(deps: Deps, best: Best, awaited: string | null): Choice {
  return {
    awaited,
    lockBest: (transaction, busyAccounts) =>
      firstCandidate(deps, best, async (ids) => {
        const { rows } = await transaction.query<Chosen>({
          name: 'lock-best-machine',
          text: LOCK_BEST_SQL,
          values: [await fittingOf(transaction, best, ids), busyAccounts],
        });
        return rows[0];
      }),
    stillFits: async (transaction, machineId) => (await fittingOf(transaction, best, [machineId])).length === 1,
  };
}

/** What `find` finds in the first batch of candidates in which it finds anything; best first, by what is in memory. */
async function firstCandidate<T>(
  { inventory }: Deps,
  { wanted, order }: Best,
  find: (machineIds: readonly string[]) => Promise<T | undefined>,
): Promise<T | undefined> {
  const passed = new Set<string>();
  for (;;) {
    // Anew for each batch: meanwhile it may have changed.
    const offers = inventory.latest.offers.best(wanted, order, CANDIDATES_AT_ONCE, passed);
    if (offers.length === 0) return undefined;
    const machineIds = offers.map(({ machineId }) => machineId);
    const found = await find(machineIds);
    if (found !== undefined) return found;
    for (const id of machineIds) passed.add(id);
  }
}

/** Those of the machines that fit by what the tables say, best first, whether or not another transaction has them in hand. */
async function fittingOf(
  transaction: Transaction,
  { wanted, order }: Best,
  machineIds: readonly string[],
): Promise<string[]> {
  const { rows } = await transaction.query<MachineRow & PricedModel>({
    name: 'best-machines',
    text: OFFERED_SQL,
    values: [machineIds],
  });
  const offers = rows.map(({ tier, vramGb, onDemandRate, ...row }) => {
    const machine = toMachine(row);
    return { ...machine, ...traitsOf(machine, { tier, vramGb, onDemandRate }) };
  });
  return offers
    .filter((offer) => fits(wanted, offer))
    .sort((one, other) => compareOffers(order, one, other))
    .map(({ machineId }) => machineId);
}

function checkDeployBest(input: DeployBestInput) {
  return {
    filter: checkFilter(input.filter),
    gpus: checkList('gpus', fields.preferredGpus, input.gpus),
    regions: checkList('regions', fields.preferredRegions, input.regions),
    maxRate: priceLimit(checkOptional('maxPricePerHour', fields.maxPricePerHour, input.maxPricePerHour)),
    ...checkTerms(input),
  };
}

/** What was asked for, so that the caller sees what to loosen. */
function nothingFits({ filter, gpus, regions, maxRate, diskGb, mode }: CheckedDeployBest): string {
  const cap = maxRate === null ? '' : `, at most ${formatUsd(maxRate)} USD per hour`;
  const asked = Object.entries({ ...filter, preferredGpus: gpus, preferredRegions: regions })
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `, ${name} ${typeof value === 'bigint' ? formatUsd(value) : brief(value)}`);
  return `no machine that fits is free now: ${mode.toLowerCase()}, ${diskGb} GB of disk${cap}${asked.join('')}`;
}

function brief(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const more = value.length - NAMED_ENTRIES;
  return value.slice(0, NAMED_ENTRIES).join('|') + (more > 0 ? `|… (${more} more)` : '');
}

/**
 * Most wanted model first, within it most wanted region; then cheapest in the mode (which is cheapest on demand), a free
 * machine before one that somebody must leave, then as in the offers.
 */
function bestOf({ filter, gpus, regions, maxRate, diskGb, mode }: CheckedDeployBest): Best {
  const includePreemptible = filter.includePreemptible && mode !== 'INTERRUPTIBLE';
  const diskGbMin = Math.max(filter.diskGbMin ?? 0, diskGb);
  const wanted = criteriaOf({ ...filter, includePreemptible, diskGbMin });
  const [gpuRank, regionRank] = [rankIn(gpus), rankIn(regions)];
  return {
    wanted: {
      ...wanted,
      gpu: onlyOf(gpus) ?? wanted.gpu,
      region: onlyOf(regions) ?? wanted.region,
      fitsGroup: (group) =>
        gpuRank(group.gpu) !== undefined &&
        regionRank(group.region) !== undefined &&
        (maxRate === null || rateInMode(group.pricePerHour.onDemand, mode) <= maxRate) &&
        wanted.fitsGroup(group),
    },
    order: {
      ...BY_PRICE,
      first: (one, other) =>
        gpuRank(one.gpu)! - gpuRank(other.gpu)! ||
        regionRank(one.region)! - regionRank(other.region)! ||
        BY_PRICE.first(one, other) ||
        Number(one.preemptible) - Number(other.preemptible),
    },
  };
}

/** Places in a list, of which no list has one for all; undefined for what is not in it. */
function rankIn(list: readonly string[] | null): (entry: string) => number | undefined {
  if (list === null) return () => 0;
  const ranks = new Map(list.map((entry, rank) => [entry, rank]));
  return (entry) => ranks.get(entry);
}

/** What the tables say of those of the machines that are offered. */
const OFFERED_SQL = `
  select ${OFFERED_COLUMNS}, tier, vram_gb as "vramGb", on_demand_rate as "onDemandRate"
  from (${OFFERED_MACHINES}) offered join (${CURRENT_PRICES}) price using (gpu)
    join (select slug as gpu, tier, vram_gb from gpu_model) model using (gpu)
  where id = any($1)`;

const LOCK_BEST_SQL = `
  select machine.id as "machineId", holder.account_id as "holderId"
  from unnest($1::text[]) with ordinality as candidate (id, place) join machine on machine.id = candidate.id
    left join instance holder on holder.machine_id = machine.id and holder.status = 'RUNNING'
  where coalesce(holder.account_id <> all($2::text[]), true)
  order by place limit 1 for no key update of machine skip locked`;
