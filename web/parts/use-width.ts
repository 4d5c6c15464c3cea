import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** An element and its width in CSS pixels, as it is now: a chart is drawn as large as it is seen, so that its text is legible. */
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
