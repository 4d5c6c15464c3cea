import { useSignal } from '@preact/signals';

/**
 * Runs a screen's actions one at a time, with the error of the last. `tried` is called after each: without an answer,
 * the action may have happened anyway.
 */
export function useWork(tried: () => void = () => {}) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  /** Returns true when it is done; false if it failed, or another one is in progress. */
  const run = async (work: () => Promise<unknown>): Promise<boolean> => {
    if (isBusy.value) return false;
    isBusy.value = true;
    error.value = null;
    try {
      await work();
      return true;
    } catch (fault) {
      error.value = fault;
      return false;
    } finally {
      isBusy.value = false;
      tried();
    }
  };
  return { isBusy, error, run };
}
