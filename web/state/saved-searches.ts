import { signal } from '@preact/signals';
import { FILTER_NAMES } from './filters.js';
import { presentParameters, textOf } from './location.js';

/** A search that was named by the user and is stored in this browser. */
export interface SavedSearch {
  name: string;
  /** The query string of the list's screen, without the question mark. */
  search: string;
}

/** The lists whose searches can be saved. */
export type SavedKind = 'machines' | 'instances';

export const MAX_SEARCHES = 50;
export const MAX_NAME_LENGTH = 60;
const MAX_SEARCH_LENGTH = 2_000;
/** Parameters of the Instances screen that are part of a search. */
export const INSTANCE_FILTERS = ['q', 'status', 'model', 'labels', 'sort'] as const;

const SAVED = {
  machines: savedOf('saved-searches', '/machines', [...FILTER_NAMES, 'sort', 'priced']),
  instances: savedOf('saved-instance-searches', '/instances', INSTANCE_FILTERS),
};

/** Returns the saved searches of a list. */
export const saved = (kind: SavedKind) => SAVED[kind];

/** The searches are kept under `storageKey`, and consist of the parameters `names` of the screen at `path`. */
function savedOf(storageKey: string, path: string, names: readonly string[]) {
  /** Whether the browser keeps the searches beyond this page. */
  const isKept = signal(true);
  /** The saved searches, sorted by name. */
  const all = signal<readonly SavedSearch[]>([]);
  all.value = read();

  // The searches were changed in another tab.
  addEventListener('storage', ({ key }) => {
    if (key === storageKey || key === null) all.value = read();
  });

  /** Reads the saved searches. Any other data in the storage is ignored. */
  function read(): readonly SavedSearch[] {
    // Without storage, this page's own values are used.
    if (!isKept.peek()) return all.peek();
    try {
      const kept: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '[]');
      return Array.isArray(kept) ? sorted(kept.filter(isSearch).slice(0, MAX_SEARCHES)) : [];
    } catch {
      return [];
    }
  }

  function write(searches: readonly SavedSearch[]): void {
    all.value = sorted(searches);
    try {
      localStorage.setItem(storageKey, JSON.stringify(all.value));
      isKept.value = true;
    } catch {
      isKept.value = false;
    }
  }

  return {
    isKept,
    all,
    /** Returns the current search, with its parameters in the order of the fields. Empty if the list isn't filtered. */
    now: (): string => textOf(presentParameters(names)).slice(0, MAX_SEARCH_LENGTH),
    /** Saves a search, replacing any with the same name. Returns false if there are too many. */
    save({ name, search }: SavedSearch): boolean {
      const others = read().filter((one) => one.name !== name);
      if (others.length >= MAX_SEARCHES) return false;
      write([...others, { name, search }]);
      return true;
    },
    rename(name: string, next: string): void {
      const found = read().find((one) => one.name === name);
      if (found === undefined || next === '' || next === name) return;
      write([...read().filter((one) => one.name !== name && one.name !== next), { ...found, name: next }]);
    },
    remove: (name: string): void => write(read().filter((one) => one.name !== name)),
    pathOf: ({ search }: SavedSearch): string => `${path}${search === '' ? '' : `?${search}`}`,
  };
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
