/** Waits for something that happens by itself; says what it waited for. */
export async function until<T>(what: string, look: () => Promise<T> | T, withinMs: number): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen as NonNullable<T>;
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
