import { alignColumns, GAP } from '../std/columns.js';
import { visible } from '../std/visible.js';
import { paint, type Style, sizeOf } from './terminal.js';
import { readable } from './times.js';

export interface Column<Row> {
  heading: string;
  /** Unit, shown below the heading on a terminal and next to it elsewhere. */
  unit?: string;
  cells(rows: readonly Row[]): string[];
  right?: boolean;
  style?(row: Row): Style | null;
  /**
   * If a terminal is too narrow for all columns, those with the highest value are dropped first. Columns without a
   * value are always shown.
   */
  spare?: number;
}

type Details<Row> = Partial<Omit<Column<Row>, 'heading' | 'cells'>>;

const MIN_USD_DECIMALS = 2;
const MAX_USD_DECIMALS = 6;

export function text<Row>(heading: string, pick: (row: Row) => string, details: Details<Row> = {}): Column<Row> {
  return { heading, cells: (rows) => rows.map((row) => visible(pick(row))), ...details };
}

/** Creates a column for a point in time, formatted to be readable on a terminal. Null is shown as `missing`. */
export function when<Row>(
  heading: string,
  pick: (row: Row) => string | null,
  details: Details<Row> = {},
  missing = '-',
): Column<Row> {
  return text(
    heading,
    (row) => {
      const instant = pick(row);
      return instant === null ? missing : readable(instant);
    },
    details,
  );
}

export function number<Row>(heading: string, pick: (row: Row) => number, details: Details<Row> = {}): Column<Row> {
  return { heading, cells: (rows) => rows.map((row) => String(pick(row))), right: true, ...details };
}

/** Creates a column of exact amounts, with the same number of decimals in every row. */
export function usd<Row>(heading: string, pick: (row: Row) => number | null, details: Details<Row> = {}): Column<Row> {
  const cells = (rows: readonly Row[]) => {
    const decimals = Math.max(MIN_USD_DECIMALS, ...rows.map((row) => decimalsOf(pick(row) ?? 0)));
    return rows.map((row) => pick(row)?.toFixed(decimals) ?? '-');
  };
  return { heading, unit: 'USD/H', cells, right: true, ...details };
}

export function formatUsd(amount: number): string {
  return amount.toFixed(Math.max(MIN_USD_DECIMALS, decimalsOf(amount)));
}

/**
 * Formats the headings and one line per row. On a terminal, the table fits the width and has colours. Elsewhere, it is
 * plain and complete.
 */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string[] {
  const { stdout } = process;
  const all = columns.map((column) => {
    const cells = column.cells(rows);
    const heads = stdout.isTTY
      ? [column.heading, column.unit ?? '']
      : [[column.heading, column.unit].filter(Boolean).join(' ')];
    return { column, cells, heads, width: Math.max(...[...heads, ...cells].map(({ length }) => length)) };
  });
  const shown = stdout.isTTY ? fitting(all, sizeOf(stdout).columns) : all;
  const heads = shown.some(({ heads: [, unit = ''] }) => unit !== '') ? [0, 1] : [0];
  const styleOf = (line: number, column: number): Style | null => {
    if (line < heads.length) return line === 0 ? 'bold' : 'dim';
    return shown[column]!.column.style?.(rows[line - heads.length]!) ?? null;
  };
  const lines = [
    ...heads.map((index) => shown.map((each) => each.heads[index]!)),
    ...rows.map((_, index) => shown.map(({ cells }) => cells[index]!)),
  ];
  return alignColumns(lines, {
    right: shown.map(({ column }) => column.right ?? false),
    paint: (cell, line, column) => {
      const style = styleOf(line, column);
      return style === null ? cell : paint(stdout, style, cell);
    },
  }).map((line) => line.trimEnd());
}

/** Formats one object with one line per field. */
export function card(fields: readonly (readonly [label: string, value: string, style?: Style])[]): string[] {
  return alignColumns(
    fields.map(([label, value]) => [label, visible(value)]),
    {
      paint: (cell, line, column) => {
        const style = column === 0 ? 'dim' : fields[line]?.[2];
        return style === undefined ? cell : paint(process.stdout, style, cell);
      },
    },
  );
}

function fitting<Row, Shown extends { column: Column<Row>; width: number }>(
  all: readonly Shown[],
  columns: number,
): readonly Shown[] {
  let shown = all;
  while (widthOf(shown) > columns) {
    const spares = shown.map(({ column }) => column.spare ?? 0);
    const most = Math.max(...spares);
    if (most === 0) return shown;
    shown = shown.filter((_, index) => index !== spares.lastIndexOf(most));
  }
  return shown;
}

function widthOf(shown: readonly { width: number }[]): number {
  return shown.reduce((sum, { width }) => sum + width, GAP.length * (shown.length - 1));
}

function decimalsOf(amount: number): number {
  return amount.toFixed(MAX_USD_DECIMALS).replace(/^.*\.|0+$/g, '').length;
}
