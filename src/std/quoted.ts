/**
 * Quotes a word for a shell with single quotes. The word must not contain zero bytes, which a shell can't represent.
 */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
