/**
 * Wraps `query` with a time limit: returns null for an answer that fails or takes longer than `withinMs`. While a call
 * hangs, no other is made, so that a source that never answers costs one call instead of one each time.
 */
export function withTimeLimit<A extends unknown[], T>(
  query: (...of: A) => Promise<T | null>,
  withinMs: number,
): (...of: A) => Promise<T | null> {
  let isPending = false;
  return async (...of) => {
    if (isPending) return null;
    isPending = true;
    const answer = query(...of)
      .catch(() => null)
      .finally(() => {
        isPending = false;
      });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), withinMs);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  };
}
