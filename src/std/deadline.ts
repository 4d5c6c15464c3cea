/** A time limit that aborts work that takes too long. */
export interface Deadline {
  /** Aborted when time runs out or the given signal is aborted. */
  readonly signal: AbortSignal;
  /** Whether time has run out. */
  readonly isOver: boolean;
  /** Releases the timer. Call it when the work is done. */
  clear(): void;
}

/**
 * Creates a deadline. It replaces `AbortSignal.timeout()` within `AbortSignal.any()`, which Node 20 may garbage-collect
 * before it fires. This timer stays referenced until it fires or is cleared.
 */
export function deadline(withinMs: number, signal?: AbortSignal): Deadline {
  const controller = new AbortController();
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    controller.abort(new DOMException('it took too long', 'TimeoutError'));
  }, withinMs);
  const follow = () => controller.abort(signal?.reason);
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
