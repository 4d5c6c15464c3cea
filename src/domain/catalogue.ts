import type { GpuModel, Prisma, Region, Template } from '../database/generated/client/client.js';
import type { Deps } from './deps.js';
import { fields } from './fields.js';

/** The catalogue's lists in their own order; each is small and whole. */
const order = { orderBy: { position: 'asc' as const } };

export function gpuModels(deps: Deps, query: Prisma.GpuModelDefaultArgs = {}): Promise<GpuModel[]> {
  return deps.db.prisma.gpuModel.findMany({ ...query, ...order });
}

export async function findGpuModel(
  deps: Deps,
  slug: string,
  query: Prisma.GpuModelDefaultArgs = {},
): Promise<GpuModel | null> {
  const wanted = { ...query, where: { slug } };
  return fields.gpu.schema.safeParse(slug).success ? deps.db.prisma.gpuModel.findUnique(wanted) : null;
}

export function regions(deps: Deps, query: Prisma.RegionDefaultArgs = {}): Promise<Region[]> {
  return deps.db.prisma.region.findMany({ ...query, ...order });
}

export function templates(deps: Deps, query: Prisma.TemplateDefaultArgs = {}): Promise<Template[]> {
  return deps.db.prisma.template.findMany({ ...query, ...order });
}
