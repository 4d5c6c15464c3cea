/** Interval of checks that query another process. At forty per second, they would use more CPU than that process. */
export const POLL_EVERY_MS = 100;

/** Waits until `look` returns a truthy value. The error of a timeout names what it waited for. */
export async function until<T>(
  what: string,
  look: () => Promise<T> | T,
  withinMs: number,
  everyMs = 25,
): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as NonNullable<T>;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
