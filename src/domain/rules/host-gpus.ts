import { DomainError } from './errors.js';
import { ALL_SIZES, MAX_HOST_GPUS, WHOLE } from './slices.js';

/** A GPU of a host, at its place there: what runs on it is told by its UUID, whatever order the host finds it in. */
export interface HostGpu {
  uuid: string;
  /** Slug. */
  model: string;
  /** Its processors; left out: not known. */
  cpus?: readonly number[] | undefined;
}

/** A host's GPUs by place, and the places of those that are not there. */
export interface HostLayout {
  gpus: readonly HostGpu[];
  missing: readonly number[];
}

/**
 * The layout of a host that has the GPUs `found`, in the order that its agent gives them: those of one model side by
 * side. While something is rented there, each GPU keeps its place of `before`, and a new one of the same model gets the
 * place of one that is gone. Refuses with invalid_request more GPUs than there are places then, and no GPU at all.
 */
export function layoutOf(hostId: string, found: readonly HostGpu[], before: readonly HostGpu[] | null): HostLayout {
  if (found.length === 0) throw invalid('no GPU was found; the driver must be installed and nvidia-smi must list it');
  if (found.length > MAX_HOST_GPUS) throw invalid(`a host has 1 to ${MAX_HOST_GPUS} GPUs; ${found.length} were found`);
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

/** Places of GPUs that are not among the UUIDs. */
export function missingOf(gpus: readonly Pick<HostGpu, 'uuid'>[], uuids: readonly string[]): number[] {
  return gpus.flatMap(({ uuid }, place) => (uuids.includes(uuid) ? [] : [place]));
}

function sideBySide(gpus: readonly HostGpu[]): HostGpu[] {
  const models = [...new Set(gpus.map(({ model }) => model))];
  return models.flatMap((model) => gpus.filter((gpu) => gpu.model === model));
}

function foreign(hostId: string, before: readonly HostGpu[], found: readonly HostGpu[]): DomainError {
  const [was, is] = [before, found].map((gpus) => countedModels(gpus).join(' and '));
  return invalid(`host ${hostId} has instances on ${was}; found were ${is}`);
}

/** Each model with its number: `8 x h100-sxm`. */
export function countedModels(gpus: readonly HostGpu[]): string[] {
  const models = [...new Set(gpus.map(({ model }) => model))];
  return models.map((model) => `${gpus.filter((gpu) => gpu.model === model).length} x ${model}`);
}

/** What an operator types: `all`, `whole`, or sizes such as `1,2`. Refuses with invalid_request. */
export function readSizes(text: string): number[] {
  if (text === 'all') return [...ALL_SIZES];
  const sizes = text.split(',').map((each) => (each.trim() === 'whole' ? WHOLE : sizeOf(each.trim())));
  return [...new Set(sizes)];
}

function sizeOf(text: string): number {
  const size = Number(text);
  if (size > 0 && ALL_SIZES.includes(size)) return size;
  throw invalid('--slices must be all, whole, or sizes of 1, 2, 4, 8 and whole with commas between, such as 1,2');
}

/** As an operator types them. */
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
