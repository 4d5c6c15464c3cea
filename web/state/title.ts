import { useEffect } from 'preact/hooks';
import { texts } from '../texts/en/house.js';

/** What the tab, the history and a screen reader call the screen. */
export function useTitle(screen: string): void {
  useEffect(() => {
    document.title = texts.titleOf(screen);
  }, [screen]);
}
