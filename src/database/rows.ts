import type { PreparedStatement } from './transaction.js';

/** Tables written in whole rows. Only `src/domain/billing/ledger.ts` may write money. */
export type RowTable = 'gpu_model' | 'gpu_price' | 'machine' | 'market_snapshot' | 'region' | 'template';

/** A row, keyed by its model's property names. For example, `vramGb` is stored in the column `vram_gb`. */
export type Row = Readonly<Record<string, unknown>>;

/** Returns a statement that inserts any number of rows. All rows must have the same properties in the same order. */
export function insertRows(table: RowTable, rows: readonly Row[]): PreparedStatement {
  const columns = columnsOf(rows);
  return {
    name: `insert-rows-${table}`,
    text: `insert into ${table} (${columns}) ${RECORDS(table, columns)}`,
    values: [jsonOf(rows)],
  };
}

/**
 * Returns a statement that inserts a row, or updates the row with the same key, leaving its `kept` properties
 * unchanged.
 */
export function putRow(table: RowTable, key: string, row: Row, kept: readonly string[] = []): PreparedStatement {
  const columns = columnsOf([row]);
  const changes = Object.keys(row)
    .filter((name) => name !== key && !kept.includes(name))
    .map(columnOf)
    .map((column) => `${column} = excluded.${column}`);
  return {
    name: `put-row-${table}`,
    text: `insert into ${table} (${columns}) ${RECORDS(table, columns)}
           on conflict (${columnOf(key)}) do update set ${changes.join(', ')}`,
    values: [jsonOf([row])],
  };
}

const RECORDS = (table: RowTable, columns: string) =>
  `select ${columns} from jsonb_populate_recordset(null::${table}, $1::jsonb)`;

function columnsOf([first = {}]: readonly Row[]): string {
  return Object.keys(first).map(columnOf).join(', ');
}

function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function jsonOf(rows: readonly Row[]): string {
  const columns = Object.keys(rows[0] ?? {}).map((name) => [name, columnOf(name)] as const);
  const records = rows.map((row) => Object.fromEntries(columns.map(([name, column]) => [column, row[name]])));
  // PostgreSQL also accepts numbers as text, and JSON.stringify throws for a bigint.
  return JSON.stringify(records, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
