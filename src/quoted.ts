/** Quotes a word for a shell in single quotes. The word must have no zero bytes, which no word can contain. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
