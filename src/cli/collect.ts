/** Parses a repeatable option by adding its value to the previous ones. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Like `collect`, and also accepts several values separated by commas. */
export function collectList(value: string, before: readonly string[] = []): string[] {
  return [...before, ...value.split(',')];
}
