/** A time limit that ends work that takes too long. */
export interface Deadline {
  /** Aborted when the time has elapsed or the given signal is aborted. */
  readonly signal: AbortSignal;
  /** Whether the time has elapsed. */
  readonly isOver: boolean;
  /** Cancels the deadline when the work is done and releases its timer. */
  clear(): void;
}

/**
 * Creates a deadline. It replaces `AbortSignal.timeout()` within `AbortSignal.any()`, which Node 20 may garbage-collect
 * before it fires. This timer is referenced until it fires or is cleared.
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
