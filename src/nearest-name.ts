import { distance } from 'fastest-levenshtein';

/** A longer name is not compared, because the distance takes the product of both lengths. */
const MAX_CHARACTERS = 64;

/**
 * Returns the known name that `input` most likely means; null if none is near. Case, separators and the order of words
 * don't count: `maxPrice` is `price_max`.
 */
export function nearestName(input: string, known: readonly string[]): string | null {
  if (input.length > MAX_CHARACTERS) return null;
  const words = wordsOf(input);
  let nearest: string | null = null;
  let least = Number.POSITIVE_INFINITY;
  for (const name of known) {
    const unlike = unlikeness(words, wordsOf(name));
    if (unlike < least) [nearest, least] = [name, unlike];
  }
  return least <= 0.5 ? nearest : null;
}

/** Returns the distance: 0 for the same words, 1 for nothing in common. */
function unlikeness(input: readonly string[], name: readonly string[]): number {
  const [one, other] = [input.join(' '), name.join(' ')];
  const share = distance(one, other) / Math.max(one.length, other.length, 1);
  // For example, gpu_name means gpu.
  const isWithin = name.length > 0 && name.every((word) => input.includes(word));
  return isWithin ? Math.min(share, 0.4) : share;
}

/** Returns the words in lower case and alphabetical order. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .sort();
}
