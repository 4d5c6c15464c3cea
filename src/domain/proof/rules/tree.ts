import { hashOf } from './canonical.js';

export const HASH_BYTES = 32;
/** Number of hashes in a full tile. */
export const TILE_HASHES = 256;
/** A full tile is a subtree of this height. */
export const TILE_HEIGHT = 8;

/** Leaves `from` inclusive to `to` exclusive. */
export interface Leaves {
  from: number;
  to: number;
}

/** Position of a tile. Its hashes are those of complete subtrees of 256^`level` leaves. */
export interface TileId {
  level: number;
  index: number;
}

/** Returns the concatenated hashes in a tile. */
export type ReadTile = (tile: TileId) => Uint8Array;

export function leafHash(input: string): Buffer {
  return hashOf(Buffer.concat([Buffer.of(0), Buffer.from(input)]));
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  return hashOf(Buffer.concat([Buffer.of(1), left, right]));
}

/** Returns the leaves under each hash of the inclusion path (RFC 9162, section 2.1.3.1), in the path's order. */
export function inclusionPath(index: number, size: number): Leaves[] {
  const path: Leaves[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = middleOf({ from, to });
    path.push(index < middle ? { from: middle, to } : { from, to: middle });
    [from, to] = index < middle ? [from, middle] : [middle, to];
  }
  return path.reverse();
}

/** Returns the leaves under each hash of the consistency proof (RFC 9162, section 2.1.4.1), in the proof's order. */
export function consistencyPath(first: number, second: number): Leaves[] {
  if (first === 0 || first === second) return [];
  const path: Leaves[] = [];
  let [from, to] = [0, second];
  while (to > first) {
    const middle = middleOf({ from, to });
    path.push(first <= middle ? { from: middle, to } : { from, to: middle });
    [from, to] = first <= middle ? [from, middle] : [middle, to];
  }
  // The verifier knows the hash of the whole first tree.
  if (from > 0) path.push({ from, to });
  return path.reverse();
}

/** Returns the tiles needed for the hash of a range that is a subtree of some tree. */
export function tilesFor(leaves: Leaves): TileId[] {
  return completeSubtrees(leaves).map((subtree) => placeOf(subtree).tile);
}

/** Returns the hash of a range of leaves that is a subtree of some tree. */
export function subtreeHash(read: ReadTile, leaves: Leaves): Buffer {
  if (leaves.to === leaves.from) return hashOf('');
  return completeSubtrees(leaves)
    .map((subtree) => completeHash(read, subtree))
    .reduceRight((right, left) => nodeHash(left, right));
}

/** Returns the hash of the complete subtree above the concatenated hashes, whose number is a power of two. */
export function rootOfHashes(hashes: Uint8Array): Buffer {
  let level = Buffer.from(hashes);
  while (level.length > HASH_BYTES) {
    const above = Buffer.alloc(level.length / 2);
    for (let at = 0; at < above.length; at += HASH_BYTES)
      nodeHash(
        level.subarray(2 * at, 2 * at + HASH_BYTES),
        level.subarray(2 * at + HASH_BYTES, 2 * at + 2 * HASH_BYTES),
      ).copy(above, at);
    level = above;
  }
  return level;
}

/** Returns where the left subtree of a range ends: after the largest power of two that is smaller than the range. */
function middleOf({ from, to }: Leaves): number {
  let left = 1;
  while (left * 2 < to - from) left *= 2;
  return from + left;
}

/** Splits a range into its complete subtrees, from the largest on the left to the smallest on the right. */
function completeSubtrees({ from, to }: Leaves): Leaves[] {
  const subtrees: Leaves[] = [];
  for (let start = from; start < to; ) {
    let size = 1;
    while (size * 2 <= to - start) size *= 2;
    subtrees.push({ from: start, to: start + size });
    start += size;
  }
  return subtrees;
}

/** Returns the tile that holds the hashes below a complete subtree, and which of them. */
function placeOf({ from, to }: Leaves): { tile: TileId; offset: number; count: number } {
  let level = 0;
  let [first, count] = [from, to - from];
  while (count >= TILE_HASHES) {
    level += 1;
    first /= TILE_HASHES;
    count /= TILE_HASHES;
  }
  return { tile: { level, index: Math.floor(first / TILE_HASHES) }, offset: first % TILE_HASHES, count };
}

function completeHash(read: ReadTile, subtree: Leaves): Buffer {
  const { tile, offset, count } = placeOf(subtree);
  return rootOfHashes(read(tile).subarray(offset * HASH_BYTES, (offset + count) * HASH_BYTES));
}
