import { useLayoutEffect } from 'preact/hooks';

/**
 * Marks the page while a component is shown. With a selector such as `main:has(.terminals)` instead, each change of a
 * long list would compute the styles of all its rows again.
 */
export function usePageClass(...names: readonly string[]): void {
  useLayoutEffect(() => {
    const { classList } = document.documentElement;
    classList.add(...names);
    return () => classList.remove(...names);
  }, [names.join(' ')]);
}
