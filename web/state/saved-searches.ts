import { signal } from '@preact/signals';
import { FILTER_NAMES } from './filters.js';
import { presentParameters, textOf } from './location.js';

/** A machine search that was named by the user and is stored in this browser. */
export interface SavedSearch {
  name: string;
  /** The query string of the Machines screen, without the question mark. */
  search: string;
}

const STORAGE_KEY = 'saved-searches';
export const MAX_SEARCHES = 50;
export const MAX_NAME_LENGTH = 60;
const MAX_SEARCH_LENGTH = 2_000;
/** Parameters of the Machines screen that are part of a search. */
const NAMES: readonly string[] = [...FILTER_NAMES, 'sort', 'priced'];

/** Whether the browser keeps the searches beyond this page. */
export const isKept = signal(true);
/** The saved searches, sorted by name. */
export const savedSearches = signal<readonly SavedSearch[]>(read());

// The searches were changed in another tab.
addEventListener('storage', ({ key }) => {
  if (key === STORAGE_KEY || key === null) savedSearches.value = read();
});

/** Returns the current search, with its parameters in the order of the fields. Empty if the list isn't filtered. */
export function searchNow(): string {
  return textOf(presentParameters(NAMES)).slice(0, MAX_SEARCH_LENGTH);
}

/** Saves a search, replacing any with the same name. Returns false if there are too many. */
export function saveSearch({ name, search }: SavedSearch): boolean {
  const others = read().filter((one) => one.name !== name);
  if (others.length >= MAX_SEARCHES) return false;
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

/** Reads the saved searches. Any other data in the storage is ignored. */
function read(): SavedSearch[] {
  // Without storage, this page's own values are used.
  if (!isKept.peek()) return [...savedSearches.peek()];
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? '[]');
    return Array.isArray(kept) ? sorted(kept.filter(isSearch).slice(0, MAX_SEARCHES)) : [];
  } catch {
    return [];
  }
}

function write(searches: readonly SavedSearch[]): void {
  savedSearches.value = sorted(searches);
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(savedSearches.value));
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
  return (
    isText &&
    name !== '' &&
    name.length <= MAX_NAME_LENGTH &&
    search.length <= MAX_SEARCH_LENGTH &&
    !/^[/?#]/.test(search)
  );
}
