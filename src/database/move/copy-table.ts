import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import type { Definition, Table } from './catalog.js';
import { MoveFailed } from './refused.js';
import { MOVE_TABLES } from './target.js';

export interface TableReport {
  table: string;
  /** Number of rows in the table, the same on both servers. */
  rows: number;
  /** Number of rows written to the target by this run. */
  copied: number;
}

interface Servers {
  source: Client;
  target: Client;
}

/**
 * Makes the target's table equal to the source's, in one transaction on the target. The first time, it copies all rows.
 * Afterwards, it copies only the rows written since, and removes those that are gone. For this, it stores the oldest
 * transaction that the previous copy may have missed. Foreign keys must not exist, and triggers don't fire.
 */
export async function copyTable(servers: Servers, table: Table, indexes: readonly Definition[]): Promise<TableReport> {
  const { source, target } = servers;
  await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  await target.query('BEGIN');
  try {
    const snapshot = await snapshotOf(source);
    const since = table.key === null ? null : await copiedSince(target, table, snapshot);
    const counted = await source.query<{ rows: string }>(`SELECT count(*) AS rows FROM public.${table.name}`);
    const rows = Number(counted.rows[0]!.rows);
    await target.query(`ALTER TABLE public.${table.name} DISABLE TRIGGER USER`);
    const copied =
      since === null ? await copyAll(servers, table, indexes) : await copyChanges(servers, table, since, rows);
    await target.query(`ALTER TABLE public.${table.name} ENABLE TRIGGER USER`);
    const found = await countOf(target, `public.${table.name}`);
    if (found !== rows) throw new MoveFailed(`table ${table.name} has ${rows} rows, but its copy has ${found}`);
    await target.query(
      `INSERT INTO ${MOVE_TABLES} VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET copied_before = excluded.copied_before`,
      [table.name, snapshot.oldest],
    );
    if (copied > 0) await target.query(`ANALYZE public.${table.name}`);
    await target.query('COMMIT');
    await source.query('COMMIT');
    return { table: table.name, rows, copied };
  } catch (error) {
    await Promise.all([source, target].map((client) => client.query('ROLLBACK').catch(() => {})));
    throw error;
  }
}

/** A snapshot contains no changes of transactions from `next` on, and all changes of those before `oldest`. */
interface Snapshot {
  oldest: string;
  next: string;
}

async function snapshotOf(source: Client): Promise<Snapshot> {
  const { rows } = await source.query<Snapshot>(
    `SELECT pg_snapshot_xmin(now)::text AS oldest, pg_snapshot_xmax(now)::text AS next FROM pg_current_snapshot() AS now`,
  );
  return rows[0]!;
}

/** Returns the first transaction that the previous copy may have missed. Null if all rows must be copied. */
async function copiedSince(target: Client, table: Table, { next }: Snapshot): Promise<bigint | null> {
  const { rows } = await target.query<{ copied_before: string }>(
    `SELECT copied_before::text FROM ${MOVE_TABLES} WHERE name = $1`,
    [table.name],
  );
  if (rows.length === 0) return null;
  const since = BigInt(rows[0]!.copied_before);
  // A row's version contains only 32 bits of its transaction's number, so older ones can't be compared.
  return BigInt(next) - since >= 0n && BigInt(next) - since < MAX_TRANSACTIONS ? since : null;
}

const MAX_TRANSACTIONS = 1_000_000_000n;
const XID_BITS = 32;

async function copyAll({ source, target }: Servers, table: Table, indexes: readonly Definition[]): Promise<number> {
  const mine = indexes.filter((index) => index.table === table.name);
  const present = await target.query<{ name: string }>(
    `SELECT i.relname AS name FROM pg_index JOIN pg_class i ON i.oid = indexrelid
     WHERE indrelid = 'public.${table.name}'::regclass`,
  );
  const names = new Set(present.rows.map(({ name }) => name));
  // Building an index at the end is several times as fast as filling it row by row.
  for (const index of mine) if (names.has(index.name)) await target.query(index.drop);
  await target.query(`TRUNCATE public.${table.name}`);
  const copied = await stream(source, target, `public.${table.name} (${table.columns})`, `public.${table.name}`, table);
  for (const index of mine) await target.query(index.create);
  return copied;
}

/** Copies rows written by transaction `since` and later ones. */
async function copyChanges(
  { source, target }: Servers,
  table: Table,
  since: bigint,
  sourceRows: number,
): Promise<number> {
  const { name, columns } = table;
  const key = table.key!;
  await target.query(`CREATE TEMP TABLE changed ON COMMIT DROP AS SELECT ${columns} FROM public.${name} WITH NO DATA`);
  const age = `age('${BigInt.asUintN(XID_BITS, since)}'::xid)`;
  const query = `(SELECT ${columns} FROM public.${name} WHERE age(xmin) <= ${age})`;
  const copied = await stream(source, target, query, 'changed', table);
  const isSameRow = key.map((column) => `old.${column} = new.${column}`).join(' AND ');
  if (copied > 0) {
    await target.query('ANALYZE changed');
    await target.query(`DELETE FROM public.${name} old USING changed new WHERE ${isSameRow}`);
  }
  if ((await countOf(target, `public.${name}`)) + copied !== sourceRows) {
    await target.query(`CREATE TEMP TABLE present ON COMMIT DROP AS SELECT ${key} FROM public.${name} WITH NO DATA`);
    const keys = `(SELECT ${key} FROM public.${name})`;
    await stream(source, target, keys, 'present', { ...table, columns: key.join(', ') });
    await target.query('ANALYZE present');
    await target.query(`DELETE FROM public.${name} old WHERE NOT EXISTS (SELECT FROM present new WHERE ${isSameRow})`);
  }
  if (copied > 0) await target.query(`INSERT INTO public.${name} (${columns}) SELECT ${columns} FROM changed`);
  return copied;
}

async function stream(source: Client, target: Client, from: string, to: string, { columns }: Table): Promise<number> {
  // The text format is the same in all versions of PostgreSQL, unlike the binary one, which contains type numbers.
  const writing = target.query(copyFrom(`COPY ${to} (${columns}) FROM STDIN`));
  await pipeline(source.query(copyTo(`COPY ${from} TO STDOUT`)), writing);
  return writing.rowCount ?? 0;
}

async function countOf(client: Client, table: string): Promise<number> {
  return Number((await client.query<{ rows: string }>(`SELECT count(*) AS rows FROM ${table}`)).rows[0]!.rows);
}
