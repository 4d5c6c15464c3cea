import { parseInstant } from '../../../src/domain/kernel/time.js';
import { canonical, hashOf, tagged } from '../../../src/domain/proof/rules/canonical.js';
import { type LedgerRecord, lineOf } from '../../../src/domain/proof/rules/statement-lines.js';
import {
  keysDocument,
  type PublishedKey,
  type Signer,
  signerAt,
  signWith,
} from '../../../src/domain/proof/signing-keys.js';
import { required } from '../../../src/std/required.js';
import type { VerifiedFile } from '../../../src/verify/verify.js';
import type { TestDomain } from '../domain.js';
import { asFiles, type ProofFile } from './history.js';
import {
  type Any,
  type Change,
  changedFile,
  companions,
  nameOf,
  pickFrom,
  shuffledChanges,
  type Tampering,
} from './tampering.js';

export interface FileTampering extends Tampering {
  /** What was changed, such as "rate". */
  kind: string;
}

/** Signs documents again as the service could, with the key for each document's time. */
export class DishonestSigner {
  readonly #signers: readonly { from: string; signer: Signer }[];

  private constructor(signers: readonly { from: string; signer: Signer }[]) {
    this.#signers = signers;
  }

  static async of(domain: TestDomain): Promise<DishonestSigner> {
    const { keys } = await keysDocument(domain);
    return new DishonestSigner(
      await Promise.all(keys.map(async ({ from }) => ({ from, signer: await signerAt(domain, parseInstant(from)!) }))),
    );
  }

  /** Returns the document, signed again together with all documents in it. */
  sign(document: Any): Any {
    const { key: _key, signature: _signature, ...content } = document;
    switch (document.type) {
      case 'gpu-rental/keys/v1':
        return {
          ...document,
          keys: document.keys?.map?.((key: Any, index: number) => this.#endorsed(key, document.keys[index - 1])),
        };
      case 'gpu-rental/roots/v1':
        return { ...document, roots: document.roots?.map?.((root: Any) => this.sign(root)) };
      case 'gpu-rental/inclusion/v1':
        return { ...document, root: this.sign(document.root ?? {}) };
      case 'gpu-rental/root/v1':
        return signWith(this.#at(document.at), content);
      case 'gpu-rental/statement/v1':
        return signWith(this.#at(document.issuedAt), { ...content, log: document.log && this.sign(document.log) });
      default:
        return document;
    }
  }

  #endorsed(key: PublishedKey, before: PublishedKey | undefined): PublishedKey {
    const { from, id, previous, publicKey } = key;
    const signer = this.#signers.find((each) => each.signer.id === before?.id)?.signer;
    if (signer === undefined) return key;
    return {
      ...key,
      endorsement: signer.sign('gpu-rental/key/v1', { from, id, previous, publicKey }).toString('base64'),
    };
  }

  #at(time: unknown): Signer {
    const begun = this.#signers.filter(({ from }) => from <= String(time));
    return required(begun.at(-1) ?? this.#signers[0], 'signing key').signer;
  }
}

/**
 * Returns `count` changes of single documents, with the same number of each kind if there are enough. With a signer, the
 * changed document is signed again, and its original is given as well: without an earlier document, nothing contradicts
 * what the service signs.
 */
export function fileTamperings(
  documents: readonly ProofFile[],
  { seed, count, signer = null }: { seed: number; count: number; signer?: DishonestSigner | null },
): FileTampering[] {
  const byKind = new Map<string, Change[]>();
  for (const change of shuffledChanges(documents, pickFrom(seed))) {
    const kind = kindOf(changedFile(documents, change).document.type, change);
    byKind.set(kind, [...(byKind.get(kind) ?? []), change]);
  }
  return alternately([...byKind], count, (kind, change) => {
    const original = changedFile(documents, change);
    let document = change.apply(structuredClone(original.document));
    if (signer !== null) document = signer.sign(document);
    if (signer === null ? canonical(document) === canonical(original.document) : isSame(document, original.document))
      return null;
    const stored = signer === null ? [] : [{ ...original, name: `stored-${original.name}` }];
    const near =
      signer === null
        ? companions(documents, original)
        : documents.filter(({ name }) => name === original.name || name === 'keys.json');
    const files = near.map((each) => (each === original ? { ...each, document } : each));
    return {
      kind,
      name: nameOf(change),
      changed: change.file,
      files: asFiles([...files, ...stored]),
    };
  });
}

/**
 * Returns `count` statements that the service rewrote without a contradiction in themselves: the chain, lines and balance
 * follow from the changed records, and the statement is signed again. They are given with the month's true statement.
 */
export function rewrittenStatements(
  documents: readonly ProofFile[],
  { seed, count, signer }: { seed: number; count: number; signer: DishonestSigner },
): (FileTampering & { alone: VerifiedFile[] })[] {
  const pick = pickFrom(seed);
  const statements = documents.filter(
    ({ document }) => document.type === 'gpu-rental/statement/v1' && document.links.length > 1,
  );
  const keys = documents.filter(({ name }) => name === 'keys.json');
  const kinds = Object.entries(REWRITES).map(
    ([kind, rewrite]) => [kind, Array.from({ length: count }, () => rewrite)] as const,
  );
  return alternately(kinds, count, (kind, rewrite) => {
    const original = required(statements[pick(statements.length)], 'statement');
    const records: LedgerRecord[] = original.document.links.map(({ record }: Any) => structuredClone(record));
    const isChanged = rewrite(records, pick);
    if (!isChanged) return null;
    const forged = { ...original, document: signer.sign(restated(original.document, records)) };
    const name = `${original.name}: ${kind}`;
    const stored = { ...original, name: `stored-${original.name}` };
    return {
      kind,
      name,
      changed: original.name,
      files: asFiles([...keys, forged, stored]),
      alone: asFiles([...keys, forged]),
    };
  });
}

type Rewrite = (records: LedgerRecord[], pick: (below: number) => number) => boolean;

/**
 * Changes of the records of a statement. Each returns whether it changed anything. Records are added and removed only
 * before the last one: without a later statement, nothing contradicts the end of a chain.
 */
const REWRITES: Record<string, Rewrite> = {
  rate: (records, pick) => {
    const record = anyOf(records, pick);
    if (record.charge === null) return false;
    record.charge.rate = (BigInt(record.charge.rate) + BigInt(1 + pick(1_000))).toString();
    replaceUnits(record);
    return true;
  },
  second: (records, pick) => {
    const record = anyOf(records, pick);
    if (record.charge?.endedAt == null) return false;
    const end = new Date(Date.parse(record.charge.endedAt) + 1_000 * (1 + pick(59)));
    record.at = record.charge.endedAt = end.toISOString().replace('.000', '');
    record.charge.seconds = (end.getTime() - Date.parse(required(record.charge.startedAt, 'start'))) / 1_000;
    replaceUnits(record);
    return true;
  },
  'row changed': (records, pick) => {
    const record = anyOf(records, pick);
    record.note = `${record.note ?? ''}.`;
    return true;
  },
  'row missing': (records, pick) => records.splice(pick(records.length - 1), 1).length > 0,
  'row added': (records, pick) => {
    const record = anyOf(records, pick);
    records.splice(pick(records.length), 0, { ...record, id: `${record.id}/2` });
    return true;
  },
  'rows swapped': (records, pick) => {
    const index = 1 + pick(records.length - 1);
    records.splice(index - 1, 2, required(records[index], 'record'), required(records[index - 1], 'record'));
    return true;
  },
};

function anyOf(records: readonly LedgerRecord[], pick: (below: number) => number): LedgerRecord {
  return required(records[pick(records.length)], 'record');
}

/** Sets the units that follow from the charge. */
function replaceUnits(record: LedgerRecord): void {
  record.units = (-BigInt(record.charge!.rate) * BigInt(record.charge!.seconds!)).toString();
}

/** Returns the statement with other records, and with the chain, lines and balance that follow from them. */
function restated(document: Any, records: readonly LedgerRecord[]): Any {
  let { number, hash } = document.chain.from;
  const links = records.map((record) => {
    number += 1;
    hash = hashOf(tagged('gpu-rental/link/v1', { number, previous: hash, record })).toString('hex');
    return { number, hash, record };
  });
  const period = { from: parseInstant(document.period.from)!, to: parseInstant(document.period.to)! };
  const open = document.open.filter(({ id }: LedgerRecord) => !records.some((record) => record.id === id));
  const lines = [
    ...links.map((link) => lineOf(link.record, link.number, period)),
    ...open.map((record: LedgerRecord) => lineOf(record, null, period)),
  ].filter((line) => line !== null);
  const closing = lines.reduce((sum, { units }) => sum + BigInt(units), BigInt(document.opening)).toString();
  return { ...document, chain: { ...document.chain, to: { number, hash } }, links, lines, closing, log: null };
}

/** Members of a statement that another true statement of the same month has otherwise. */
const FREE = ['service', 'issuedAt', 'key', 'signature', 'log'];

/**
 * Whether documents that the service signed say the same: a statement may be issued again, lines and open usage may be in
 * any order, and a list of roots may leave out roots.
 */
function isSame(one: Any, other: Any): boolean {
  if (one.type === 'gpu-rental/roots/v1' && Array.isArray(one.roots)) {
    const known = new Set(other.roots.map(canonical));
    const numbers = one.roots.map(({ number }: Any) => number);
    return (
      one.roots.every((root: Any) => known.has(canonical(root))) &&
      numbers.every((number: number, index: number) => index === 0 || number > numbers[index - 1])
    );
  }
  return said(one) === said(other);
}

function said(document: Any): string {
  const { lines, open, ...rest } = document;
  const content = Object.entries(rest).filter(([name]) => !FREE.includes(name));
  const sorted = (list: Any) =>
    Array.isArray(list) ? list.map((item) => canonical(item ?? null)).sort() : (list ?? null);
  return canonical({ content, lines: sorted(lines), open: sorted(open) });
}

/** Takes one change of each kind in turn, until there are `count` tamperings or none are left. */
function alternately<C, T>(
  kinds: readonly (readonly [string, readonly C[]])[],
  count: number,
  make: (kind: string, change: C) => T | null,
): T[] {
  const waiting = kinds.map(([kind, changes]) => ({ kind, changes: [...changes] }));
  const made: T[] = [];
  while (made.length < count && waiting.some(({ changes }) => changes.length > 0))
    for (const { kind, changes } of waiting) {
      let tampering: T | null = null;
      while (tampering === null && changes.length > 0) tampering = make(kind, changes.shift() as C);
      if (tampering !== null && made.length < count) made.push(tampering);
    }
  return made;
}

const ROW_CHANGES: Record<string, string> = {
  remove: 'row missing',
  duplicate: 'row added',
  'swap with the previous': 'rows swapped',
};
const SECONDS = ['startedAt', 'endedAt', 'seconds', 'at', 'issuedAt', 'from', 'to'];

function kindOf(type: string, { path, does }: Change): string {
  const [first, last] = [path[0], String(path.at(-1))];
  if (last === 'signature' || last === 'endorsement') return 'signature';
  if (type.includes('keys')) return 'key history';
  if (type.includes('root') || path.includes('root')) return 'root';
  if (!type.includes('statement') || first === 'log') return 'proof';
  if (typeof path.at(-1) === 'number') return ROW_CHANGES[does] ?? 'row changed';
  if (last === 'rate') return 'rate';
  if (SECONDS.includes(last) && first !== 'chain') return 'second';
  return ['links', 'open', 'lines'].includes(String(first)) && path.length > 1
    ? 'row changed'
    : 'balance, chain or account';
}
