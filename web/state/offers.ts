import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { OfferSearch } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { chosenGpus, filter, isFilterKnown, type OfferFilter, type OfferSort, TIERS, typedModel } from './filters.js';
import { query } from './location.js';
import { marketChanges, models, regionName } from './market.js';
import { regained } from './stream.js';

export type Offer = ResultOf<typeof OfferSearch>['offerSearch']['edges'][number]['node'];

/** The API's maximum page size. */
const PAGE = 100;
/** Maximum number of machines that the page holds. */
export const MAX_OFFERS = 2_000;

/**
 * Sorting by a column. If the API supports it, the machines are read page by page. Otherwise, all of them are read
 * first.
 */
interface Order {
  api: OfferSort | null;
  /** Returns the value to sort by. Smaller values come first unless `desc` is set. */
  value(offer: Offer): number | string;
}

const onDemand = ({ pricePerHour }: Offer) => pricePerHour.onDemand;
export const ORDERS = {
  PRICE_PER_GPU: { api: 'PRICE_PER_GPU', value: (offer) => onDemand(offer) / offer.numGpus },
  PRICE: { api: 'PRICE', value: onDemand },
  RELIABILITY: { api: 'RELIABILITY', value: ({ reliability }) => -reliability },
  BANDWIDTH: { api: null, value: (offer) => -(bandwidthOf(offer) ?? 0) },
  VRAM: { api: null, value: (offer) => -(models.value.get(offer.gpu)?.vramGb ?? 0) * offer.numGpus },
  CPU: { api: null, value: ({ vcpus }) => -vcpus },
  MEMORY: { api: null, value: ({ ramGb }) => -ramGb },
  DISK: { api: null, value: ({ diskGb }) => -diskGb },
  NETWORK: { api: null, value: ({ netMbps }) => -netMbps.down },
  REGION: { api: null, value: ({ region }) => regionName(region) },
} as const satisfies Record<string, Order>;
export type OrderName = keyof typeof ORDERS;

/**
 * Returns the total memory bandwidth of the machine's GPUs in GB/s, as published by their vendor, or undefined if it is
 * unknown.
 */
export function bandwidthOf({ gpu, numGpus }: Offer): number | undefined {
  const one = models.value.get(gpu)?.gpuModel?.memoryBandwidth;
  return one == null ? undefined : one * numGpus;
}

/**
 * The default if neither an order nor models are chosen. The classes are in order of demand, and each is sorted by
 * price.
 */
const BY_CLASS = 'CLASS';

/** Whether the URL selects models, by name or by class. */
export const isNarrow = computed(
  () => chosenGpus.value.length > 0 || typedModel.value !== '' || query.value.has('tier'),
);

/** Whether a column is selected for sorting, in which case only that column determines the order. */
const isSorted = computed(() => Object.hasOwn(ORDERS, query.value.get('sort') ?? ''));

/** The order selected in the URL. The default is by machine price, or by class while no model is chosen. */
export const order = computed<OrderName | typeof BY_CLASS>(() => {
  if (isSorted.value) return query.value.get('sort') as OrderName;
  return isNarrow.value ? 'PRICE' : BY_CLASS;
});

/** Returns the searches for matching machines, in execution order. */
function searches(wanted: OfferFilter): { filter: OfferFilter; sort: OfferSort }[] {
  if (order.value !== BY_CLASS) return [{ filter: wanted, sort: ORDERS[order.value].api ?? 'PRICE' }];
  return TIERS.map((tier) => ({ filter: { ...wanted, tiers: [tier] }, sort: 'PRICE_PER_GPU' as const }));
}

const countOf = async (wanted: OfferFilter): Promise<number> =>
  (await send(OfferSearch, { filter: wanted, first: 1 })).offerSearch.totalCount;

/**
 * Plans the default order. If there are both kinds, machines that run containers come before those that are only
 * records.
 */
async function unsorted(wanted: OfferFilter): Promise<{ total: number; planned: ReturnType<typeof searches> }> {
  const [total, running] = await Promise.all([countOf(wanted), countOf({ ...wanted, hasAgent: true })]);
  const isMixed = running > 0 && running < total;
  const kinds = isMixed ? [true, false].map((hasAgent) => ({ ...wanted, hasAgent })) : [wanted];
  return { total, planned: kinds.flatMap(searches) };
}

interface Found {
  total: number;
  hasMore: boolean;
  offers: readonly Offer[];
}

export interface Offers {
  found: ReadonlySignal<Found | null>;
  error: ReadonlySignal<unknown>;
  /** Reads the next page if there is one. */
  more(): void;
}

/** Reads the matching machines. When the market changes, as many as had been requested so far are read again. */
export function useOffers(): Offers {
  const offers = useMemo(createOffers, []);
  useEffect(() => offers.start(), []);
  return offers;
}

function createOffers() {
  const found = signal<Found | null>(null);
  const error = signal<unknown>(null);
  /** Number of machines requested. This is one page at first, and one more each time the user comes near the end. */
  const wanted = signal(PAGE);
  const searchKey = computed(() => JSON.stringify([filter.value, order.value]));
  const retry = new Retry();
  let latest = 0;

  const read = async (): Promise<void> => {
    latest += 1;
    const own = latest;
    const sorted = order.value === BY_CLASS ? null : ORDERS[order.value];
    const isWhole = sorted !== null && sorted.api === null;
    const most = isWhole ? MAX_OFFERS : wanted.value;
    const offers: Offer[] = [];
    try {
      const counted = isSorted.value ? null : await unsorted(filter.value);
      if (own !== latest) return;
      const planned = counted?.planned ?? searches(filter.value);
      let total = counted?.total ?? 0;
      for (const { filter: wants, sort } of planned) {
        let after: string | null = null;
        let page: ResultOf<typeof OfferSearch>['offerSearch'] | null = null;
        while (offers.length < most && page?.pageInfo.hasNextPage !== false) {
          const first = Math.min(PAGE, most - offers.length);
          page = (await send(OfferSearch, { filter: wants, sort, first, after })).offerSearch;
          if (own !== latest) return;
          offers.push(...page.edges.map(({ node }) => node));
          after = page.pageInfo.endCursor;
          if (counted === null) total = page.totalCount;
        }
      }
      if (isWhole) sortBy(offers, sorted.value);
      retry.end();
      batch(() => {
        found.value = { total, hasMore: offers.length < total, offers };
        error.value = null;
      });
    } catch (fault) {
      if (own !== latest) return;
      error.value = fault;
      retry.after(fault, () => void read());
    }
  };

  return {
    found,
    error,
    more: () => {
      const { offers = [], hasMore = false } = found.value ?? {};
      if (hasMore && offers.length >= wanted.value) wanted.value = Math.min(MAX_OFFERS, wanted.value + PAGE);
    },
    start: () => {
      let last = searchKey.value;
      const stop = effect(() => {
        marketChanges.value;
        regained.value;
        if (searchKey.value !== last) {
          last = searchKey.value;
          wanted.value = PAGE;
        }
        wanted.value;
        if (isFilterKnown.value) void read();
      });
      return () => {
        latest += 1;
        retry.end();
        stop();
      };
    },
  };
}

/** Sorts offers in place. Equal ones stay sorted by price. */
function sortBy(offers: Offer[], value: Order['value']): void {
  offers.sort((one, other) => {
    const [left, right] = [value(one), value(other)];
    if (typeof left === 'string') return left.localeCompare(String(right));
    return left - Number(right);
  });
}

/** Maximum number of machines to compare, whose ids are in the URL. */
export const MAX_COMPARED = 4;
export const compared = computed<readonly string[]>(() =>
  (query.value.get('compare')?.split(',') ?? []).filter(Boolean).slice(0, MAX_COMPARED),
);
