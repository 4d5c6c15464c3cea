import { computed, signal } from '@preact/signals';

/** The address is the state of what is looked at: everything in it can be shared, reloaded and gone back to. */
const address = signal(new URL(location.href));
addEventListener('popstate', () => {
  address.value = new URL(location.href);
});

export const path = computed(() => address.value.pathname);
export const query = computed(() => address.value.searchParams);

/** Whether the address that the page was loaded with said so: somebody else may have written it. */
export const wasLoadedWith = (name: string): boolean => loaded.has(name);
const loaded = new URLSearchParams(location.search);

/** Goes to a path of this origin; `replace` for a change that nobody wants to go back from one by one. */
export function go(to: string, { replace = false } = {}): void {
  const next = new URL(to, location.href);
  if (next.href === location.href) return;
  const isAnotherScreen = next.pathname !== location.pathname;
  history[replace ? 'replaceState' : 'pushState'](null, '', next);
  address.value = next;
  if (isAnotherScreen) scrollTo(0, 0);
}

/** Sets or, with null, removes parameters of the address, and keeps the others. */
export function setQuery(changes: Record<string, string | null>, options?: { replace?: boolean }): void {
  go(withQuery(changes), options);
}

export function withQuery(changes: Record<string, string | null>): string {
  const next = new URL(address.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.searchParams.delete(name);
    else next.searchParams.set(name, value);
  }
  return withParameters(next.pathname, next.searchParams);
}

/** Commas may stand there as they are, and are easier to read. */
export function withParameters(to: string, asked: URLSearchParams): string {
  return `${to}${asked.size === 0 ? '' : `?${textOf(asked)}`}`;
}

export const textOf = (asked: URLSearchParams): string => asked.toString().replaceAll('%2C', ',');

/** Those of these parameters that the address has, in the order of their names here. */
export function askedOf(names: readonly string[]): URLSearchParams {
  const asked = new URLSearchParams();
  for (const name of names) {
    const value = query.value.get(name);
    if (value !== null) asked.set(name, value);
  }
  return asked;
}

/** Links within the console are followed without loading the page again. */
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href]');
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (link.hash !== '' && link.pathname === location.pathname) return;
  if (/^\/(graphql|v1|healthz|readyz)\b/.test(link.pathname)) return;
  event.preventDefault();
  go(link.href);
});
