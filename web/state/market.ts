import { computed, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { useEffect } from 'preact/hooks';
import { dayText } from '../figures/time.js';
import { PriceSheet, PricingChanged } from '../graph/documents.js';
import { Retry } from '../graph/retry.js';
import { send } from '../graph/send.js';
import { locale } from '../texts/en/locale.js';
import { texts } from '../texts/en/market.js';
import { places } from '../texts/en/places.js';
import { firstOfDays, serverDay } from './clock.js';
import { keepFollowing } from './stream.js';

type Sheet = ResultOf<typeof PriceSheet>;
export type Model = Sheet['pricing']['data'][number];
export type Region = Sheet['regions'][number];

/** The price sheet and the regions, which are the same for every user. */
export const sheet = signal<Sheet | null>(null);
export const sheetError = signal<unknown>(null);
/** Counts changes in the market, so that searches are repeated. */
export const marketChanges = signal(0);

/** Number of free GPUs by model in the last event, which is newer than the sheet. */
const freeGpus = signal<ReadonlyMap<string, number>>(new Map());

export const models = computed<ReadonlyMap<string, Model>>(
  () =>
    new Map(
      sheet.value?.pricing.data.map((model) => {
        const availableGpus = freeGpus.value.get(model.slug) ?? model.availableGpus;
        return [model.slug, { ...model, availableGpus }];
      }),
    ),
);
export const regions = computed<ReadonlyMap<string, Region>>(
  () =>
    new Map(
      sheet.value?.regions.map((region) => [region.code, { ...region, name: places[region.name] ?? region.name }]),
    ),
);

/** The sheet's date. A different date means that the market has changed. */
export const marketSnapshot = computed(() => sheet.value?.pricing.marketSnapshot ?? null);

/** A text such as "Yesterday’s market prices". Null until the price sheet is known. */
export const marketAge = computed(() => {
  const day = marketSnapshot.value;
  if (day === null) return null;
  if (day === serverDay.value) return texts.today;
  return day === firstOfDays(2) ? texts.yesterday : texts.of(dayText(day));
});

export const modelName = (slug: string): string => models.value.get(slug)?.name ?? slug;
export const regionName = (code: string): string => regions.value.get(code)?.name ?? code;

const countries = new Intl.DisplayNames(locale, { type: 'region', style: 'short' });

/** The regions to choose from: codes with names such as "Frankfurt, Germany". */
export const regionChoices = computed(() =>
  [...regions.value.values()].map(({ code, name, country }) => [code, `${name}, ${countries.of(country)}`] as const),
);

/** Returns a class's models, sorted by their number of free GPUs in descending order. */
export const modelsOf = (tier: Model['tier']): Model[] =>
  [...models.value.values()]
    .filter((model) => model.tier === tier)
    .sort((one, other) => other.availableGpus - one.availableGpus);

const retry = new Retry();

async function readSheet(): Promise<void> {
  try {
    sheet.value = await send(PriceSheet, {});
    sheetError.value = null;
    retry.end();
  } catch (error) {
    sheetError.value = error;
    retry.after(error, () => void readSheet());
  }
}

/** Reads the sheet when a screen opens, unless it is already known. */
export function useSheet(): void {
  useEffect(() => {
    if (sheet.value === null) void readSheet();
  }, []);
}

/** Reads the sheet and keeps it current while a screen shows it. */
export function useMarket(): void {
  useSheet();
  useEffect(followMarket, []);
}

/** Follows changes in the market. Returns a function that stops this. */
function followMarket(): () => void {
  let isFirst = true;
  return keepFollowing(
    PricingChanged,
    {},
    {
      onEvent: ({ pricingChanged: { marketSnapshot, data } }) => {
        const isChanged = data.some(
          ({ slug, availableGpus }) => models.value.get(slug)?.availableGpus !== availableGpus,
        );
        freeGpus.value = new Map(data.map(({ slug, availableGpus }) => [slug, availableGpus]));
        if (sheet.value !== null && sheet.value.pricing.marketSnapshot !== marketSnapshot) void readSheet();
        // The first event only repeats what the page has just read.
        if (!isFirst || (isChanged && sheet.value !== null)) marketChanges.value += 1;
        isFirst = false;
      },
    },
  );
}
