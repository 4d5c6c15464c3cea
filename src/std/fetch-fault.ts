/** Returns why a `fetch` failed. It only reports "fetch failed" and puts the reason in the error's cause. */
export function fetchFault(error: unknown): string {
  const { cause } = error as { cause?: unknown };
  const { code, message } = (cause instanceof Error ? cause : error) as NodeJS.ErrnoException;
  return code ?? message;
}
