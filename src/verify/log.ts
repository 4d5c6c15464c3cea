import { hashOf, leafHash, tagged } from './crypto.js';
import type { Findings } from './findings.js';
import { canonical, type Json } from './json.js';
import type { Given, KeyRing } from './keys.js';
import type { Consistency, Inclusion, Root } from './shapes.js';
import { rootOfInclusion, rootsOfConsistency } from './tree.js';

/** Checks that an inclusion proof's path leads to its root. */
export function checkInclusion(findings: Findings, { file, where, document }: Given<Inclusion>): void {
  const { pseudonym, number, head, index, path, root } = document;
  const prefix = where === '' ? '' : `${where}.`;
  if (index >= root.size) {
    return void findings.fault(
      'inclusion',
      file,
      `${prefix}index`,
      `is ${index}, but the tree has ${root.size} leaves`,
    );
  }
  const leaf = leafHash(tagged('gpu-rental/leaf/v1', { head, number, pseudonym }));
  if (rootOfInclusion(leaf, index, root.size, path) !== root.root) {
    const what = `doesn't lead from link ${number} to the root of root ${root.number}`;
    findings.fault('inclusion', file, `${prefix}path`, what);
  }
}

/** Root of the tree without leaves. */
const EMPTY_ROOT = hashOf('');
/** Members of a root, whose number says that all of them are the same. */
const COMPARED = ['root', 'size', 'at', 'previous', 'key', 'signature'] as const;

interface ListedRoot extends Given<Root> {
  /** Hash of the document, which the next root contains. */
  hash: string;
}

/** The roots of the log, given or contained in statements and inclusion proofs. */
export class RootSet {
  readonly #findings: Findings;
  /** The roots without repetitions, in the order of their numbers. */
  readonly #roots: readonly ListedRoot[];

  constructor(findings: Findings, keys: KeyRing, given: readonly Given<Root>[]) {
    this.#findings = findings;
    const distinct = new Map(given.toReversed().map((each) => [canonical(each.document as Root & Json), each]));
    this.#roots = [...distinct]
      .map(([text, each]) => ({ ...each, hash: hashOf(text) }))
      .toSorted((a, b) => a.document.number - b.document.number || a.document.size - b.document.size);
    for (const { file, where, document } of this.#roots) {
      keys.checkSignature(file, where, document as Root & Json, { name: 'at', at: document.at });
      if (document.size === 0 && document.root !== EMPTY_ROOT)
        this.#fault({ file, where, document }, 'root', 'is not that of a tree without leaves');
      if ((document.number === 1) === (document.previous === null)) continue;
      const what = document.number === 1 ? 'must be null, because no root precedes root 1' : 'is null';
      this.#fault({ file, where, document }, 'previous', what);
    }
    this.#compareNumbers();
    this.#compareSizes();
    this.#comparePrevious();
  }

  get size(): number {
    return this.#roots.length;
  }

  /** Checks that a consistency proof leads from the root of the first size to that of the second. */
  checkConsistency({ file, document: { first, second, path } }: Given<Consistency>): void {
    const fault = (where: string, what: string) => this.#findings.fault('consistency', file, where, what);
    if (first > second) return void fault('first', `is ${first}, which is more than second: ${second}`);
    const isEmpty = first === 0 || first === second;
    if (isEmpty && path.length > 0) return void fault('path', 'must be empty between equal sizes and from size 0');
    const [older, newer] = [this.#ofSize(first), this.#ofSize(second)];
    const missing = [first, second].filter((size) => size > 0 && this.#ofSize(size) === undefined);
    if (missing.length > 0) {
      const sizes = [...new Set(missing)].join(' and ');
      return void this.#findings.skip(file, 'path', `can't be checked: no root of size ${sizes} was given`);
    }
    if (isEmpty || older === undefined || newer === undefined) return;
    const reached = rootsOfConsistency(first, second, older.root, path);
    if (reached === null) return void fault('path', `isn't a proof between sizes ${first} and ${second}`);
    if (reached.first !== older.root) fault('path', `doesn't lead to root ${older.number}, of size ${first}`);
    if (reached.second !== newer.root) fault('path', `doesn't lead to root ${newer.number}, of size ${second}`);
  }

  #compareNumbers(): void {
    const byNumber = new Map<number, Given<Root>>();
    let before: ListedRoot | undefined;
    for (const each of this.#roots) {
      const { number, size, at, previous } = each.document;
      const same = byNumber.get(number);
      if (same === undefined) byNumber.set(number, each);
      else {
        const member = COMPARED.find((name) => same.document[name] !== each.document[name]) ?? 'number';
        this.#fault(each, member, `differs from that of root ${number} in ${same.file}`);
      }
      if (before !== undefined && before.document.number < number) {
        const { document } = before;
        if (size < document.size) {
          const by = `${size - document.size} leaves`;
          this.#fault(each, 'size', `is ${size}, but root ${document.number} has ${document.size} leaves`, by);
        }
        if (at < document.at) this.#fault(each, 'at', `is ${at}, but root ${document.number} is of ${document.at}`);
        const isNext = document.number === number - 1;
        if (isNext && previous !== null && previous !== before.hash) {
          this.#fault(each, 'previous', `isn't the hash of root ${number - 1} in ${before.file}`);
        }
      }
      before = each;
    }
  }

  #compareSizes(): void {
    const bySize = new Map<number, Given<Root>>();
    for (const each of this.#roots) {
      const { size, root, number } = each.document;
      const same = bySize.get(size);
      if (same === undefined) bySize.set(size, each);
      else if (same.document.root !== root && same.document.number !== number) {
        const what = `differs from that of root ${same.document.number} in ${same.file}, which has the same size: ${size}`;
        this.#fault(each, 'root', what);
      }
    }
  }

  /** A hash is that of only one root, so `previous` must not give it to another number. */
  #comparePrevious(): void {
    const numbers = new Map(this.#roots.map(({ hash, document }) => [hash, document.number]));
    for (const each of this.#roots) {
      const { number, previous } = each.document;
      if (previous === null) continue;
      const known = numbers.get(previous) ?? number - 1;
      numbers.set(previous, known);
      if (known === number - 1) continue;
      this.#fault(each, 'previous', `is the hash of root ${known}, but precedes root ${number}`);
    }
  }

  #ofSize(size: number): Root | undefined {
    return this.#roots.find(({ document }) => document.size === size)?.document;
  }

  #fault({ file, where }: Given<Root>, member: string, what: string, by: string | null = null): void {
    this.#findings.fault('roots', file, where === '' ? member : `${where}.${member}`, what, by);
  }
}
