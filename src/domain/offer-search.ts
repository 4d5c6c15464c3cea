import type { Deps } from './deps.js';
import { checkOptional, type Field, fields, priceLimit } from './fields.js';
import { CURRENT_PRICES, type MachineRow, OFFERED_COLUMNS, OFFERED_MACHINES, toMachine } from './inventory.js';
import type { Offer } from './offers.js';
import type { GpuPrice } from './pricing.js';
import type { Rate } from './rules/money.js';
import { modeRates } from './rules/price-rule.js';

/** What a machine must have. Null, left out and an empty list ask for nothing. */
export interface OfferSearchFilter {
  gpus?: readonly string[] | null;
  regions?: readonly string[] | null;
  tiers?: readonly GpuPrice['tier'][] | null;
  /** Of one GPU. */
  vramGbMin?: number | null;
  nvlink?: boolean | null;
  reliabilityMin?: number | null;
  vcpusMin?: number | null;
  ramGbMin?: number | null;
  diskGbMin?: number | null;
  numMin?: number | null;
  numMax?: number | null;
  /** USD per GPU-hour on demand, whatever the mode. */
  pricePerGpuMax?: number | null;
  /** Also machines that only an interruptible instance holds. */
  includePreemptible?: boolean | null;
}

/** A checked filter: the same wish is the same value, however it was written. */
export type WantedOffer = ReturnType<typeof checkFilter>;

export type OfferSort = 'PRICE' | 'PRICE_PER_GPU' | 'RELIABILITY';

/** Where an offer stands in every sort; prices are on demand. */
export interface OfferPosition {
  pricePerGpu: Rate;
  price: Rate;
  reliability: number;
  machineId: string;
}

export interface OfferSearch {
  filter?: OfferSearchFilter | null;
  sort: OfferSort;
  after: OfferPosition | null;
  before: OfferPosition | null;
  limit: number;
  /** The end of the list rather than its beginning. */
  fromEnd: boolean;
}

export interface OfferPage {
  offers: Offer[];
  /** Offers that fit, on any page. */
  total: number;
  hasPrevious: boolean;
  hasNext: boolean;
}

/** Every sort ends in the order of `offers`: price of the machine, then more reliable, then by machine id. */
const SORT_KEYS: Record<OfferSort, readonly SortKey[]> = {
  PRICE: ['price', 'unreliability', 'id'],
  PRICE_PER_GPU: ['on_demand_rate', 'price', 'unreliability', 'id'],
  RELIABILITY: ['unreliability', 'price', 'id'],
};

type SortKey = keyof typeof KEY_TYPES;
const KEY_TYPES = { on_demand_rate: 'bigint', price: 'bigint', unreliability: 'float8', id: 'text' } as const;

/** One page of what fits, with the number of all of it, in one statement. */
export async function searchOffers(deps: Deps, search: OfferSearch): Promise<OfferPage> {
  const { sort, after, before, limit, fromEnd } = search;
  const keys = SORT_KEYS[sort];
  const { rows } = await deps.db.pool.query<FoundRow>({
    name: `offer-search-${sort}`,
    text: SEARCH_SQL[sort],
    values: [
      ...filterValues(checkFilter(search.filter)),
      limit,
      fromEnd ? -1 : 1,
      ...keyValues(keys, after),
      ...keyValues(keys, before),
    ],
  });
  const total = rows[0]!.total;
  const found = rows.filter(({ position }) => position !== null);
  return {
    offers: found.map(toOffer),
    total,
    hasPrevious: found.length > 0 ? found[0]!.position! > 1 : after !== null && total > 0,
    hasNext: found.length > 0 ? found.at(-1)!.position! < total : before !== null && total > 0,
  };
}

type FoundRow = MachineRow & { onDemandRate: Rate; total: number; position: number | null };

function toOffer({ onDemandRate, total: _, position: __, ...row }: FoundRow): Offer {
  return { ...toMachine(row), pricePerHour: modeRates(onDemandRate) };
}

export function positionOf({ machineId, numGpus, reliability, pricePerHour }: Offer): OfferPosition {
  const price = pricePerHour.onDemand;
  return { pricePerGpu: price / BigInt(numGpus), price, reliability, machineId };
}

export function checkFilter(filter: OfferSearchFilter | null | undefined) {
  const given = filter ?? {};
  return {
    gpus: checkSet('gpus', fields.gpus, given.gpus),
    regions: checkSet('regions', fields.regions, given.regions),
    tiers: checkSet('tiers', fields.tiers, given.tiers),
    vramGbMin: checkOptional('vramGbMin', fields.vramGbMin, given.vramGbMin) ?? null,
    nvlink: given.nvlink ?? null,
    reliabilityMin: checkOptional('reliabilityMin', fields.reliabilityMin, given.reliabilityMin) ?? null,
    vcpusMin: checkOptional('vcpusMin', fields.vcpusMin, given.vcpusMin) ?? null,
    ramGbMin: checkOptional('ramGbMin', fields.ramGbMin, given.ramGbMin) ?? null,
    diskGbMin: checkOptional('diskGbMin', fields.diskGbMin, given.diskGbMin) ?? null,
    numMin: checkOptional('numMin', fields.numMin, given.numMin)!,
    numMax: checkOptional('numMax', fields.numMax, given.numMax) ?? null,
    pricePerGpuMax:
      priceLimit(checkOptional('pricePerGpuMax', fields.pricePerGpuMax, given.pricePerGpuMax))?.toString() ?? null,
    includePreemptible: given.includePreemptible ?? false,
  };
}

/** The list in its order, each entry once; null when it asks for nothing. */
export function checkList<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  const list = [...new Set(checkOptional(name, field, value) ?? [])];
  return list.length === 0 ? null : list;
}

function checkSet<T>(name: string, field: Field<T[]>, value: readonly T[] | null | undefined): T[] | null {
  return checkList(name, field, value)?.sort() ?? null;
}

export function filterValues(wanted: WantedOffer): unknown[] {
  return [
    wanted.gpus,
    wanted.regions,
    wanted.tiers,
    wanted.vramGbMin,
    wanted.nvlink,
    wanted.reliabilityMin,
    wanted.vcpusMin,
    wanted.ramGbMin,
    wanted.diskGbMin,
    wanted.numMin,
    wanted.numMax,
    wanted.pricePerGpuMax,
    wanted.includePreemptible,
  ];
}

function keyValues(keys: readonly SortKey[], position: OfferPosition | null): (string | number | null)[] {
  if (position === null) return keys.map(() => null);
  const { pricePerGpu, price, reliability, machineId } = position;
  const values = {
    on_demand_rate: pricePerGpu.toString(),
    price: price.toString(),
    unreliability: -reliability,
    id: machineId,
  };
  return keys.map((key) => values[key]);
}

/** Parameters of FITTING. */
export const FILTER_VALUES = 13;

/** SQL for what fits a filter, `fitting`: offered machines with `on_demand_rate` of a GPU and `price` of the whole. */
export const FITTING = `
  with price as (${CURRENT_PRICES}), offered as (${OFFERED_MACHINES}), fitting as (
    select offered.*, on_demand_rate, on_demand_rate * num_gpus as price, -reliability as unreliability
    from offered join price using (gpu) join gpu_model on gpu_model.slug = gpu
    where ($1::text[] is null or gpu = any($1)) and ($2::text[] is null or region = any($2))
      and ($3::text[] is null or tier::text = any($3)) and ($4::int is null or vram_gb >= $4)
      and ($5::boolean is null or offered.nvlink = $5) and ($6::float8 is null or reliability >= $6)
      and ($7::int is null or vcpus >= $7) and ($8::int is null or ram_gb >= $8)
      and ($9::int is null or disk_left_gb >= $9) and num_gpus >= $10::int and ($11::int is null or num_gpus <= $11)
      and ($12::bigint is null or on_demand_rate <= $12) and ($13::boolean or not preemptible)
  )`;

const SEARCH_SQL: Record<OfferSort, string> = {
  PRICE: searchSql(SORT_KEYS.PRICE),
  PRICE_PER_GPU: searchSql(SORT_KEYS.PRICE_PER_GPU),
  RELIABILITY: searchSql(SORT_KEYS.RELIABILITY),
};

function searchSql(keys: readonly SortKey[]): string {
  const limit = FILTER_VALUES + 1;
  const direction = limit + 1;
  const after = direction + 1;
  const before = after + keys.length;
  const order = keys.join(', ');
  const cursor = (first: number) => keys.map((key, index) => `$${first + index}::${KEY_TYPES[key]}`).join(', ');
  return `${FITTING}, ranked as (
    select *, row_number() over (order by ${order})::int as position from fitting
  ), page as (
    select * from ranked
    where ($${after}::${KEY_TYPES[keys[0]!]} is null or (${order}) > (${cursor(after)}))
      and ($${before}::${KEY_TYPES[keys[0]!]} is null or (${order}) < (${cursor(before)}))
    order by position * $${direction}::int limit $${limit}::int
  )
  select total, position, ${OFFERED_COLUMNS}, on_demand_rate * num_gpus as "onDemandRate"
  from (select count(*)::int as total from fitting) counted left join page on true order by position`;
}
