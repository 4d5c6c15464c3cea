import { nodeHash } from './crypto.js';

/** Returns the root that an inclusion path leads to (RFC 9162, section 2.1.3.2); null if it has the wrong length. */
export function rootOfInclusion(leaf: string, index: number, size: number, path: readonly string[]): string | null {
  if (index >= size) return null;
  let node = index;
  let last = size - 1;
  let root = leaf;
  for (const hash of path) {
    if (last === 0) return null;
    if (isOdd(node) || node === last) {
      root = nodeHash(hash, root);
      while (!isOdd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else {
      root = nodeHash(root, hash);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0 ? root : null;
}

/**
 * Returns the roots of both sizes that a consistency proof leads to, if it starts at `firstRoot` (RFC 9162,
 * section 2.1.4.2); null if it has the wrong length. Both sizes are at least 1, and the second is larger.
 */
export function rootsOfConsistency(
  first: number,
  second: number,
  firstRoot: string,
  path: readonly string[],
): { first: string; second: string } | null {
  const hashes = isPowerOfTwo(first) ? [firstRoot, ...path] : [...path];
  const [start] = hashes;
  if (path.length === 0 || start === undefined) return null;
  let node = first - 1;
  let last = second - 1;
  while (isOdd(node)) {
    node = half(node);
    last = half(last);
  }
  let older = start;
  let newer = start;
  for (const hash of hashes.slice(1)) {
    if (last === 0) return null;
    if (isOdd(node) || node === last) {
      older = nodeHash(hash, older);
      newer = nodeHash(hash, newer);
      while (!isOdd(node) && node !== 0) {
        node = half(node);
        last = half(last);
      }
    } else {
      newer = nodeHash(newer, hash);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0 ? { first: older, second: newer } : null;
}

// Sizes can exceed 32 bits, so bitwise operators aren't used.
function isOdd(number: number): boolean {
  return number % 2 === 1;
}

function half(number: number): number {
  return Math.floor(number / 2);
}

function isPowerOfTwo(number: number): boolean {
  let rest = number;
  while (rest > 1 && !isOdd(rest)) rest = half(rest);
  return rest === 1;
}
