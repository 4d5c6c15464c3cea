/** Duration after which a step of a start is logged. */
export const SLOW_MS = 3_000;

/** Runs `work`; if that takes longer than `SLOW_MS`, `note` receives the message once, while it still runs. */
export async function noteIfSlow<T>(
  note: (message: string) => void,
  message: string,
  work: () => Promise<T>,
): Promise<T> {
  const timer = setTimeout(() => note(message), SLOW_MS);
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
}
