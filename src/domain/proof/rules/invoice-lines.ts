import { type Micro, shownBalance, shownSum, type Units } from '../../kernel/money.js';
import type { InvoiceLine, InvoiceMovement } from './invoice-page.js';
import type { LedgerRecord, SignedLine } from './statement-lines.js';

/** Content of a signed statement from which an invoice's lines follow. */
export interface InvoicedMonth {
  /** Lines and links of the signed statement. */
  lines: readonly SignedLine[];
  links: readonly { number: number; record: LedgerRecord }[];
  /** Credit and charges before the month. */
  opening: Record<'credit' | 'spent', Units>;
  /** Describes the charged instances and volumes by id, in the order of the invoice. */
  subjects: ReadonlyMap<string, string>;
}

export interface InvoiceLines {
  charges: InvoiceLine[];
  movements: InvoiceMovement[];
  openingBalance: Micro;
  closingBalance: Micro;
}

/** The kinds of charges, in the order of an invoice. */
const CHARGES: ReadonlyMap<string, string> = new Map([
  ['GPU_USAGE', 'GPU'],
  ['DISK_USAGE', 'disk'],
  ['EARLY_EXIT', 'repaid discount of a reserved term'],
  ['PREEMPTION_MINIMUM', 'minimum after preemption'],
  ['VOLUME_USAGE', 'volume'],
]);
const MOVEMENTS: ReadonlyMap<string, string> = new Map([
  ['CREDIT', 'Payment'],
  ['ADJUSTMENT', 'Adjustment'],
  ['SERVICE_CREDIT', 'Service credit'],
]);

/** Returns a month's charges, added up by subject, kind and rate, and its movements, with a statement's amounts. */
export function invoiceLines({ lines, links, opening, subjects }: InvoicedMonth): InvoiceLines {
  const spent = shownSum(opening.spent);
  const charges = grouped(
    lines.filter(({ kind }) => CHARGES.has(kind)),
    [...subjects.keys()],
  ).map(({ line, seconds, units }) => ({
    what: `${subjects.get(subjectOf(line)) ?? ''}: ${CHARGES.get(line.kind)}`,
    seconds,
    rate: BigInt(line.rate ?? 0),
    amount: spent.add(units),
  }));
  const credited = shownSum(opening.credit);
  const records = new Map(links.map(({ number, record }) => [number, record]));
  const movements = lines
    .filter(({ kind }) => MOVEMENTS.has(kind))
    .sort((one, other) => compare(one.from, other.from) || compare(one.id, other.id))
    .map(({ kind, number, from, units }) => {
      const { note = null, reference = null } = records.get(number ?? 0) ?? {};
      const what = [MOVEMENTS.get(kind), note ?? reference].filter((text) => text !== null).join(': ');
      return { at: from, what, amount: credited.add(BigInt(units)) };
    });
  return {
    charges,
    movements,
    openingBalance: shownBalance(opening.credit, opening.spent),
    closingBalance: shownBalance(credited.total(), spent.total()),
  };
}

interface Charge {
  line: SignedLine;
  seconds: bigint;
  units: Units;
}

function grouped(lines: readonly SignedLine[], subjects: readonly string[]): Charge[] {
  const order = new Map([...subjects, ...CHARGES.keys()].map((name, place) => [name, place]));
  const groups = new Map<string, Charge>();
  for (const line of lines) {
    const key = [subjectOf(line), line.kind, line.rate].join(' ');
    const { seconds, units } = groups.get(key) ?? { seconds: 0n, units: 0n };
    groups.set(key, { line, seconds: seconds + BigInt(line.seconds ?? 0), units: units - BigInt(line.units) });
  }
  const place = (name: string) => order.get(name) ?? 0;
  return [...groups.values()]
    .filter(({ units }) => units > 0n)
    .sort(
      ({ line: one }, { line: other }) =>
        place(subjectOf(one)) - place(subjectOf(other)) ||
        place(one.kind) - place(other.kind) ||
        Number(BigInt(one.rate ?? 0) - BigInt(other.rate ?? 0)),
    );
}

/** Returns the id of what a line charges. */
export function subjectOf({ instance, volume }: SignedLine): string {
  return instance ?? volume ?? '';
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
