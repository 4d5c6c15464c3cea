import { titleOf } from '../figures/instance-title.js';
import { hasLabels, requirementsOf } from '../figures/labels.js';
import { runningFirst, type Status, statusOf, TONES } from '../figures/status.js';
import { secondsOf } from '../figures/time.js';
import type { Instance } from './account.js';

/** The columns that a list of instances can be sorted by, each with whether it starts with the highest value. */
export const SORTS = {
  name: false,
  status: false,
  gpus: true,
  load: true,
  uptime: true,
  location: false,
  rate: true,
  cost: true,
} as const;
export type Sort = keyof typeof SORTS;

export interface InstanceFilter {
  /** Words that must all occur in an instance's name, id, template, model, location or labels. */
  words: readonly string[];
  status: Status | null;
  model: string | null;
  /** Labels that the instances must have: `key=value`, or `key` for any value. */
  labels: readonly string[];
  /** If null, running instances come first. Otherwise, the order is that of the account: newest first. */
  sort: Sort | null;
  isDescending: boolean;
}

/** Figures and names that a list shows of an instance in addition to its own properties. */
export interface Shown {
  model(slug: string): string;
  location(code: string): string;
  load(id: string): number | null;
  rate(instance: Instance): bigint;
  cost(instance: Instance): bigint;
}

/** Reads the filter from the URL. Values that no list offers are ignored. */
export function instanceFilterOf(parameters: URLSearchParams): InstanceFilter {
  const status = parameters.get('status') ?? '';
  const sort = parameters.get('sort') ?? '';
  const by = sort.replace(/^-/, '');
  const known = by in SORTS;
  return {
    words: wordsOf(parameters.get('q') ?? ''),
    status: status in TONES ? (status as Status) : null,
    model: parameters.get('model'),
    labels: parameters.get('labels')?.split(',').filter(Boolean) ?? [],
    sort: known ? (by as Sort) : null,
    isDescending: known && sort.startsWith('-'),
  };
}

/** Returns the words of a search. */
export const wordsOf = (text: string): readonly string[] => text.toLowerCase().split(/\s+/).filter(Boolean);

/**
 * Returns the sort parameter after a click on a column's heading: first in the column's own direction, then in the
 * other one, then none.
 */
export function nextSort({ sort, isDescending }: InstanceFilter, column: Sort): string | null {
  const parameter = (isDown: boolean) => `${isDown ? '-' : ''}${column}`;
  if (sort !== column) return parameter(SORTS[column]);
  return isDescending === SORTS[column] ? parameter(!isDescending) : null;
}

/** Returns whether all words occur in what is known about the instance. */
export function hasWords(
  { id, name, template, gpu, region, labels }: Instance,
  words: readonly string[],
  { model, location }: Pick<Shown, 'model' | 'location'>,
): boolean {
  if (words.length === 0) return true;
  const known = [name, id, template, gpu, model(gpu), region, location(region), ...requirementsOf(labels)]
    .join('\n')
    .toLowerCase();
  return words.every((word) => known.includes(word));
}

/** Returns the instances that meet the filter, in its order. Equal ones keep the account's order. */
export function filteredInstances(
  instances: readonly Instance[],
  filter: InstanceFilter,
  shown: Shown,
): readonly Instance[] {
  const { words, status, model, labels, sort, isDescending } = filter;
  const found = instances.filter(
    (instance) =>
      (status === null || statusOf(instance) === status) &&
      (model === null || instance.gpu === model) &&
      hasLabels(instance.labels, labels) &&
      hasWords(instance, words, shown),
  );
  if (sort === null) return runningFirst(found);
  const keyed = found.map((instance) => ({ instance, key: keyOf(instance, sort, shown) }));
  const sign = isDescending ? -1 : 1;
  return keyed.sort((one, other) => sign * compared(one.key, other.key)).map(({ instance }) => instance);
}

type Key = string | number | bigint;

function keyOf(instance: Instance, sort: Sort, shown: Shown): Key {
  switch (sort) {
    case 'name':
      return `${titleOf(instance)} ${instance.id}`;
    case 'status':
      return statusOf(instance);
    case 'gpus':
      return instance.numGpus;
    case 'load':
      // An unknown load is lower than any known one.
      return shown.load(instance.id) ?? -1;
    case 'uptime':
      // A stopped instance has run for a shorter time than any other.
      return instance.runningSince === null ? -Number.MAX_VALUE : -secondsOf(instance.runningSince);
    case 'location':
      return shown.location(instance.region);
    default:
      return shown[sort](instance);
  }
}

const names = new Intl.Collator(undefined, { numeric: true });

function compared(one: Key, other: Key): number {
  if (typeof one === 'string' || typeof other === 'string') return names.compare(String(one), String(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Returns how many instances have each value, sorted by value, for the choices of a filter. */
export function countsOf<Value extends string>(
  instances: readonly Instance[],
  valuesOf: (instance: Instance) => readonly Value[],
): readonly (readonly [value: Value, count: number])[] {
  const counts = new Map<Value, number>();
  for (const instance of instances)
    for (const value of valuesOf(instance)) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([one], [other]) => names.compare(one, other));
}
