import { inQuotes } from './quoting.js';

/** Splits a command line like a shell. Quotes and backslashes preserve spaces. Returns null if a quote isn't closed. */
export function splitWords(line: string): string[] | null {
  const words: string[] = [];
  let word: string | null = null;
  let quote = '';
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    if (quote !== '') {
      if (character === quote) quote = '';
      else if (character === '\\' && quote === '"' && /["\\]/.test(line[at + 1] ?? '')) word += line.charAt(++at);
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
      word ??= '';
    } else if (/\s/.test(character)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (character === '\\' && at + 1 < line.length) word = (word ?? '') + line.charAt(++at);
    else word = (word ?? '') + character;
  }
  if (word !== null) words.push(word);
  return quote === '' ? words : null;
}

/** Joins words into a command line. */
export function joinWords(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : inQuotes(word))).join(' ');
}
