import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Returns an element and its current width in CSS pixels: charts are drawn at the displayed size, so that their text is
 * legible.
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
