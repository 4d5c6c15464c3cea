/** Duration after which a step of a start is logged. */
export const SLOW_MS = 3_000;

/** Runs `work`; if that takes longer than `SLOW_MS`, `report` receives the message once, while it still runs. */
export async function reportIfSlow<T>(
  report: (message: string) => void,
  message: string,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => report(message), SLOW_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
