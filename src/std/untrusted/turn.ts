/** Yields to other work. Long-running work on untrusted input calls this every few milliseconds. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
