import type { Client } from 'pg';
import { sequencesOf } from './catalog.js';
import { MoveFailed, MoveRefused } from './refused.js';

/** Schema in the target that exists until the move is finished. Gateways refuse a database that contains it. */
const MOVE_SCHEMA = 'unfinished_move';
/** Tables that have been copied, and the first transaction of the source that isn't contained in the copy. */
export const MOVE_TABLES = `${MOVE_SCHEMA}.copied_table`;
const MOVE_ID = `${MOVE_SCHEMA}.move`;

const OLDEST_VERSION = 150_000;

/** Refuses a database that gateways can't use. */
export async function refuseUnsuitable(target: Client): Promise<void> {
  const { rows } = await target.query<
    Record<'version' | 'encoding' | 'schema' | 'name', string> & { isStandby: boolean; mayCreate: boolean }
  >(
    `SELECT current_setting('server_version_num') AS version, current_setting('server_encoding') AS encoding,
       current_schema() AS schema, current_database() AS name, pg_is_in_recovery() AS "isStandby",
       has_database_privilege(current_database(), 'CREATE') AND has_schema_privilege('public', 'CREATE') AS "mayCreate"`,
  );
  const { version, encoding, schema, name, isStandby, mayCreate } = rows[0]!;
  if (Number(version) < OLDEST_VERSION) throw new MoveRefused('the target must be PostgreSQL 15 or newer');
  if (encoding !== 'UTF8') throw new MoveRefused(`the target's encoding must be UTF8; it is ${encoding}`);
  if (isStandby) throw new MoveRefused('the target is a standby; use the address of the primary');
  if (!mayCreate) throw new MoveRefused(`the target's role must own the database ${name}`);
  if (schema !== 'public') throw new MoveRefused(`the target's first schema must be public; it is ${schema}`);
}

/** Refuses any database of the built-in server, by any name. The server ends with the last process that uses DATA_DIR. */
export async function refuseSameServer(source: Client, target: Client): Promise<void> {
  const startOf = async (client: Client) =>
    (await client.query<{ at: string }>('SELECT pg_postmaster_start_time()::text AS at')).rows[0]!.at;
  if ((await startOf(source)) === (await startOf(target)))
    throw new MoveRefused('the target is on the built-in PostgreSQL itself; use another server');
}

/** Returns the id of the unfinished move to this database, or null if it is empty. Refuses any other database. */
export async function unfinishedMove(target: Client): Promise<string | null> {
  if (await isUnfinishedMove(target)) {
    return (await target.query<{ id: string }>(`SELECT id FROM ${MOVE_ID}`)).rows[0]!.id;
  }
  const { rows } = await target.query<{ name: string }>(
    `SELECT name FROM (
       SELECT 'pg_class'::regclass AS catalog, oid, relname AS name FROM pg_class
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
       UNION ALL SELECT 'pg_proc'::regclass, oid, proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace
       UNION ALL SELECT 'pg_type'::regclass, oid, typname FROM pg_type
         WHERE typnamespace = 'public'::regnamespace AND typtype IN ('e', 'd')
     ) found
     WHERE NOT EXISTS (SELECT FROM pg_depend WHERE classid = catalog AND objid = found.oid AND deptype = 'e') LIMIT 1`,
  );
  if (rows.length > 0) throw new MoveRefused(`the target must be an empty database, but it contains ${rows[0]!.name}`);
  return null;
}

/** Whether a move to this database has begun but not finished. */
export async function isUnfinishedMove(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT to_regclass('${MOVE_ID}') IS NOT NULL AS found`);
  return rows[0]!.found;
}

/** Marks the empty database as the target of this move, so that gateways refuse it. */
export async function beginAtTarget(target: Client, id: string): Promise<void> {
  await target.query(`BEGIN; CREATE SCHEMA ${MOVE_SCHEMA}; CREATE TABLE ${MOVE_ID} (id text NOT NULL);
    CREATE TABLE ${MOVE_TABLES} (name text PRIMARY KEY, copied_before numeric NOT NULL)`);
  await target.query(`INSERT INTO ${MOVE_ID} VALUES ($1)`, [id]);
  await target.query('COMMIT');
}

/** Lets gateways use the database. */
export async function finishAtTarget(target: Client): Promise<void> {
  await target.query(`SET synchronous_commit = on`);
  await target.query(`DROP SCHEMA IF EXISTS ${MOVE_SCHEMA} CASCADE`);
}

/** Sets the target's sequences to the source's values, and returns their number. */
export async function copySequences(source: Client, target: Client): Promise<number> {
  const wanted = await sequencesOf(source);
  for (const { name, lastValue, isCalled } of wanted) {
    await target.query('SELECT setval($1::regclass, $2::bigint, $3)', [name, lastValue, isCalled]);
  }
  const found = await sequencesOf(target);
  if (JSON.stringify(found) !== JSON.stringify(wanted)) throw new MoveFailed("the copied sequences don't match");
  return wanted.length;
}
