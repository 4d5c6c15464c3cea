import type { Client } from 'pg';

/** A table as described by the source's catalog. All names are quoted where needed. */
export interface Table {
  name: string;
  /** Columns that can be written. */
  columns: string;
  /** Columns of the primary key, or null without one. */
  key: string[] | null;
  bytes: number;
  /** The planner's estimate, or -1 if it has none. */
  estimatedRows: number;
}

/** Returns the tables of the schema `public`, largest first, without the record of migrations. */
export async function tablesOf(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Omit<Table, 'bytes'> & { bytes: string }>(`
    SELECT quote_ident(relname) AS name, pg_table_size(c.oid) AS bytes, reltuples::float8 AS "estimatedRows",
      (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
        WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '') AS columns,
      (SELECT array_agg(quote_ident(attname) ORDER BY attnum) FROM pg_attribute, pg_index
        WHERE indrelid = c.oid AND indisprimary AND attrelid = c.oid AND attnum = ANY (indkey)) AS key
    FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> '_prisma_migrations'
    ORDER BY pg_table_size(c.oid) DESC`);
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/** An index or a constraint, and the statements that create and drop it. */
export interface Definition {
  table: string;
  name: string;
  create: string;
  drop: string;
}

const CONSTRAINTS = (kinds: string) => `
  SELECT quote_ident(relname) AS "table", conname AS name,
    format('ALTER TABLE public.%I ADD CONSTRAINT %I %s', relname, conname, pg_get_constraintdef(k.oid)) AS create,
    format('ALTER TABLE public.%I DROP CONSTRAINT %I', relname, conname) AS drop
  FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
  WHERE c.relnamespace = 'public'::regnamespace AND relname <> '_prisma_migrations' AND contype IN (${kinds})
    AND conparentid = 0`;

const PLAIN_INDEXES = `
  SELECT quote_ident(c.relname) AS "table", i.relname AS name, pg_get_indexdef(i.oid) AS create,
    format('DROP INDEX public.%I', i.relname) AS drop
  FROM pg_index x JOIN pg_class c ON c.oid = indrelid JOIN pg_class i ON i.oid = indexrelid
  WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> '_prisma_migrations'
    AND NOT i.relispartition AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.oid AND contype IN ('p', 'u', 'x'))`;

/** Returns all foreign keys, except those that partitions inherit. */
export function foreignKeysOf(client: Client): Promise<Definition[]> {
  return definitions(client, CONSTRAINTS(`'f'`));
}

/** Returns all indexes, including those of primary keys and unique constraints, except those that partitions inherit. */
export function indexesOf(client: Client): Promise<Definition[]> {
  return definitions(client, `${CONSTRAINTS(`'p', 'u', 'x'`)} UNION ALL ${PLAIN_INDEXES}`);
}

async function definitions(client: Client, text: string): Promise<Definition[]> {
  return (await client.query<Definition>(text)).rows;
}

/** Returns those of `wanted` that aren't in `present`. */
export function missingFrom(present: readonly Definition[], wanted: readonly Definition[]): Definition[] {
  const names = new Set(present.map(({ table, name }) => `${table} ${name}`));
  return wanted.filter(({ table, name }) => !names.has(`${table} ${name}`));
}

/** Returns the names of the migrations applied to the database. */
export async function migrationsOf(client: Client): Promise<string[]> {
  const found = await client.query<{ present: boolean }>(
    `SELECT to_regclass('public._prisma_migrations') IS NOT NULL AS present`,
  );
  if (!found.rows[0]!.present) return [];
  const { rows } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM public._prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

export interface Sequence {
  /** Qualified and quoted. */
  name: string;
  lastValue: string;
  isCalled: boolean;
}

export async function sequencesOf(client: Client): Promise<Sequence[]> {
  const { rows: names } = await client.query<{ name: string }>(
    `SELECT format('public.%I', relname) AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind = 'S' ORDER BY 1`,
  );
  const sequences: Sequence[] = [];
  for (const { name } of names) {
    const text = `SELECT last_value::text AS "lastValue", is_called AS "isCalled" FROM ${name}`;
    sequences.push({ name, ...(await client.query<Omit<Sequence, 'name'>>(text)).rows[0]! });
  }
  return sequences;
}
