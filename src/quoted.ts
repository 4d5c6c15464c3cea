/** Quotes a word for a shell in single quotes; zero bytes, which no word can have, are removed. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
