/** Ends work that takes too long. */
export interface Deadline {
  /** Aborted when the time is over, or with the given signal. */
  readonly signal: AbortSignal;
  /** Whether the time is over. */
  readonly isOver: boolean;
  /** Ends the deadline when the work is done, and releases its timer. */
  clear(): void;
}

/**
 * Replaces `AbortSignal.timeout()` within `AbortSignal.any()`, which Node 20 may collect as garbage, so that it never
 * fires. This timer is held until it fires or is cleared.
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
