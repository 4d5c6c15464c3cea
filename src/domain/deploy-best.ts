import type { Transaction } from '../database/transaction.js';
import type { Deps } from './deps.js';
import { checkOptional, fields, priceLimit } from './fields.js';
import { idempotentRequest } from './idempotency.js';
import { checkTerms, type Outcome, rent, renter, type TermsInput, writeOnce } from './instances.js';
import type { Choice, Chosen } from './ledger.js';
import {
  checkFilter,
  checkList,
  FILTER_VALUES,
  FITTING,
  filterValues,
  type OfferSearchFilter,
  type WantedOffer,
} from './offer-search.js';
import { DomainError } from './rules/errors.js';
import { formatUsd, type Rate } from './rules/money.js';
import { type PricingMode, rateInMode } from './rules/price-rule.js';
import { settleUnlocked } from './settlement.js';

/** Times that a request waits for what others have in hand before it gives up; each time another got a machine. */
const MAX_CLAIMS = 50;
const CLAIM_AGAIN_SECONDS = 1;
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

/** What the best machine is chosen by. */
interface BestWanted {
  filter: WantedOffer;
  /** The only models and regions to take, most wanted first; null: any. */
  gpus: string[] | null;
  regions: string[] | null;
  /** Of the whole machine in the mode. */
  maxRate: Rate | null;
  diskGb: number;
  mode: PricingMode;
}

/**
 * Rents the best machine that fits; a machine that another request has in hand is waited for only when no other fits.
 * Refuses with invalid_request, deploy_failed (also when nothing that fits is free) and unavailable.
 */
export async function deployBest(deps: Deps, accountId: string, input: DeployBestInput): Promise<Outcome> {
  const wanted = checkDeployBest(input);
  const { idempotencyKey, maxRate, ...rest } = wanted;
  const request = idempotentRequest(accountId, idempotencyKey, 'deployBest', [{ ...rest, maxRate: `${maxRate}` }]);
  let awaited: string | null = null;
  for (let attempt = 1; attempt <= MAX_CLAIMS; attempt += 1) {
    await settleUnlocked(deps);
    const scope = { accountIds: [accountId], choice: choiceOf(wanted, awaited) };
    try {
      return await writeOnce(deps, scope, request, async (current) => {
        const account = renter(current, accountId);
        if (current.machine !== undefined) return rent(deps, current, account, current.machine, wanted);
        const inHand = await bestFitting(current.transaction, wanted);
        if (inHand === null) throw new DomainError('deploy_failed', nothingFits(wanted));
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

/** The choice of the best machine for a write. */
function choiceOf(wanted: BestWanted, awaited: string | null): Choice {
  return {
    awaited,
    lockBest: async (transaction, busyAccounts) => {
      const { rows } = await transaction.query<Chosen>({
        name: 'lock-best-machine',
        text: LOCK_BEST_SQL,
        values: [...bestValues(wanted), busyAccounts],
      });
      return rows[0];
    },
    stillFits: async (transaction, machineId) => {
      const values = [...bestValues(wanted), machineId];
      const { rowCount } = await transaction.query({ name: 'machine-still-fits', text: STILL_FITS_SQL, values });
      return rowCount === 1;
    },
  };
}

/** The best machine that fits, whether or not another transaction has it in hand. */
async function bestFitting(transaction: Transaction, wanted: BestWanted): Promise<string | null> {
  const { rows } = await transaction.query<{ machineId: string }>({
    name: 'best-machine',
    text: BEST_SQL,
    values: bestValues(wanted),
  });
  return rows[0]?.machineId ?? null;
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
function nothingFits({ filter, gpus, regions, maxRate, diskGb, mode }: BestWanted): string {
  const cap = maxRate === null ? '' : `, at most ${formatUsd(maxRate)} USD per hour`;
  const asked = Object.entries({ ...filter, preferredGpus: gpus, preferredRegions: regions })
    .filter(([, value]) => value !== null && value !== false)
    .map(([name, value]) => `, ${name} ${name === 'pricePerGpuMax' ? formatUsd(BigInt(`${value}`)) : brief(value)}`);
  return `no machine that fits is free now: ${mode.toLowerCase()}, ${diskGb} GB of disk${cap}${asked.join('')}`;
}

function brief(value: unknown): string {
  if (!Array.isArray(value)) return String(value);
  const more = value.length - NAMED_ENTRIES;
  return value.slice(0, NAMED_ENTRIES).join('|') + (more > 0 ? `|… (${more} more)` : '');
}

function bestValues({ filter, gpus, regions, maxRate, diskGb, mode }: BestWanted): unknown[] {
  const includePreemptible = filter.includePreemptible && mode !== 'INTERRUPTIBLE';
  // The rate of 100 is the mode's share of on-demand in per cent: the rule stays in one place.
  const percent = rateInMode(100n, mode).toString();
  return [
    ...filterValues({ ...filter, includePreemptible }),
    gpus,
    regions,
    maxRate?.toString() ?? null,
    percent,
    diskGb,
  ];
}

/** The filter's parameters come first. */
const BEST_VALUES = FILTER_VALUES + 5;

/**
 * Most wanted model first, within it most wanted region; then cheapest in the mode (which is cheapest on demand), a free
 * machine before one that somebody must leave, then as in the offers.
 */
const BEST_ORDER = `
  array_position($14::text[], fitting.gpu), array_position($15::text[], fitting.region), price, preemptible,
  unreliability, fitting.id`;

const BEST_FITTING = `
  ($14::text[] is null or fitting.gpu = any($14)) and ($15::text[] is null or fitting.region = any($15))
  and ($16::bigint is null or price * $17::bigint / 100 <= $16) and disk_left_gb >= $18::int`;

const BEST_SQL = `${FITTING}
  select id as "machineId" from fitting where ${BEST_FITTING} order by ${BEST_ORDER} limit 1`;

const STILL_FITS_SQL = `${FITTING}
  select from fitting where ${BEST_FITTING} and id = $${BEST_VALUES + 1}`;

const LOCK_BEST_SQL = `${FITTING}
  select machine.id as "machineId", holder.account_id as "holderId"
  from fitting join machine on machine.id = fitting.id
    left join instance holder on holder.machine_id = machine.id and holder.status = 'RUNNING'
  where ${BEST_FITTING} and coalesce(holder.account_id <> all($${BEST_VALUES + 1}::text[]), true)
  order by ${BEST_ORDER} limit 1 for no key update of machine skip locked`;
