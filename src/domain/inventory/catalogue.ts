import type { GpuModel, Region, Template } from '../../database/generated/client/client.js';
import { modelsNamed } from '../kernel/gpu-names.js';
import type { InventoryDeps } from './deps.js';

/** Returns all GPU models in catalogue order. */
export async function gpuModels(deps: Pick<InventoryDeps, 'inventory'>): Promise<readonly GpuModel[]> {
  return (await deps.inventory.current()).catalogue.gpuModels;
}

/** Returns the models that match a name, which can be a slug, a display name, or a name shared by several models. */
export async function gpuModelsNamed(
  deps: Pick<InventoryDeps, 'inventory'>,
  name: string,
): Promise<readonly GpuModel[]> {
  return modelsNamed(await gpuModels(deps), name);
}

/** Returns a model, or null if the slug is unknown. */
export async function findGpuModel(deps: Pick<InventoryDeps, 'inventory'>, slug: string): Promise<GpuModel | null> {
  return (await gpuModels(deps)).find((model) => model.slug === slug) ?? null;
}

export async function regions(deps: Pick<InventoryDeps, 'inventory'>): Promise<readonly Region[]> {
  return (await deps.inventory.current()).catalogue.regions;
}

/** Returns a region, or null if the code is unknown. */
export async function findRegion(deps: Pick<InventoryDeps, 'inventory'>, code: string): Promise<Region | null> {
  return (await regions(deps)).find((region) => region.code === code) ?? null;
}

/** Returns a template, or null if the slug is unknown. */
export async function findTemplate(deps: Pick<InventoryDeps, 'inventory'>, slug: string): Promise<Template | null> {
  return (await templates(deps)).find((template) => template.slug === slug) ?? null;
}

export async function templates(deps: Pick<InventoryDeps, 'inventory'>): Promise<readonly Template[]> {
  return (await deps.inventory.current()).catalogue.templates;
}
