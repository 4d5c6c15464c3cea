/** A word for a shell, in single quotes; without zero bytes, which no word can have. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
