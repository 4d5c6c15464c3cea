import { gpuModels } from '../inventory/catalogue.js';
import type { InventoryDeps } from '../inventory/deps.js';
import { isSupportedGpu } from './rules/supported-gpu.js';

/** Returns the slugs of the catalogue's models on which vLLM serves language models. */
export async function supportedGpus(deps: Pick<InventoryDeps, 'inventory'>): Promise<string[]> {
  return (await gpuModels(deps)).map(({ slug }) => slug).filter(isSupportedGpu);
}
