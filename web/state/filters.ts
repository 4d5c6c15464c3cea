import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { OfferSearch } from '../graph/documents.js';
import { query } from './location.js';
import { models, sheet } from './market.js';
import { isMeant } from './model-search.js';

type Variables = VariablesOf<typeof OfferSearch>;
export type OfferFilter = NonNullable<Variables['filter']>;
export type OfferSort = NonNullable<Variables['sort']>;

/** In the order in which most people look. */
export const TIERS = ['FLAGSHIP', 'CONSUMER_FLAGSHIP', 'DATACENTER', 'CONSUMER'] as const;

/** Whole numbers of the address, with the bounds that the API has for them. */
const WHOLE = {
  gpus: 8,
  vram: 10_000,
  ram: 1_000_000,
  disk: 1_000_000,
  vcpus: 10_000,
} as const;

function whole(text: string | null, max: number): number | null {
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= max ? Number(text) : null;
}

function decimal(text: string | null): number | null {
  return text !== null && /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : null;
}

const isTier = (text: string | null): text is (typeof TIERS)[number] => TIERS.some((tier) => tier === text);

/** Models chosen one by one. */
export const chosenGpus = computed<readonly string[]>(() => query.value.get('gpu')?.split(',').filter(Boolean) ?? []);
/** What was typed to find models. */
export const typedModel = computed(() => query.value.get('q')?.trim() ?? '');

/** Chooses a model or, when it is chosen already, no longer; the address that says so. */
export function toggledGpu(slug: string): string {
  const chosen = chosenGpus.value;
  return (chosen.includes(slug) ? chosen.filter((other) => other !== slug) : [...chosen, slug]).join(',');
}

/** The API takes an empty list for every model: this one means none. */
const NO_MODEL = '-';
/** The API's bound of a list. */
const MOST_MODELS = 100;

/** The models that are chosen or, without any, those that what was typed means; null for all. */
const wantedGpus = computed<string[] | null>(() => {
  if (chosenGpus.value.length > 0) return chosenGpus.value.slice(0, MOST_MODELS);
  if (typedModel.value === '') return null;
  const meant = [...models.value.values()].filter((model) => isMeant(typedModel.value, model));
  return meant.length === 0 ? [NO_MODEL] : meant.slice(0, MOST_MODELS).map(({ slug }) => slug);
});

/** What was typed means models of the sheet: before that is read nobody knows which. */
export const isFilterKnown = computed(
  () => sheet.value !== null || typedModel.value === '' || chosenGpus.value.length > 0,
);

/** What the address asks of a machine. A value that the API would refuse is as if absent. */
export const filter = computed<OfferFilter>(() => {
  const asked = query.value;
  const [region, tier] = [asked.get('region'), asked.get('tier')];
  const gpus = whole(asked.get('gpus'), WHOLE.gpus);
  const reliability = decimal(asked.get('reliability'));
  return {
    ...(wantedGpus.value !== null && { gpus: wantedGpus.value }),
    ...(region !== null && { regions: [region] }),
    ...(isTier(tier) && { tiers: [tier] }),
    ...(gpus !== null && { numMin: gpus, ...(asked.get('exactly') === '1' && { numMax: gpus }) }),
    pricePerGpuMax: decimal(asked.get('price')),
    vramGbMin: whole(asked.get('vram'), WHOLE.vram),
    ramGbMin: whole(asked.get('ram'), WHOLE.ram),
    diskGbMin: whole(asked.get('disk'), WHOLE.disk),
    vcpusMin: whole(asked.get('vcpus'), WHOLE.vcpus),
    reliabilityMin: reliability === null || reliability > 100 ? null : reliability / 100,
    ...(asked.get('nvlink') === '1' && { nvlink: true }),
    ...(asked.get('busy') === '1' && { includePreemptible: true }),
  };
});

/** What the requirements say beyond models: null when nothing, so that the price sheet itself shows how many GPUs are free. */
export const machineFilter = computed<OfferFilter | null>(() => {
  const { gpus: _gpus, tiers: _tiers, pricePerGpuMax: _price, vramGbMin: _vram, ...rest } = filter.value;
  return Object.values(rest).some((value) => value !== null) ? rest : null;
});

export const FILTER_NAMES = [
  'q',
  'gpu',
  'region',
  'tier',
  'gpus',
  'exactly',
  'price',
  'vram',
  'ram',
  'disk',
  'vcpus',
  'reliability',
  'nvlink',
  'busy',
] as const;
