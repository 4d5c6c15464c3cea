import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/**
 * Returns a reference for an element and the element's current width and height in CSS pixels. Charts are drawn at their
 * displayed size, so that their text stays legible.
 */
export function useSize<Kind extends Element>(): [RefObject<Kind>, number, number] {
  const element = useRef<Kind>(null) as RefObject<Kind>;
  const [{ width, height }, setSize] = useState({ width: 480, height: 0 });
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setSize(entry!.contentRect));
    observer.observe(element.current!);
    return () => observer.disconnect();
  }, []);
  return [element, Math.round(width), Math.round(height)];
}
