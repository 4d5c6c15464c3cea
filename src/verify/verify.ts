import { hashOf, tagged } from './crypto.js';
import { type Finding, Findings } from './findings.js';
import { type Json, parseJson, UnreadableError } from './json.js';
import { type Given, KeyRing } from './keys.js';
import { checkInclusion, RootSet } from './log.js';
import {
  type Consistency,
  DOCUMENTS,
  type Document,
  documentType,
  fits,
  type Inclusion,
  type Keys,
  type Root,
  type Roots,
  type Shape,
  type Statement,
} from './shapes.js';
import { checkStatement, compareStatements } from './statement.js';

export { type Finding, findingText, unreadFile } from './findings.js';

/** A file with documents. */
export interface VerifiedFile {
  name: string;
  content: Uint8Array;
}

/** A statement's own figures. They are as trustworthy as the result of the whole verification. */
export interface StatementSummary {
  file: string;
  account: string;
  from: string;
  to: string;
  lines: number;
  /** Balances and their change in units. */
  opening: string;
  closing: string;
  change: string;
  /** The hash that an invoice for the same period shows. */
  invoiceHash: string;
  /** The last link that a root covers, and the number of that root; null if the statement has no inclusion proof. */
  covered: { link: number; root: number } | null;
}

export interface Verification {
  /** 0: everything verifies. 1: something doesn't. 2: nothing is wrong, but something can't be checked. */
  exitCode: 0 | 1 | 2;
  /** Parts of documents that don't verify. */
  faults: readonly Finding[];
  /** Parts of documents that can't be checked. */
  unchecked: readonly Finding[];
  statements: readonly StatementSummary[];
  keys: number;
  roots: number;
}

/** Maximum size of a file. A statement of 100,000 links has about 60 MB. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;

/**
 * Checks documents as docs/proofs.md defines it. Never throws, regardless of their content. `unread` are files that
 * can't be opened.
 */
export function verify(files: readonly VerifiedFile[], unread: readonly Finding[] = []): Verification {
  const findings = new Findings();
  findings.unchecked.push(...unread);
  const given = new Documents(findings);
  for (const file of files) given.read(file);
  const { statements, roots, inclusions } = given;

  const keys = new KeyRing(findings, given.keys);
  for (const each of statements) {
    checkStatement(findings, each);
    const { issuedAt } = each.document;
    keys.checkSignature(each.file, '', each.document as Statement & Json, { name: 'issuedAt', at: issuedAt });
  }
  for (const each of inclusions) checkInclusion(findings, each);
  // A statement's own proof was compared with its links.
  const separate = inclusions.filter(({ where }) => where === '');
  compareStatements(findings, statements, separate);
  const rootSet = new RootSet(findings, keys, roots);
  for (const each of given.consistencies) rootSet.checkConsistency(each);

  const { faults, unchecked } = findings;
  return {
    exitCode: faults.length > 0 ? 1 : unchecked.length > 0 ? 2 : 0,
    faults,
    unchecked,
    statements: statements.map(summaryOf),
    keys: keys.size,
    roots: rootSet.size,
  };
}

function summaryOf({ file, document }: Given<Statement>): StatementSummary {
  const { account, period, lines, opening, closing, log } = document;
  return {
    file,
    account,
    from: period.from,
    to: period.to,
    lines: lines.length,
    opening,
    closing,
    change: (BigInt(closing) - BigInt(opening)).toString(),
    invoiceHash: invoiceHash(document),
    covered: log === null ? null : { link: log.number, root: log.root.number },
  };
}

function invoiceHash({ account, period, opening, closing, lines }: Statement): string {
  const figures = lines
    .map(({ id, kind, seconds, units }) => ({ id, kind, seconds, units }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const { from, to } = period;
  return hashOf(tagged('gpu-rental/invoice/v1', { account, closing, lines: figures, opening, period: { from, to } }));
}

/** The documents of all files, by type. Documents that don't have the shape of their type are reported and left out. */
class Documents {
  readonly keys: Given<Keys>[] = [];
  readonly statements: Given<Statement>[] = [];
  readonly roots: Given<Root>[] = [];
  readonly inclusions: Given<Inclusion>[] = [];
  readonly consistencies: Given<Consistency>[] = [];
  readonly #findings: Findings;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  read({ name, content }: VerifiedFile): void {
    const text = this.#textOf(name, content);
    if (text === null) return;
    // A single document may extend over several lines. Each of several documents is on one line. A truncated file can
    // still hold complete lines.
    const reason = this.#readDocument(name, text);
    if (reason === null) return;
    const lines = text
      .split('\n')
      .map((line, index) => ({ file: `${name}:${index + 1}`, text: line }))
      .filter((line) => line.text.trim() !== '');
    const isSeveral = lines.length > 1 && lines.some((line) => /^\s*[{[].*[}\]]\s*$/.test(line.text));
    if (!isSeveral) return void this.#skipUnreadable(name, reason);
    for (const line of lines) {
      const fault = this.#readDocument(line.file, line.text);
      if (fault !== null) this.#skipUnreadable(line.file, fault);
    }
  }

  #skipUnreadable(file: string, reason: string): void {
    this.#findings.skip(file, '', `can't be read: it ${reason}`);
  }

  #textOf(name: string, content: Uint8Array): string | null {
    if (content.length > MAX_FILE_BYTES) {
      this.#skipUnreadable(name, `is larger than ${MAX_FILE_BYTES} bytes`);
      return null;
    }
    try {
      const text = new TextDecoder('utf-8', { fatal: true }).decode(content);
      if (text.trim() !== '') return text;
      this.#skipUnreadable(name, 'is empty');
    } catch {
      this.#skipUnreadable(name, "isn't UTF-8");
    }
    return null;
  }

  /** Reads a document. Returns why it can't be read; null if it can. */
  #readDocument(file: string, text: string): string | null {
    try {
      const { value, faults } = parseJson(text);
      for (const { where, what } of faults) this.#findings.fault('format', file, where, what);
      const type = documentType(value);
      if (type === null) {
        this.#findings.skip(file, 'type', "can't be checked: this type isn't known");
        return null;
      }
      const shape = DOCUMENTS[type] as Shape<Document>;
      const complain = (where: string, what: string) => this.#findings.fault('format', file, where, what);
      if (faults.length === 0 && fits(shape, value, '', complain)) this.#add(file, value as Document);
      return null;
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error;
      return error.message;
    }
  }

  #add(file: string, document: Document): void {
    switch (document.type) {
      case 'gpu-rental/keys/v1':
        this.keys.push({ file, where: '', document });
        break;
      case 'gpu-rental/statement/v1':
        this.statements.push({ file, where: '', document });
        if (document.log !== null) this.#addInclusion(file, 'log', document.log);
        break;
      case 'gpu-rental/root/v1':
        this.roots.push({ file, where: '', document });
        break;
      case 'gpu-rental/roots/v1':
        this.#addRoots(file, document);
        break;
      case 'gpu-rental/inclusion/v1':
        this.#addInclusion(file, '', document);
        break;
      case 'gpu-rental/consistency/v1':
        this.consistencies.push({ file, where: '', document });
        break;
    }
  }

  #addInclusion(file: string, where: string, document: Inclusion): void {
    this.inclusions.push({ file, where, document });
    this.roots.push({ file, where: where === '' ? 'root' : `${where}.root`, document: document.root });
  }

  #addRoots(file: string, { roots }: Roots): void {
    roots.forEach((document, index) => {
      const where = `roots[${index}]`;
      this.roots.push({ file, where, document });
      const before = roots[index - 1];
      if (before === undefined || before.number < document.number) return;
      this.#findings.fault('roots', file, `${where}.number`, `is ${document.number} after ${before.number}`);
    });
  }
}
