/**
 * Wraps `query` with a time limit, so that it resolves to null if the query fails or takes longer than `withinMs`.
 * While a call hangs, no other is made, so a source that never responds costs one call in total instead of one each
 * time.
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
