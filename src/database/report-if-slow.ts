/** Time that a startup step may take before it is logged. */
export const SLOW_MS = 3_000;

/** Runs `work`. If it takes longer than `SLOW_MS`, the message is reported once, while the work is still running. */
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
