import { useSignal } from '@preact/signals';
import { type Inputs, useEffect, useMemo, useRef } from 'preact/hooks';
import { Retry } from '../graph/retry.js';

/**
 * Reads page after page: from the beginning when one of `changes` differs, further on request. `read` receives the
 * cursor to continue after, null for the beginning, and the data so far; its result replaces that.
 */
export function usePages<Known>(
  read: (after: string | null, before: Known | null) => Promise<Known | null>,
  changes: Inputs,
) {
  const known = useSignal<Known | null>(null);
  const error = useSignal<unknown>(null);
  const question = useRef(0);
  const retry = useMemo(() => new Retry(), []);
  const ask = async (after: string | null): Promise<void> => {
    question.current += 1;
    const mine = question.current;
    try {
      const next = await read(after, known.peek());
      if (mine !== question.current || next === null) return;
      retry.end();
      known.value = next;
      error.value = null;
    } catch (fault) {
      if (mine !== question.current) return;
      error.value = fault;
      retry.after(fault, () => void ask(after));
    }
  };
  useEffect(() => void ask(null), changes);
  useEffect(
    () => () => {
      question.current += 1;
      retry.end();
    },
    [],
  );
  return { known: known.value, error: error.value, more: (after: string | null) => void ask(after) };
}
