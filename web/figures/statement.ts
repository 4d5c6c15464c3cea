import type { MoneyRead } from '../state/money-read.js';
import { inCents, inCentsBetween } from './apportion.js';
import { type Micro, micro } from './money.js';

type Stated = NonNullable<MoneyRead['statement']>;
export type Line = Stated['lines'][number];
type Movement = Stated['movements'][number];

/** An amount, and the same in whole cents, so that a statement's rows add up as displayed. */
export interface Rounded {
  exact: Micro;
  shown: Micro;
}

/** All charges of one instance or one volume. */
export interface Charge {
  id: string;
  isVolume: boolean;
  /** Start of the first charge and end of the last. */
  from: string;
  to: string;
  /** Seconds billed for its GPUs. 0 if only storage was billed. */
  seconds: number;
  amount: Rounded;
  /** The parts of the amount: its GPUs, with the minimum and the repaid discount, and its storage. */
  gpus: Rounded;
  storage: Rounded;
  lines: readonly Line[];
}

export type Row = { movement: Movement; amount: Rounded } | { charge: Charge; amount: Rounded };

export const isStorage = ({ kind }: Line): boolean => kind === 'DISK' || kind === 'VOLUME';
const sumOf = (lines: readonly Line[]): Micro => lines.reduce((sum, { amount }) => sum + micro(amount), 0n);

/**
 * Returns a statement's rows: the movements, and then one row for each instance and each volume. As displayed, the
 * opening balance plus all rows is the closing balance, and a row's parts add up to its amount.
 */
export function statementRows({ openingBalance, closingBalance, movements, lines }: Stated): Row[] {
  const byId = new Map<string, Line[]>();
  for (const line of lines) {
    const id = line.instanceId ?? line.volumeId ?? '';
    const known = byId.get(id);
    if (known === undefined) byId.set(id, [line]);
    else known.push(line);
  }
  const charges = [...byId];
  const exact = [...movements.map(({ amount }) => micro(amount)), ...charges.map(([, of]) => -sumOf(of))];
  const shown = inCentsBetween(micro(openingBalance), micro(closingBalance), exact);
  const amountOf = (index: number): Rounded => ({ exact: exact[index]!, shown: shown[index]! });
  return [
    ...movements.map((movement, index) => ({ movement, amount: amountOf(index) })),
    ...charges.map(([id, of], index) => {
      const amount = amountOf(movements.length + index);
      return { charge: chargeOf(id, of, amount), amount };
    }),
  ];
}

function chargeOf(id: string, lines: readonly Line[], amount: Rounded): Charge {
  const parts = [lines.filter((line) => !isStorage(line)), lines.filter(isStorage)].map(sumOf);
  const shown = inCents(parts, -amount.shown);
  const [gpus, storage] = parts.map((exact, index) => ({ exact, shown: shown[index]! })) as [Rounded, Rounded];
  const isVolume = lines[0]?.instanceId === null;
  const timed = lines.filter(({ kind }) => kind === 'GPU');
  const instants = lines.flatMap(({ from, to }) => [from, to]).toSorted();
  return {
    id,
    isVolume,
    from: instants[0]!,
    to: instants.at(-1)!,
    seconds: timed.reduce((sum, { seconds }) => sum + seconds, 0),
    amount,
    gpus,
    storage,
    lines,
  };
}

export type Order = 'newest' | 'oldest' | 'cost';

const startOf = (row: Row): string => ('charge' in row ? row.charge.from : row.movement.at);

/** Sorts rows by the start of their time, or from the highest cost to the highest credit. */
export function inOrder(rows: readonly Row[], order: Order): Row[] {
  if (order === 'cost') return rows.toSorted((one, other) => Number(one.amount.exact - other.amount.exact));
  const direction = order === 'oldest' ? 1 : -1;
  return rows.toSorted((one, other) => direction * startOf(one).localeCompare(startOf(other)));
}

/** Adds up rows that aren't shown. */
export const totalOf = (rows: readonly Row[]): Rounded =>
  rows.reduce((sum, { amount }) => ({ exact: sum.exact + amount.exact, shown: sum.shown + amount.shown }), {
    exact: 0n,
    shown: 0n,
  });
