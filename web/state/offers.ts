import { batch, computed, effect, type ReadonlySignal, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect, useMemo } from 'preact/hooks';
import { kindsFirst } from '../figures/kinds-first.js';
import { MachineKinds, OfferSearch, PopularOffers, RunningMachines } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { serverNow } from './clock.js';
import {
  chosenGpus,
  filter,
  isFilterKnown,
  NO_MODEL,
  type OfferFilter,
  type OfferSort,
  TIERS,
  typedModel,
} from './filters.js';
import { query, setQuery } from './location.js';
import { marketChanges, models, regionName, sheet, sheetError } from './market.js';
import { popularModels } from './popular-models.js';
import { useRead } from './read.js';
import { regained } from './stream.js';

export type Offer = ResultOf<typeof OfferSearch>['offerSearch']['edges'][number]['node'];

/** The API's maximum page size. */
export const MAX_PAGE = 100;
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
  VRAM: { api: null, value: (offer) => -(vramOf(offer) ?? 0) },
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

/** Returns the total memory of the machine's GPUs in GB, or undefined while unknown. */
export function vramOf({ gpu, numGpus }: Pick<Offer, 'gpu' | 'numGpus'>): number | undefined {
  const one = models.value.get(gpu)?.vramGb;
  return one === undefined ? undefined : one * numGpus;
}

/**
 * The default if neither an order nor models are chosen. It begins with the cheapest machine of each popular model. The
 * classes follow in order of demand, and each is sorted by price. The first class begins with one machine of each kind
 * in its first page.
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

/** Returns the cheapest matching machine of each popular model that has one. */
async function popularOffers(wanted: OfferFilter): Promise<Offer[]> {
  const slugs = popularModels([...models.peek().values()]).map(({ slug }) => slug);
  const of = (place: number): OfferFilter => ({ ...wanted, gpus: [slugs[place] ?? NO_MODEL] });
  const found = await send(PopularOffers, { a: of(0), b: of(1), c: of(2), d: of(3), e: of(4), f: of(5) });
  return [found.a, found.b, found.c, found.d, found.e, found.f].flatMap(({ edges }) => edges.map(({ node }) => node));
}

/** Whether any machine on the market runs containers. Null while unknown. */
const isAnyRunning = signal<boolean | null>(null);

/**
 * The kinds of machines that are listed. Machines without a host agent are included if the URL says so, or if the
 * market has no others. Null while unknown.
 */
export const scope = computed(() => {
  if (isAnyRunning.value === null) return null;
  if (!isAnyRunning.value) return 'agentless';
  return query.value.get('agentless') === '1' ? 'all' : 'running';
});

/** Restricts a filter to machines that run containers if only those are listed. */
export const inScope = (wanted: OfferFilter): OfferFilter =>
  scope.value === 'running' ? { ...wanted, hasAgent: true } : wanted;

/** Determines the scope for a screen that lists no machines. */
export function useScope(): void {
  const running = useRead(RunningMachines, {}, marketChanges).data.value?.offerSearch.totalCount;
  useEffect(() => {
    if (running !== undefined) isAnyRunning.value = running > 0;
  }, [running]);
}

/** Whether the popular models are known, if the order needs them. */
const isPopularKnown = computed(() => order.value !== BY_CLASS || sheet.value !== null || sheetError.value !== null);

export interface Found {
  total: number;
  /** Number of matching machines without a host agent, whether or not they are shown. */
  agentless: number;
  /** Prices of the cheapest matching machine. Null if no machine matches. */
  cheapest: Offer['pricePerHour'] | null;
  /** Time at which the machines were read, in seconds since 1970. */
  at: number;
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
  const wanted = signal(MAX_PAGE);
  const searchKey = computed(() => JSON.stringify([filter.value, order.value, query.value.get('agentless')]));
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
      const all = filter.value;
      const running = { ...all, hasAgent: true };
      const kinds = await send(MachineKinds, { running, agentless: { ...all, hasAgent: false } });
      if (own !== latest) return;
      isAnyRunning.value = kinds.market.totalCount > 0;
      const isRunningOnly = scope.value === 'running';
      const agentless = kinds.agentless.totalCount;
      const total = kinds.running.totalCount + (isRunningOnly ? 0 : agentless);
      const [cheapest = null] = [kinds.running, ...(isRunningOnly ? [] : [kinds.agentless])]
        .flatMap(({ edges }) => edges.map(({ node }) => node.pricePerHour))
        .sort((one, other) => one.onDemand - other.onDemand);
      const isMixed = kinds.running.totalCount > 0 && agentless > 0;
      // Machines that run containers come first, unless a column determines the order.
      const parts = isMixed && !isSorted.value ? [running, { ...all, hasAgent: false }] : [all];
      for (const part of isRunningOnly ? [running] : parts) {
        const popular = sorted === null && offers.length < most ? await popularOffers(part) : [];
        if (own !== latest) return;
        const isNew = ({ machineId }: Offer) => !popular.some((known) => known.machineId === machineId);
        let isFirstPage = sorted === null && offers.length === 0;
        offers.push(...popular);
        for (const { filter: wants, sort } of searches(part)) {
          let after: string | null = null;
          let page: ResultOf<typeof OfferSearch>['offerSearch'] | null = null;
          while (offers.length < Math.min(most, total) && page?.pageInfo.hasNextPage !== false) {
            const first = Math.min(MAX_PAGE, most - offers.length);
            page = (await send(OfferSearch, { filter: wants, sort, first, after })).offerSearch;
            if (own !== latest) return;
            const nodes = page.edges.map(({ node }) => node).filter(isNew);
            offers.push(...(isFirstPage ? kindsFirst(nodes) : nodes));
            isFirstPage = false;
            after = page.pageInfo.endCursor;
          }
        }
      }
      if (isWhole) sortBy(offers, sorted.value);
      retry.end();
      batch(() => {
        found.value = { total, agentless, cheapest, at: serverNow.peek(), hasMore: offers.length < total, offers };
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
      if (hasMore && offers.length >= wanted.value) wanted.value = Math.min(MAX_OFFERS, wanted.value + MAX_PAGE);
    },
    start: () => {
      let last = searchKey.value;
      const stop = effect(() => {
        marketChanges.value;
        regained.value;
        if (searchKey.value !== last) {
          last = searchKey.value;
          wanted.value = MAX_PAGE;
        }
        wanted.value;
        if (isFilterKnown.value && isPopularKnown.value) void read();
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

/** Adds a machine to the comparison, or removes it, in the URL. */
export function toggleCompared(machineId: string): void {
  const chosen = compared.value;
  const next = chosen.includes(machineId) ? chosen.filter((other) => other !== machineId) : [...chosen, machineId];
  setQuery({ compare: next.join(',') }, { replace: true });
}
