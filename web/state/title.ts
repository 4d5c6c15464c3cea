import { useEffect } from 'preact/hooks';

/** What the tab, the history and a screen reader call the screen. */
export function useTitle(screen: string): void {
  useEffect(() => {
    document.title = `${screen} · GPU rental`;
  }, [screen]);
}
