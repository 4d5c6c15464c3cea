import type { Client } from 'pg';
import type { Table } from './catalog.js';
import { MoveFailed } from './refused.js';

/** Throws if the table's rows differ between the servers. */
export async function refuseDifferentRows(source: Client, target: Client, table: Table): Promise<void> {
  if (await haveSameRows(source, target, table)) return;
  throw new MoveFailed(`the rows of the copied table ${table.name} differ from the source's`);
}

/**
 * Whether the table has the same rows on both servers. Compares the number of rows and the sum of a 64-bit hash of each
 * row's text, which is the same in all versions of PostgreSQL and doesn't depend on the order or the collation.
 */
export async function haveSameRows(source: Client, target: Client, table: Table): Promise<boolean> {
  const text = `SELECT count(*) || ' ' || coalesce(sum(hashtextextended(ROW(${table.columns})::text COLLATE "C", 0)), 0)
    AS digest FROM public.${table.name}`;
  const digest = async (client: Client) => (await client.query<{ digest: string }>(text)).rows[0]!.digest;
  const [wanted, found] = await Promise.all([digest(source), digest(target)]);
  return found === wanted;
}

/** Throws if the schemas differ. Foreign keys don't exist while rows are copied, so they are optional. */
export async function refuseDifferentSchema(source: Client, target: Client, hasForeignKeys: boolean): Promise<void> {
  const describe = async (client: Client) => (await client.query<Part>(SCHEMA, [hasForeignKeys])).rows;
  const [wanted, found] = await Promise.all([describe(source), describe(target)]);
  const [lacking] = without(wanted, found);
  if (lacking !== undefined) throw new MoveFailed(`the target lacks ${lacking.name}: ${lacking.definition}`);
  const [added] = without(found, wanted);
  if (added !== undefined) throw new MoveFailed(`only the target has ${added.name}: ${added.definition}`);
}

interface Part {
  name: string;
  definition: string;
}

function without(parts: readonly Part[], others: readonly Part[]): Part[] {
  const known = new Set(others.map(({ name, definition }) => `${name} ${definition}`));
  return parts.filter(({ name, definition }) => !known.has(`${name} ${definition}`));
}

const NOT_OF_EXTENSION = (catalog: string) =>
  `NOT EXISTS (SELECT FROM pg_depend WHERE classid = '${catalog}'::regclass AND objid = o.oid AND deptype = 'e')`;

/** Newer versions of PostgreSQL also list NOT NULL as constraints (`n`), but all list it with the columns. */
const SCHEMA = `
  SELECT 'column ' || c.relname || '.' || attname AS name, concat_ws(' ', format_type(atttypid, atttypmod),
    CASE WHEN attnotnull THEN 'not null' END, attgenerated, attidentity, pg_get_expr(adbin, adrelid)) AS definition
  FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef ON (adrelid, adnum) = (attrelid, attnum)
  WHERE c.relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT 'constraint ' || relname || '.' || conname, concat_ws(' ', pg_get_constraintdef(k.oid), convalidated)
  FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
  WHERE relnamespace = 'public'::regnamespace AND contype <> 'n' AND ($1::boolean OR contype <> 'f')
  UNION ALL
  SELECT 'index ' || i.relname, concat_ws(' ', pg_get_indexdef(i.oid), indisvalid)
  FROM pg_index JOIN pg_class i ON i.oid = indexrelid WHERE i.relnamespace = 'public'::regnamespace
  UNION ALL
  SELECT 'trigger ' || tgname, concat_ws(' ', pg_get_triggerdef(t.oid), tgenabled)
  FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'public'::regnamespace AND NOT tgisinternal
  UNION ALL
  SELECT 'function ' || o.oid::regprocedure, pg_get_functiondef(o.oid)
  FROM pg_proc o WHERE pronamespace = 'public'::regnamespace AND prokind <> 'a' AND ${NOT_OF_EXTENSION('pg_proc')}
  UNION ALL
  SELECT 'type ' || typname, string_agg(enumlabel, ', ' ORDER BY enumsortorder)
  FROM pg_type o JOIN pg_enum ON enumtypid = o.oid WHERE typnamespace = 'public'::regnamespace GROUP BY typname
  ORDER BY 1`;
