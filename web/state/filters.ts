import { computed } from '@preact/signals';
import type { VariablesOf } from 'gql.tada';
import type { OfferSearch } from '../graph/documents.js';
import { query } from './location.js';
import { models, sheet } from './market.js';
import { matchesModel } from './model-search.js';

type Variables = VariablesOf<typeof OfferSearch>;
export type OfferFilter = NonNullable<Variables['filter']>;
export type OfferSort = NonNullable<Variables['sort']>;

/** The model classes, in order of demand. */
export const TIERS = ['FLAGSHIP', 'CONSUMER_FLAGSHIP', 'DATACENTER', 'CONSUMER'] as const;

/** Parameters that are whole numbers, with the API's bounds. */
const BOUNDS = {
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

/** The models that were chosen individually. */
export const chosenGpus = computed<readonly string[]>(() => query.value.get('gpu')?.split(',').filter(Boolean) ?? []);
/** The text typed to find models. */
export const typedModel = computed(() => query.value.get('q')?.trim() ?? '');

/** Returns the URL that results from toggling a model. */
export function toggledGpu(slug: string): string {
  const chosen = chosenGpus.value;
  return (chosen.includes(slug) ? chosen.filter((other) => other !== slug) : [...chosen, slug]).join(',');
}

/** Stands for no model, because the API interprets an empty list as all models. */
export const NO_MODEL = '-';
/** The API's maximum list length. */
const MAX_MODELS = 100;

/** The chosen models or, if there are none, those that match the typed text. Null stands for all models. */
const wantedGpus = computed<string[] | null>(() => {
  if (chosenGpus.value.length > 0) return chosenGpus.value.slice(0, MAX_MODELS);
  if (typedModel.value === '') return null;
  const matching = [...models.value.values()].filter((model) => matchesModel(typedModel.value, model));
  return matching.length === 0 ? [NO_MODEL] : matching.slice(0, MAX_MODELS).map(({ slug }) => slug);
});

/** Whether the filter is known. The typed text is matched against the price sheet, which must have been read first. */
export const isFilterKnown = computed(
  () => sheet.value !== null || typedModel.value === '' || chosenGpus.value.length > 0,
);

/** The machine requirements from the URL. Values that the API would reject are ignored. */
export const filter = computed<OfferFilter>(() => {
  const parameters = query.value;
  const [region, tier] = [parameters.get('region'), parameters.get('tier')];
  const gpus = whole(parameters.get('gpus'), BOUNDS.gpus);
  const reliability = decimal(parameters.get('reliability'));
  return {
    ...(wantedGpus.value !== null && { gpus: wantedGpus.value }),
    ...(region !== null && { regions: [region] }),
    ...(isTier(tier) && { tiers: [tier] }),
    ...(gpus !== null && { numMin: gpus, ...(parameters.get('exactly') === '1' && { numMax: gpus }) }),
    pricePerGpuMax: decimal(parameters.get('price')),
    vramGbMin: whole(parameters.get('vram'), BOUNDS.vram),
    ramGbMin: whole(parameters.get('ram'), BOUNDS.ram),
    diskGbMin: whole(parameters.get('disk'), BOUNDS.disk),
    vcpusMin: whole(parameters.get('vcpus'), BOUNDS.vcpus),
    reliabilityMin: reliability === null || reliability > 100 ? null : reliability / 100,
    ...(parameters.get('nvlink') === '1' && { nvlink: true }),
    ...(parameters.get('busy') === '1' && { includePreemptible: true }),
  };
});

/**
 * The requirements other than models. Null if there are none, in which case the price sheet itself contains the numbers
 * of free GPUs.
 */
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
