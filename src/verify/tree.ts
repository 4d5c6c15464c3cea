import { nodeHash } from './crypto.js';

/** Returns the root that an inclusion path leads to (RFC 9162, section 2.1.3.2); null if it has the wrong length. */
export function rootOfInclusion(leaf: string, index: number, size: number, path: readonly string[]): string | null {
  if (index >= size) return null;
  let root = leaf;
  const isWhole = climb(index, size - 1, path, (hash, isLeft) => {
    root = isLeft ? nodeHash(hash, root) : nodeHash(root, hash);
  });
  return isWhole ? root : null;
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
  const isWhole = climb(node, last, hashes.slice(1), (hash, isLeft) => {
    if (isLeft) older = nodeHash(hash, older);
    newer = isLeft ? nodeHash(hash, newer) : nodeHash(newer, hash);
  });
  return isWhole ? { first: older, second: newer } : null;
}

/**
 * Climbs from a node to the root of the tree, where `last` is the last node on the same level. Calls `join` with each
 * hash of the path and whether it is the left one. Returns whether the path has the right length.
 */
function climb(
  node: number,
  last: number,
  path: readonly string[],
  join: (hash: string, isLeft: boolean) => void,
): boolean {
  for (const hash of path) {
    if (last === 0) return false;
    const isLeft = isOdd(node) || node === last;
    join(hash, isLeft);
    while (isLeft && !isOdd(node) && node !== 0) {
      node = half(node);
      last = half(last);
    }
    node = half(node);
    last = half(last);
  }
  return last === 0;
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
