import { useSignal } from '@preact/signals';

/**
 * What a screen asks of the service by its buttons: one thing at a time, and what went wrong with the last. `tried` is called
 * after each: without an answer it may have happened all the same.
 */
export function useWork(tried: () => void = () => {}) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  /** True when it is done; false when it failed, or another one is under way. */
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
