import { signal } from '@preact/signals';
import { FILTER_NAMES } from './filters.js';
import { askedOf, textOf } from './location.js';

/** A search of machines under its owner's name for it; this browser keeps it. */
export interface SavedSearch {
  name: string;
  /** Its query string, without a question mark, as on the Machines screen. */
  search: string;
}

const KEPT_AS = 'saved-searches';
export const MOST_SEARCHES = 50;
export const MOST_NAME = 60;
const MOST_SEARCH = 2_000;
/** Parameters of the Machines screen that belong to a search. */
const NAMES: readonly string[] = [...FILTER_NAMES, 'sort', 'priced'];

/** Whether the browser keeps them beyond this page. */
export const isKept = signal(true);
/** Sorted by name. */
export const savedSearches = signal<readonly SavedSearch[]>(read());

// Another tab changed them.
addEventListener('storage', ({ key }) => {
  if (key === KEPT_AS || key === null) savedSearches.value = read();
});

/** The current search, in the order of the fields; empty for all machines. */
export function searchNow(): string {
  return textOf(askedOf(NAMES)).slice(0, MOST_SEARCH);
}

/** Saves it, replacing one of the same name. Returns false if there are too many. */
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

/** Ignores foreign data in the storage. */
function read(): SavedSearch[] {
  // Without storage, this page's own values count.
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
