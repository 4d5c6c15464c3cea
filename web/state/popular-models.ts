import { TIERS } from './filters.js';
import { type Model, sheet } from './market.js';

/** The classes in order of demand, each with its number of models to show first. */
const POPULAR = [
  ['FLAGSHIP', 3],
  ['CONSUMER_FLAGSHIP', 2],
  ['DATACENTER', 1],
] as const;
/** Maximum number of popular models. */
export const MAX_POPULAR = 6;

/**
 * Returns the popular ones of some models, which are those with the most free GPUs in each class, followed by others.
 * The order follows the price sheet as it was read, so that it doesn't change while free GPUs do.
 */
export function popularModels(of: readonly Model[]): Model[] {
  const freeAtFirst = new Map(sheet.value?.pricing.data.map(({ slug, availableGpus }) => [slug, availableGpus]));
  const ranked = of
    .filter(({ availableGpus }) => availableGpus > 0)
    .sort(
      (one, other) =>
        TIERS.indexOf(one.tier) - TIERS.indexOf(other.tier) ||
        freeAtFirst.get(other.slug)! - freeAtFirst.get(one.slug)!,
    );
  const first = POPULAR.flatMap(([tier, most]) => ranked.filter((model) => model.tier === tier).slice(0, most));
  return [...new Set([...first, ...ranked])].slice(0, MAX_POPULAR);
}
