import { required } from '../../../src/std/required.js';
import type { Client } from '../after-change.js';
import type { TestDomain } from '../domain.js';
import { pickFrom } from './tampering.js';

type Row = Record<string, unknown>;

/** Rows of one table that are replaced by others. */
export interface RowTampering {
  /** The change, such as "usage_interval: rate of i-0badcafe/GPU/1". */
  name: string;
  /** What was changed, such as "rate". */
  kind: string;
  /** Whether the rows stay the same. */
  isNeutral: boolean;
  /** Texts of which a finding must contain one to name the change. */
  names: string[];
  apply(client: Client): Promise<void>;
  undo(client: Client): Promise<void>;
}

interface Table {
  /** What each change of a row is, if not the kind of its column or "row missing", "row added" or "rows swapped". */
  kind?: string;
  /** Columns that bills or proofs depend on, with what a change of them is. */
  columns: Record<string, string>;
  /** Returns how a finding names a row. */
  names: (row: Row) => unknown[];
  /** Returns the row with another primary key. Null if rows are neither removed nor added. */
  copy: ((row: Row) => Row) | null;
}

const ordinal = (row: Row) => ({ ...row, ordinal: Number(row.ordinal) + 1_000 });

/** The tables that hold bills and proofs. Columns that aren't listed aren't part of either. */
const TABLES: Record<string, Table> = {
  ledger_entry: {
    columns: {
      account_id: 'row changed',
      kind: 'row changed',
      units: 'row changed',
      at: 'second',
      instance_id: 'row changed',
      reference: 'row changed',
      note: 'row changed',
      id: 'row changed',
    },
    names: ({ id, account_id, instance_id }) => [id, account_id, instance_id],
    copy: (row) => ({ ...row, id: `${row.id}/2` }),
  },
  usage_interval: {
    columns: {
      instance_id: 'row changed',
      resource: 'row changed',
      ordinal: 'row changed',
      rate: 'rate',
      started_at: 'second',
      ended_at: 'second',
    },
    names: ({ instance_id }) => [instance_id],
    copy: ordinal,
  },
  volume_interval: {
    columns: {
      volume_id: 'row changed',
      ordinal: 'row changed',
      size_gb: 'row changed',
      rate: 'rate',
      started_at: 'second',
      ended_at: 'second',
    },
    names: ({ volume_id }) => [volume_id],
    copy: ordinal,
  },
  instance: {
    columns: {
      account_id: 'row changed',
      gpu: 'row changed',
      num_gpus: 'row changed',
      disk_gb: 'row changed',
      mode: 'row changed',
      gpu_rate: 'rate',
      disk_rate: 'rate',
      created_at: 'second',
    },
    names: ({ id, account_id }) => [id, account_id],
    copy: null,
  },
  account: {
    columns: { credit_units: 'row changed', spend_units: 'row changed', burn_rate: 'row changed' },
    names: ({ id }) => [id],
    copy: null,
  },
  account_chain: {
    kind: 'proof',
    columns: { pseudonym: 'proof', length: 'proof', head: 'proof' },
    names: ({ account_id }) => [account_id],
    copy: null,
  },
  chain_link: {
    columns: { account_id: 'row changed', number: 'row changed', entry_id: 'row changed', hash: 'row changed' },
    names: ({ account_id, entry_id }) => [account_id, entry_id],
    copy: (row) => ({ ...row, number: Number(row.number) + 1_000, entry_id: `${row.entry_id}/2` }),
  },
  log_root: {
    kind: 'root',
    columns: {
      number: 'root',
      at: 'root',
      size: 'root',
      root: 'root',
      previous: 'root',
      key_id: 'root',
      signature: 'signature',
    },
    names: ({ number }) => [`root ${number}`, `root ${Number(number) + 1}`, 'size '],
    copy: (row) => ({ ...row, number: Number(row.number) + 1 }),
  },
  log_leaf: {
    kind: 'proof',
    columns: { account_id: 'proof', number: 'proof', index: 'proof' },
    names: ({ account_id, index }) => [account_id, `leaf ${index}`, 'size ', 'tile '],
    copy: (row) => ({ ...row, number: Number(row.number) + 1_000, index: Number(row.index) + 1 }),
  },
  log_tile: {
    kind: 'proof',
    columns: { level: 'proof', index: 'proof', hashes: 'proof' },
    names: ({ level, index }) => [`tile ${level}/${index}`, 'tiles'],
    copy: (row) => ({ ...row, index: Number(row.index) + 1 }),
  },
  signing_key: {
    kind: 'key history',
    columns: {
      id: 'key history',
      public_key: 'key history',
      from: 'key history',
      endorsement: 'signature',
    },
    names: ({ id }) => [id, 'root ', 'keys['],
    copy: (row) => ({ ...row, id: `${row.id}0`, ordinal: Number(row.ordinal) + 1_000 }),
  },
};
/** Columns with a fixed set of values. */
const ENUMS = ['kind', 'resource', 'mode'];

/** Yields random changes of rows without end, each table and way of changing it in turn. Some may change nothing. */
export async function* rowTamperings(domain: TestDomain, seed: number): AsyncGenerator<RowTampering> {
  const pick = pickFrom(seed);
  const makers: (() => RowTampering)[] = [];
  for (const [table, definition] of Object.entries(TABLES)) {
    const { rows } = await domain.db.pool.query<{ row: Row }>(
      `select to_jsonb(t) as row from ${table} t ${table === 'account' ? 'where not demo' : ''} order by to_jsonb(t)::text`,
    );
    makers.push(
      ...makersOf(
        table,
        definition,
        rows.map(({ row }) => row),
        pick,
      ),
    );
  }
  for (let index = 0; ; index += 1) yield required(makers[index % makers.length], 'maker')();
}

function makersOf(
  table: string,
  { kind, columns, names, copy }: Table,
  rows: readonly Row[],
  pick: (below: number) => number,
): (() => RowTampering)[] {
  const any = () => required(rows[pick(rows.length)], `row of ${table}`);
  const make = (does: string, what: string, old: Row[], next: Row[]): RowTampering => ({
    name: `${table}: ${what} of ${old.map((row) => names(row).join(' ')).join(' and ')}`,
    kind: does,
    isNeutral: isSame(old, next),
    names: [...old, ...next]
      .flatMap(names)
      .filter((name) => name !== null)
      .map(String),
    apply: (client) => replaceRows(client, table, old, next),
    undo: (client) => replaceRows(client, table, next, old),
  });
  const ofColumns = Object.entries(columns).flatMap(([column, does]) => [
    () => {
      const old = any();
      return make(does, column, [old], [{ ...old, [column]: otherValue(old[column], column, rows, pick) }]);
    },
    () => {
      const [one, other] = [any(), any()];
      const swapped = [
        { ...one, [column]: other[column] },
        { ...other, [column]: one[column] },
      ];
      return make(kind ?? 'rows swapped', `${column} (swapped)`, [one, other], one === other ? [one] : swapped);
    },
  ]);
  if (copy === null) return ofColumns;
  return [
    ...ofColumns,
    () => make(kind ?? 'row missing', 'removal', [any()], []),
    () => {
      const copied = any();
      return make(kind ?? 'row added', 'copy', [copied], [copied, copy(copied)]);
    },
  ];
}

/** Replaces rows of the table, which are found by their whole content. */
async function replaceRows(client: Client, table: string, old: Row[], next: Row[]): Promise<void> {
  const rows = (values: Row[]) => [JSON.stringify(values)];
  const given = `jsonb_populate_recordset(null::${table}, $1)`;
  await client.query(
    `delete from ${table} t where to_jsonb(t) in (select to_jsonb(given) from ${given} given)`,
    rows(old),
  );
  await client.query(`insert into ${table} select * from ${given}`, rows(next));
}

function isSame(old: readonly Row[], next: readonly Row[]): boolean {
  const texts = (rows: readonly Row[]) => [...new Set(rows.map((row) => JSON.stringify(row)))].sort().join();
  return texts(old) === texts(next);
}

/** Returns another plausible value for a column. */
function otherValue(value: unknown, column: string, rows: readonly Row[], pick: (below: number) => number): unknown {
  if (typeof value === 'number') return value + [1, -1, 3_600][pick(3)]!;
  if (typeof value === 'string' && value.startsWith('\\x')) {
    const bytes = Buffer.from(value.slice(2), 'hex');
    bytes[pick(bytes.length)]! ^= 1 << pick(8);
    return `\\x${bytes.toString('hex')}`;
  }
  if (typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value))
    return new Date(Date.parse(value) + [1_000, -1_000, 3_600_000][pick(3)]!).toISOString();
  const others = rows.map((row) => row[column]).filter((other) => other !== value && other !== null);
  if (others.length > 0 && (ENUMS.includes(column) || pick(2) === 0)) return others[pick(others.length)];
  if (ENUMS.includes(column)) return value;
  return value === null && column.endsWith('_at') ? '2027-11-02T00:00:00Z' : `${value ?? ''}x`;
}
