import { DomainError } from './errors.js';
import { ALL_SIZES, MAX_HOST_GPUS, WHOLE } from './slices.js';

/**
 * A GPU of a host, at its place there. Containers refer to it by UUID, regardless of the order in which the host finds
 * GPUs.
 */
export interface HostGpu {
  uuid: string;
  /** Slug of the model. */
  model: string;
  /** Processors near it; undefined: not known. */
  cpus?: readonly number[] | undefined;
}

/** A host's GPUs by place, and the places of missing GPUs. */
export interface HostLayout {
  gpus: readonly HostGpu[];
  missing: readonly number[];
}

/**
 * Returns the layout of a host that has the GPUs `found`, in the order its agent reports them, with GPUs of one model
 * side by side. While an instance is rented there, each GPU keeps its place of `before`, and a new one of the same
 * model takes the place of a missing one. Refuses with invalid_request more GPUs than there are places, and an empty
 * list.
 */
export function layoutOf(hostId: string, found: readonly HostGpu[], before: readonly HostGpu[] | null): HostLayout {
  if (found.length === 0) throw invalid('no GPUs found; install the driver and check that nvidia-smi lists them');
  if (found.length > MAX_HOST_GPUS) throw invalid(`a host must have 1 to ${MAX_HOST_GPUS} GPUs; found ${found.length}`);
  if (before === null) return { gpus: sideBySide(found), missing: [] };
  const added = found.filter(({ uuid }) => !before.some((known) => known.uuid === uuid));
  const missing: number[] = [];
  const gpus = before.map((known, place) => {
    const same = found.find(({ uuid }) => uuid === known.uuid);
    if (same !== undefined && same.model === known.model) return same;
    const other = added.findIndex(({ model }) => model === known.model);
    if (other !== -1) return added.splice(other, 1)[0]!;
    missing.push(place);
    return known;
  });
  if (added.length > 0) throw foreign(hostId, before, found);
  return { gpus, missing };
}

/** Returns the places of GPUs that are not among the UUIDs. */
export function missingOf(gpus: readonly Pick<HostGpu, 'uuid'>[], uuids: readonly string[]): number[] {
  return gpus.flatMap(({ uuid }, place) => (uuids.includes(uuid) ? [] : [place]));
}

function sideBySide(gpus: readonly HostGpu[]): HostGpu[] {
  const models = [...new Set(gpus.map(({ model }) => model))];
  return models.flatMap((model) => gpus.filter((gpu) => gpu.model === model));
}

function foreign(hostId: string, before: readonly HostGpu[], found: readonly HostGpu[]): DomainError {
  const [was, is] = [before, found].map((gpus) => countedModels(gpus).join(' and '));
  return invalid(`host ${hostId} has instances on ${was}, but found ${is}`);
}

/** Counts the GPUs of each model: `8 x h100-sxm`. */
export function countedModels(gpus: readonly HostGpu[]): string[] {
  const models = [...new Set(gpus.map(({ model }) => model))];
  return models.map((model) => `${gpus.filter((gpu) => gpu.model === model).length} x ${model}`);
}

/** Reads an operator's input: `all`, `whole`, or sizes such as `1,2`. Refuses with invalid_request. */
export function readSizes(text: string): number[] {
  if (text === 'all') return [...ALL_SIZES];
  const sizes = text.split(',').map((each) => (each.trim() === 'whole' ? WHOLE : sizeOf(each.trim())));
  return [...new Set(sizes)];
}

function sizeOf(text: string): number {
  const size = Number(text);
  if (size > 0 && ALL_SIZES.includes(size)) return size;
  throw invalid('--slices must be all, whole, or sizes out of 1, 2, 4, 8 and whole separated by commas, such as 1,2');
}

/** Formats sizes as operators type them. */
export function formatSizes(sizes: readonly number[]): string {
  if (ALL_SIZES.every((size) => sizes.includes(size))) return 'all';
  return [...sizes]
    .sort((one, other) => (one || Infinity) - (other || Infinity))
    .map((size) => size || 'whole')
    .join(',');
}

function invalid(message: string): DomainError {
  return new DomainError('invalid_request', message);
}
