/** Puts a word in single quotes for a shell. The word must not contain zero bytes, which a shell can't represent. */
export function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
