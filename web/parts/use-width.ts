import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Returns a reference for an element and the element's current width in CSS pixels. Charts are drawn at their displayed
 * size, so that their text stays legible.
 */
export function useWidth<Kind extends Element>(): [RefObject<Kind>, number] {
  const element = useRef<Kind>(null) as RefObject<Kind>;
  const [width, setWidth] = useState(480);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry!.contentRect.width)));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
