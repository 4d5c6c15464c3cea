import { useEffect } from 'preact/hooks';
import { texts } from '../texts/en/house.js';
import { brandName } from './brand.js';

/** Sets the screen's title for the browser tab, the history and screen readers. */
export function useTitle(screen: string): void {
  useEffect(() => {
    document.title = texts.titleOf(screen, brandName);
  }, [screen]);
}
