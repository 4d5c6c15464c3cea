import { inSnapshot } from '../../database/snapshot.js';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant } from '../kernel/time.js';
import { noAccount } from './accounts.js';

/** A table that contains account data, and the condition that selects an account's rows. */
interface Source {
  table: string;
  /** SQL condition on the table, which is referred to by its own name. `$1` is the account id. */
  rows: string;
}

interface Reference {
  child: string;
  parent: string;
  /** SQL that is true if a `child` row refers to a `parent` row. */
  refers: string;
}

const FETCH_SIZE = 1_000;
const LIMIT_MS = 600_000;

/** References between tables, read from the database's foreign-key constraints. */
const REFERENCES = `
  select child.relname as child, parent.relname as parent,
    string_agg(format('%I.%I = %I.%I', child.relname, of_child.attname, parent.relname, of_parent.attname), ' and ') as refers
  from pg_constraint as constraint_
  join pg_class as child on child.oid = constraint_.conrelid
  join pg_class as parent on parent.oid = constraint_.confrelid
  cross join lateral unnest(constraint_.conkey, constraint_.confkey) as columns(of_child, of_parent)
  join pg_attribute as of_child on of_child.attrelid = child.oid and of_child.attnum = columns.of_child
  join pg_attribute as of_parent on of_parent.attrelid = parent.oid and of_parent.attnum = columns.of_parent
  where constraint_.contype = 'f' and child.relnamespace = current_schema()::regnamespace
  group by constraint_.oid, child.relname, parent.relname
  order by child.relname, parent.relname`;

/**
 * Writes everything stored about an account as one JSON object, read from a single database snapshot. It has an array
 * of rows for each table that refers to the account, directly or through other tables. Sealed secrets and hashes of
 * secrets are omitted. Throws not_found.
 */
export function exportAccount(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  accountId: string,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const settings = `set local statement_timeout = ${LIMIT_MS}; set local idle_in_transaction_session_timeout = ${LIMIT_MS}`;
  let hasWritten = false;
  return inSnapshot(deps.db, { server: 'replica', settings, canRepeat: () => !hasWritten }, async (transaction) => {
    const { rowCount } = await transaction.query('select from account where id = $1', [accountId]);
    if (rowCount === 0) throw noAccount(accountId);
    const { rows: references } = await transaction.query<Reference>(REFERENCES);
    const secret = await columnsOfBytes(transaction);
    hasWritten = true;
    await write(`{"exported_at":${JSON.stringify(formatInstant(deps.clock.now()))}`);
    for (const source of sourcesOf(references)) {
      await write(`,\n${JSON.stringify(source.table)}:[`);
      await writeRows(transaction, source, accountId, secret.get(source.table) ?? [], write);
      await write(']');
    }
    await write('}\n');
  });
}

/** Returns the account's own row and every table that refers to it, each listed once, closest first. */
function sourcesOf(references: readonly Reference[]): Source[] {
  // These tables refer to the account without a constraint, which would have to be checked for every inserted row.
  const sources: Source[] = [
    { table: 'account', rows: 'account.id = $1' },
    ...['activity', 'chain_link', 'log_leaf'].map((table) => ({ table, rows: `${table}.account_id = $1` })),
    ...['sold_gpu', 'gpu_loss', 'instance_sample', 'gpu_sample'].map((table) => {
      return { table, rows: `${table}.instance_id in (select id from instance where account_id = $1)` };
    }),
  ];
  for (const { table, rows } of sources) {
    for (const { child, parent, refers } of references) {
      if (parent !== table || sources.some((known) => known.table === child)) continue;
      sources.push({ table: child, rows: `exists (select from "${parent}" where ${refers} and ${rows})` });
    }
  }
  return sources;
}

async function columnsOfBytes(transaction: Transaction): Promise<Map<string, string[]>> {
  const { rows } = await transaction.query<{ name: string; columns: string[] }>(
    `select table_name as name, array_agg(column_name::text) as columns from information_schema.columns
     where table_schema = current_schema() and data_type = 'bytea' and table_name <> 'chain_link'
       and (column_name like '%hash' or column_name like 'sealed%') group by table_name`,
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Writes rows as JSON. The database does the formatting, which preserves all digits of numbers. */
async function writeRows(
  transaction: Transaction,
  { table, rows: which }: Source,
  accountId: string,
  secret: readonly string[],
  write: (text: string) => Promise<void>,
): Promise<void> {
  await transaction.query(
    `declare source cursor for select (to_jsonb("${table}") - $2::text[])::text as json from "${table}" where ${which}`,
    [accountId, secret],
  );
  for (let separator = '\n'; ; separator = ',\n') {
    const { rows } = await transaction.query<{ json: string }>(`fetch ${FETCH_SIZE} from source`);
    if (rows.length > 0) await write(separator + rows.map(({ json }) => json).join(',\n'));
    if (rows.length < FETCH_SIZE) break;
  }
  await transaction.query('close source');
}
