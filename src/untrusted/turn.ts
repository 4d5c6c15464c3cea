/** Lets other work have its turn. Long work on input of other parties calls it every few milliseconds. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
