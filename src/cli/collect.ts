/** Parses a repeatable option: adds a value to those before. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Like `collect`, for an option that also accepts several values separated by commas. */
export function collectList(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',')];
}
