/** The part of the verification that a finding belongs to. */
export type Check =
  | 'format'
  | 'keys'
  | 'amount'
  | 'chain'
  | 'lines'
  | 'balance'
  | 'signature'
  | 'inclusion'
  | 'roots'
  | 'consistency'
  | 'statements';

/** Something that doesn't verify, or that can't be checked. */
export interface Finding {
  check: Check | 'unchecked';
  /** Name of the file, with the line of the document if the file has several. */
  file: string;
  /** Path of the member, such as `links[3].record.units`. Empty for a whole document. */
  where: string;
  what: string;
  /** The difference, such as 12 units or 3 seconds; null if there is none. */
  by: string | null;
}

/** Returns the finding for a file that can't be opened. */
export function unreadFile(file: string, reason: string): Finding {
  return { check: 'unchecked', file, where: '', what: `can't be read: ${reason}`, by: null };
}

/** Describes a finding without the name of its file. */
export function findingText({ where, what, by }: Finding): string {
  return `${where === '' ? '' : `${where} `}${what}${by === null ? '' : ` (${by})`}`;
}

/** Maximum number of findings listed per document. One is enough to fail. */
const MAX_PER_DOCUMENT = 100;

/** Collects findings. */
export class Findings {
  readonly faults: Finding[] = [];
  readonly unchecked: Finding[] = [];
  readonly #counts = new Map<string, number>();

  fault(check: Check, file: string, where: string, what: string, by: string | null = null): void {
    this.#add(this.faults, { check, file, where, what, by });
  }

  /** Records something that can't be checked. */
  skip(file: string, where: string, what: string): void {
    this.#add(this.unchecked, { check: 'unchecked', file, where, what, by: null });
  }

  #add(list: Finding[], finding: Finding): void {
    const key = `${list === this.faults} ${finding.file}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    if (count <= MAX_PER_DOCUMENT) list.push(finding);
    if (count === MAX_PER_DOCUMENT + 1) {
      list.push({ ...finding, where: '', what: `has more findings than the ${MAX_PER_DOCUMENT} listed`, by: null });
    }
  }
}

/** Returns the difference between two amounts. */
export function difference(actual: bigint, expected: bigint, unit: string): string {
  const by = actual - expected;
  return `${by > 0n ? '+' : ''}${by} ${unit}`;
}
