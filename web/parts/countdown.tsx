import { useEffect, useState } from 'preact/hooks';

/** Returns the number of whole seconds until a time on the `performance.now()` clock, or 0 once it has passed. */
export function useSecondsUntil(at: number | null): number {
  const [now, tick] = useState(performance.now());
  const left = at === null ? 0 : Math.max(0, Math.ceil((at - Math.max(now, performance.now())) / 1_000));
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => tick(performance.now()), 1_000);
    return () => clearTimeout(timer);
  });
  return left;
}
