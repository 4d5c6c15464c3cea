import { useSignal } from '@preact/signals';
import { type Inputs, useEffect, useMemo, useRef } from 'preact/hooks';
import { Retry } from '../graph/retry.js';

/**
 * Reads page after page, on request. Starts again from the beginning when one of `changes` differs. `read` receives the
 * cursor to continue after, which is null at the beginning, and the data so far. Its result replaces that data.
 */
export function usePages<Known>(
  read: (after: string | null, before: Known | null) => Promise<Known | null>,
  changes: Inputs,
) {
  const known = useSignal<Known | null>(null);
  const error = useSignal<unknown>(null);
  const latest = useRef(0);
  const retry = useMemo(() => new Retry(), []);
  const readPage = async (after: string | null): Promise<void> => {
    latest.current += 1;
    const own = latest.current;
    try {
      const next = await read(after, known.peek());
      if (own !== latest.current || next === null) return;
      retry.end();
      known.value = next;
      error.value = null;
    } catch (fault) {
      if (own !== latest.current) return;
      error.value = fault;
      retry.after(fault, () => void readPage(after));
    }
  };
  useEffect(() => void readPage(null), changes);
  useEffect(
    () => () => {
      latest.current += 1;
      retry.end();
    },
    [],
  );
  return { known: known.value, error: error.value, more: (after: string | null) => void readPage(after) };
}
