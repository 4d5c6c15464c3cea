/**
 * Asks with a bound: null for an answer that fails or does not come within `withinMs`. While one hangs nothing is asked
 * again, so that what never answers costs one question, not one every time.
 */
export function impatient<A extends unknown[], T>(
  ask: (...of: A) => Promise<T | null>,
  withinMs: number,
): (...of: A) => Promise<T | null> {
  let isAsking = false;
  return async (...of) => {
    if (isAsking) return null;
    isAsking = true;
    const answer = ask(...of)
      .catch(() => null)
      .finally(() => {
        isAsking = false;
      });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), withinMs);
    });
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  };
}
