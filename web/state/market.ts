import { computed, signal } from '@preact/signals';
import type { ResultOf } from 'gql.tada';
import { PriceSheet, PricingChanged } from '../graph/documents.js';
import { send } from '../graph/send.js';
import { keepFollowing } from './stream.js';

type Sheet = ResultOf<typeof PriceSheet>;
export type Model = Sheet['pricing']['data'][number];
export type Region = Sheet['regions'][number];

/** The price sheet and the regions, the same for everybody. */
export const sheet = signal<Sheet | null>(null);
export const sheetError = signal<unknown>(null);
/** Counts what changed in the market: searches are made again. */
export const marketChanges = signal(0);

export const models = computed<ReadonlyMap<string, Model>>(
  () => new Map(sheet.value?.pricing.data.map((model) => [model.slug, model])),
);
export const regions = computed<ReadonlyMap<string, Region>>(
  () => new Map(sheet.value?.regions.map((region) => [region.code, region])),
);

export const modelName = (slug: string): string => models.value.get(slug)?.name ?? slug;
export const regionName = (code: string): string => regions.value.get(code)?.name ?? code;

export async function readSheet(): Promise<void> {
  try {
    sheet.value = await send(PriceSheet, {});
    sheetError.value = null;
  } catch (error) {
    sheetError.value = error;
  }
}

/** Keeps the sheet as it is at the service, for as long as a screen shows it. Returns how to end it. */
export function followMarket(): () => void {
  return keepFollowing(
    PricingChanged,
    {},
    {
      onEvent: ({ pricingChanged: { marketSnapshot, data } }) => {
        const known = sheet.value;
        marketChanges.value += 1;
        if (known === null || known.pricing.marketSnapshot !== marketSnapshot) return void readSheet();
        const free = new Map(data.map(({ slug, availableGpus }) => [slug, availableGpus]));
        const models = known.pricing.data.map((model) => ({
          ...model,
          availableGpus: free.get(model.slug) ?? model.availableGpus,
        }));
        sheet.value = { ...known, pricing: { ...known.pricing, data: models } };
      },
    },
  );
}
