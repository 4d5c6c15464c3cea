import { distance } from 'fastest-levenshtein';

/** Maximum length of compared names, because comparing takes time proportional to the product of both lengths. */
const MAX_CHARACTERS = 64;

/**
 * Returns the known name that `input` most likely means, or null if none is similar. Case, separators and word order
 * are ignored, so `maxPrice` matches `price_max`.
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

/** Returns the distance between two names, from 0 for the same words to 1 for nothing in common. */
function unlikeness(input: readonly string[], name: readonly string[]): number {
  const [one, other] = [input.join(' '), name.join(' ')];
  const share = distance(one, other) / Math.max(one.length, other.length, 1);
  // For example, gpu_name matches gpu.
  const isWithin = name.length > 0 && name.every((word) => input.includes(word));
  return isWithin ? Math.min(share, 0.4) : share;
}

/** Returns a name's words in lower case, sorted alphabetically. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .sort();
}
