/** Returns a value that an earlier step guarantees. Throws an internal error naming it if the guarantee was broken. */
export function required<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw new Error(`missing ${what}`);
  return value;
}
