import { computed, signal } from '@preact/signals';

/** The URL contains the view's state, so that the view can be shared, reloaded and navigated back to. */
const address = signal(new URL(location.href));
addEventListener('popstate', () => {
  address.value = new URL(location.href);
});

export const path = computed(() => address.value.pathname);
export const query = computed(() => address.value.searchParams);

/**
 * Returns whether the URL contained the parameter when the page was loaded. In that case, it may have been written by
 * someone else.
 */
export const wasLoadedWith = (name: string): boolean => loaded.has(name);
const loaded = new URLSearchParams(location.search);
// After sign-in, the page continues to this URL, which has the same author.
const next = loaded.get('then') ?? '';
if (URL.canParse(next, location.origin))
  for (const [name, value] of new URL(next, location.origin).searchParams) loaded.append(name, value);

/** Navigates to a path on this origin. Use `replace` for changes that don't deserve their own history entry. */
export function go(to: string, { replace = false } = {}): void {
  const next = new URL(to, location.href);
  if (next.href === location.href) return;
  const isAnotherScreen = next.pathname !== location.pathname;
  history[replace ? 'replaceState' : 'pushState'](null, '', next);
  address.value = next;
  if (isAnotherScreen) scrollTo(0, 0);
}

/** Sets parameters in the URL, or removes those that are null. All others are kept. */
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

/** Adds parameters to a path. Commas are not encoded, which is allowed and easier to read. */
export function withParameters(to: string, parameters: URLSearchParams): string {
  return `${to}${parameters.size === 0 ? '' : `?${textOf(parameters)}`}`;
}

export const textOf = (parameters: URLSearchParams): string => parameters.toString().replaceAll('%2C', ',');

/** Returns the named parameters that the URL contains, in the order of `names`. */
export function presentParameters(names: readonly string[]): URLSearchParams {
  const parameters = new URLSearchParams();
  for (const name of names) {
    const value = query.value.get(name);
    if (value !== null) parameters.set(name, value);
  }
  return parameters;
}

/** Handles links within the console without reloading the page. */
addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = (event.target as Element).closest<HTMLAnchorElement>('a[href]');
  if (link === null || link.origin !== location.origin || link.target !== '' || link.hasAttribute('download')) return;
  if (link.hash !== '' && link.pathname === location.pathname) return;
  if (/^\/(graphql|v1|healthz|readyz|verify)\b/.test(link.pathname)) return;
  event.preventDefault();
  go(link.href);
});
