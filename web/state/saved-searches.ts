import { signal } from '@preact/signals';
import { FILTER_NAMES } from './filters.js';
import { askedOf, textOf } from './location.js';

/** A search of machines under a name that its owner gave; this browser keeps it. */
export interface SavedSearch {
  name: string;
  /** Of the address, without a question mark: what the Machines screen shows for it. */
  search: string;
}

const KEPT_AS = 'saved-searches';
export const MOST_SEARCHES = 50;
export const MOST_NAME = 60;
const MOST_SEARCH = 2_000;
/** What of an address of the Machines screen belongs to a search. */
const NAMES: readonly string[] = [...FILTER_NAMES, 'sort', 'priced'];

/** Whether the browser keeps them beyond this page. */
export const isKept = signal(true);
/** By name, as people sort them. */
export const savedSearches = signal<readonly SavedSearch[]>(read());

// Another tab changed them.
addEventListener('storage', ({ key }) => {
  if (key === KEPT_AS || key === null) savedSearches.value = read();
});

/** What is looked for now, in the order of the fields; empty for all machines. */
export function searchNow(): string {
  return textOf(askedOf(NAMES)).slice(0, MOST_SEARCH);
}

/** Keeps it; under a name that is used, instead of that. False when there are too many. */
export function saveSearch({ name, search }: SavedSearch): boolean {
  const others = read().filter((one) => one.name !== name);
  if (others.length >= MOST_SEARCHES) return false;
  write([...others, { name, search }]);
  return true;
}

export function renameSearch(name: string, next: string): void {
  const found = read().find((one) => one.name === name);
  if (found === undefined || next === '' || next === name) return;
  write([...read().filter((one) => one.name !== name && one.name !== next), { ...found, name: next }]);
}

export function removeSearch(name: string): void {
  write(read().filter((one) => one.name !== name));
}

export const pathOfSearch = ({ search }: SavedSearch): string => `/machines${search === '' ? '' : `?${search}`}`;

/** Whatever else somebody put there is left out. */
function read(): SavedSearch[] {
  // A browser that keeps nothing has what this page was told.
  if (!isKept.peek()) return [...savedSearches.peek()];
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEPT_AS) ?? '[]');
    return Array.isArray(kept) ? sorted(kept.filter(isSearch).slice(0, MOST_SEARCHES)) : [];
  } catch {
    return [];
  }
}

function write(searches: readonly SavedSearch[]): void {
  savedSearches.value = sorted(searches);
  try {
    localStorage.setItem(KEPT_AS, JSON.stringify(savedSearches.value));
    isKept.value = true;
  } catch {
    isKept.value = false;
  }
}

function sorted(searches: readonly SavedSearch[]): SavedSearch[] {
  const own = searches.map(({ name, search }) => ({ name, search }));
  return own.sort((one, other) => one.name.localeCompare(other.name));
}

function isSearch(one: unknown): one is SavedSearch {
  const { name, search } = (one ?? {}) as Record<string, unknown>;
  const isText = typeof name === 'string' && typeof search === 'string';
  return isText && name !== '' && name.length <= MOST_NAME && search.length <= MOST_SEARCH && !/^[/?#]/.test(search);
}
