import { useSignal } from '@preact/signals';

/**
 * Runs a screen's actions one at a time and keeps the last error. `tried` is called after each action, because an
 * action may have been done even if there was no response.
 */
export function useWork(tried: () => void = () => {}) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(null);
  /** Runs an action. Resolves to true once it is done, or to false if it failed or another one is in progress. */
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
