import { DomainError } from '../../kernel/errors.js';
import { ALL_SIZES, MAX_HOST_GPUS, WHOLE } from '../../kernel/slices.js';

/**
 * A GPU at a fixed position on its host. Containers refer to it by UUID, so the order in which the host detects its
 * GPUs doesn't matter.
 */
export interface HostGpu {
  uuid: string;
  /** Slug of the GPU's model. */
  model: string;
  /** The processors closest to the GPU. Undefined if they aren't known. */
  cpus?: readonly number[] | undefined;
}

/** A host's GPUs by position, and the positions whose GPUs are missing. */
export interface HostLayout {
  gpus: readonly HostGpu[];
  missing: readonly number[];
}

/**
 * Returns the layout of a host on which the GPUs `found` were detected, in the order reported by its agent. GPUs of the
 * same model are placed next to each other. While an instance is rented on the host, `before` contains the host's
 * previous GPUs. Each of them keeps its position, and a new GPU takes the position of a missing one of the same model.
 * Throws invalid_request if there are no GPUs or more GPUs than positions.
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
    const [replacement] = other === -1 ? [] : added.splice(other, 1);
    if (replacement === undefined) missing.push(place);
    return replacement ?? known;
  });
  if (added.length > 0) throw foreign(hostId, before, found);
  return { gpus, missing };
}

/** Returns the positions of the GPUs whose UUIDs are not in the list. */
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

/** Returns a count of GPUs for each model, such as `8 x h100-sxm`. */
export function countedModels(gpus: readonly HostGpu[]): string[] {
  const models = [...new Set(gpus.map(({ model }) => model))];
  return models.map((model) => `${gpus.filter((gpu) => gpu.model === model).length} x ${model}`);
}

/** Parses sizes entered by an operator: `all`, `whole`, or sizes such as `1,2`. Throws invalid_request. */
export function readSizes(text: string): number[] {
  if (text === 'all') return [...ALL_SIZES];
  const sizes = text.split(',').map((each) => (each.trim() === 'whole' ? WHOLE : sizeOf(each.trim())));
  return [...new Set(sizes)];
}

function sizeOf(text: string): number {
  const size = Number(text);
  if (size > 0 && ALL_SIZES.includes(size)) return size;
  throw invalid('--slices must be all, whole, or a comma-separated list of 1, 2, 4, 8 and whole, such as 1,2');
}

/** Formats sizes the way operators enter them. */
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
