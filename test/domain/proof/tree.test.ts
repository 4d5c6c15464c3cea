import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  consistencyPath,
  inclusionPath,
  type Leaves,
  leafHash,
  nodeHash,
  type ReadTile,
  rootOfHashes,
  subtreeHash,
  TILE_HASHES,
  tilesFor,
} from '../../../src/domain/proof/rules/tree.js';

/** The tree as RFC 9162 defines it, by recursion over a list of leaf hashes. */
class Recursive {
  readonly #leaves: readonly Buffer[];
  readonly #known = new Map<string, Buffer>();

  constructor(leaves: readonly Buffer[]) {
    this.#leaves = leaves;
  }

  root(from: number, to: number): Buffer {
    const known = this.#known.get(`${from}-${to}`);
    if (known !== undefined) return known;
    const root = this.#compute(from, to);
    this.#known.set(`${from}-${to}`, root);
    return root;
  }

  #compute(from: number, to: number): Buffer {
    if (to === from) return createHash('sha256').digest();
    if (to - from === 1) return this.#leaves[from]!;
    const middle = from + split(to - from);
    const node = Buffer.concat([Buffer.of(1), this.root(from, middle), this.root(middle, to)]);
    return createHash('sha256').update(node).digest();
  }

  inclusion(index: number, from: number, to: number): Buffer[] {
    if (to - from <= 1) return [];
    const middle = from + split(to - from);
    return index < middle
      ? [...this.inclusion(index, from, middle), this.root(middle, to)]
      : [...this.inclusion(index, middle, to), this.root(from, middle)];
  }

  consistency(first: number, from: number, to: number, isWhole = true): Buffer[] {
    if (first === to) return isWhole ? [] : [this.root(from, to)];
    const middle = from + split(to - from);
    return first <= middle
      ? [...this.consistency(first, from, middle, isWhole), this.root(middle, to)]
      : [...this.consistency(first, middle, to, false), this.root(from, middle)];
  }

  /** Computes the hashes in the tiles of a tree with `size` leaves. Throws for a tile that `ranges` don't declare. */
  reader(size: number, ranges: readonly Leaves[]): ReadTile {
    const declared = new Set(ranges.flatMap(tilesFor).map(({ level, index }) => `${level}/${index}`));
    return ({ level, index }) => {
      if (!declared.has(`${level}/${index}`)) throw new Error(`tile ${level}/${index} was not declared`);
      const width = TILE_HASHES ** level;
      const hashes: Buffer[] = [];
      for (let at = index * TILE_HASHES; hashes.length < TILE_HASHES && (at + 1) * width <= size; at += 1)
        hashes.push(this.root(at * width, (at + 1) * width));
      return Buffer.concat(hashes);
    };
  }

  /** Returns the hashes as computed from tiles. */
  fromTiles(size: number, ranges: readonly Leaves[]): Buffer[] {
    const read = this.reader(size, ranges);
    return ranges.map((range) => subtreeHash(read, range));
  }
}

function split(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/** Verification of an inclusion proof, RFC 9162, section 2.1.3.2. */
function isIncluded(index: number, size: number, leaf: Buffer, path: readonly Buffer[], root: Buffer): boolean {
  let [fn, sn, hash] = [index, size - 1, leaf];
  for (const each of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      hash = nodeHash(each, hash);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else hash = nodeHash(hash, each);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && hash.equals(root);
}

/** Verification of a consistency proof between different sizes above 0, RFC 9162, section 2.1.4.2. */
function isConsistent(first: number, second: number, one: Buffer, other: Buffer, given: readonly Buffer[]): boolean {
  const path = Number.isInteger(Math.log2(first)) ? [one, ...given] : given;
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  let [fr, sr] = [path[0]!, path[0]!];
  for (const each of path.slice(1)) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [nodeHash(each, fr), nodeHash(each, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
    } else sr = nodeHash(sr, each);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.equals(one) && sr.equals(other);
}

const LEAVES = Array.from({ length: 65_537 }, (_, index) => leafHash(`leaf ${index}`));
const TREE = new Recursive(LEAVES);
const SMALL = Array.from({ length: 20 }, (_, size) => size);
const SIZES = [...SMALL, 31, 64, 100, 254, 255, 256, 257, 258, 511, 512, 513, 600];

describe('the known answers of RFC 6962, whose tree RFC 9162 took over', () => {
  const inputs = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
  const leaves = inputs.map((hex) =>
    createHash('sha256')
      .update(Buffer.concat([Buffer.of(0), Buffer.from(hex, 'hex')]))
      .digest(),
  );
  test.each([
    [0, 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    [1, '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'],
    [2, 'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125'],
    [3, 'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77'],
    [4, 'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7'],
    [5, '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4'],
    [6, '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef'],
    [7, 'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c'],
    [8, '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328'],
  ])('a tree of %i leaves has the root %s', (size, root) => {
    const [found] = new Recursive(leaves).fromTiles(size, [{ from: 0, to: size }]);
    expect(found!.toString('hex')).toBe(root);
  });
  test('a leaf is hashed with a zero byte before its input', () => {
    expect(leafHash('')).toEqual(leaves[0]);
  });
});

describe('a tree on tiles', () => {
  test('has the roots of the recursive definition for all sizes up to 600', () => {
    for (let size = 0; size <= 600; size += 1)
      expect(TREE.fromTiles(size, [{ from: 0, to: size }])[0]!.equals(TREE.root(0, size)), `${size}`).toBe(true);
  });

  test('has the inclusion paths of the recursive definition', () => {
    for (const size of SIZES) {
      const root = TREE.root(0, size);
      for (let index = 0; index < size; index += size > 100 ? 17 : 1) {
        const path = TREE.fromTiles(size, inclusionPath(index, size));
        expect(hex(path)).toBe(hex(TREE.inclusion(index, 0, size)));
        expect(isIncluded(index, size, LEAVES[index]!, path, root)).toBe(true);
        expect(isIncluded(index, size, LEAVES[index + 1]!, path, root)).toBe(false);
      }
    }
  });

  test('has the consistency proofs of the recursive definition', () => {
    for (const second of SIZES) {
      for (let first = 0; first <= second; first += second > 100 ? 17 : 1) {
        const path = TREE.fromTiles(second, consistencyPath(first, second));
        const differ = first !== 0 && first !== second;
        expect(hex(path)).toBe(differ ? hex(TREE.consistency(first, 0, second)) : '');
        const [one, other] = [TREE.root(0, first), TREE.root(0, second)];
        if (!differ) continue;
        expect(isConsistent(first, second, one, other, path)).toBe(true);
        expect(isConsistent(first, second, other, other, path)).toBe(false);
      }
    }
  });

  test.each([65_535, 65_536, 65_537])('proves leaves and prefixes of %i leaves', (size) => {
    const root = TREE.root(0, size);
    expect(TREE.fromTiles(size, [{ from: 0, to: size }])).toEqual([root]);
    for (const index of [0, 1, 255, 256, 257, 32_767, 32_768, 65_279, 65_280, size - 2, size - 1]) {
      const path = TREE.fromTiles(size, inclusionPath(index, size));
      expect(isIncluded(index, size, LEAVES[index]!, path, root), `${index}`).toBe(true);
    }
    for (const first of [1, 255, 256, 257, 600, 32_768, 65_280, 65_281, size - 1]) {
      const path = TREE.fromTiles(size, consistencyPath(first, size));
      expect(isConsistent(first, size, TREE.root(0, first), root, path), `${first}`).toBe(true);
    }
  });

  test('reads few tiles for a proof in a large tree', () => {
    const tiles = inclusionPath(123_456, 1_000_000).flatMap(tilesFor);
    expect(new Set(tiles.map(({ level, index }) => `${level}/${index}`)).size).toBeLessThanOrEqual(6);
  });

  test('finds the root of a full tile', () => {
    expect(rootOfHashes(Buffer.concat(LEAVES.slice(0, 256)))).toEqual(TREE.root(0, 256));
  });
});

function hex(hashes: readonly Buffer[]): string {
  return hashes.map((hash) => hash.toString('hex')).join(' ');
}
