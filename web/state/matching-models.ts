import { MatchingGpus } from '../graph/documents.js';
import { chosenGpus, filter, machineFilter, typedModel } from './filters.js';
import { type Model, marketChanges, models } from './market.js';
import { matchesModel } from './model-search.js';
import { inScope, scope } from './offers.js';
import { useRead } from './read.js';

/**
 * Returns the models that meet the requirements, with their numbers of matching free GPUs, in the order of the price
 * sheet. Null while unknown.
 */
export function useMatchingModels(): readonly Model[] | null {
  const isRunningOnly = scope.value === 'running';
  const wanted = isRunningOnly ? inScope(machineFilter.value ?? {}) : machineFilter.value;
  const matching = useRead(MatchingGpus, wanted === null ? null : { filter: wanted }, marketChanges).data.value;
  if (scope.value === null || models.value.size === 0 || (isRunningOnly && matching === null)) return null;
  const fitting = [...models.value.values()].filter(fits);
  if (wanted === null || matching === null) return fitting;
  const free = new Map(matching.offerSearch.models.map(({ gpu, gpus }) => [gpu, gpus]));
  return fitting.map((model) => ({ ...model, availableGpus: free.get(model.slug) ?? 0 }));
}

function fits(model: Model): boolean {
  const { slug, tier, vramGb, pricePerGpuHour } = model;
  if (chosenGpus.value.includes(slug)) return true;
  if (!matchesModel(typedModel.value, model)) return false;
  const { tiers, vramGbMin, pricePerGpuMax } = filter.value;
  if (tiers && !tiers.includes(tier)) return false;
  if (vramGbMin && vramGb < vramGbMin) return false;
  return !(typeof pricePerGpuMax === 'number' && pricePerGpuHour.onDemand > pricePerGpuMax);
}
