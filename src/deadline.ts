/** Ends work that takes too long. */
export interface Deadline {
  /** Aborted when the time is over, or with the signal that it was made of. */
  readonly signal: AbortSignal;
  /** Whether the time is over. */
  readonly isOver: boolean;
  /** The work is done: lets go of the timer. */
  clear(): void;
}

/**
 * Instead of `AbortSignal.timeout()` within `AbortSignal.any()`: Node 20 may collect the timeout as garbage there, and then it
 * never fires. A timer is held until it fires or is cleared.
 */
export function deadline(withinMs: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    controller.abort(new DOMException('it took too long', 'TimeoutError'));
  }, withinMs);
  const follow = () => controller.abort(signal!.reason);
  if (signal?.aborted) follow();
  else signal?.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    get isOver() {
      return isOver;
    },
    clear: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', follow);
    },
  };
}
