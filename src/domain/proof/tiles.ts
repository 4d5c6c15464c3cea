import type pg from 'pg';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import {
  HASH_BYTES,
  type Leaves,
  type ReadTile,
  subtreeHash,
  TILE_HASHES,
  TILE_HEIGHT,
  type TileId,
  tilesFor,
} from './rules/tree.js';

type Reader = Pick<pg.Pool | Transaction, 'query'>;

/** Returns the hash of each range of leaves. Reads only the tiles that they need. */
export async function hashesOf(reader: Reader, ranges: readonly Leaves[]): Promise<Buffer[]> {
  const read = await readTiles(reader, ranges.flatMap(tilesFor));
  return ranges.map((leaves) => subtreeHash(read, leaves));
}

async function readTiles(reader: Reader, tiles: readonly TileId[]): Promise<ReadTile> {
  const { rows } = await (reader as pg.Pool).query<{ level: number; index: string; hashes: Buffer }>(
    `select level, index, hashes from log_tile
     where (level, index) in (select * from unnest($1::int[], $2::bigint[]))`,
    [tiles.map(({ level }) => level), tiles.map(({ index }) => index)],
  );
  const known = new Map(rows.map(({ level, index, hashes }) => [`${level}/${index}`, hashes]));
  return ({ level, index }) => required(known.get(`${level}/${index}`), `tile ${level}/${index}`);
}

/** The tree after leaves were appended. */
interface Appended {
  size: number;
  /** Snapshot from which the chains were read. */
  snapshot: string;
}

/**
 * Appends a leaf for each account whose chain has changed since the snapshot `since` was taken, in the order of the
 * pseudonyms, which says nothing about the accounts. Null checks all chains. The database computes all hashes, so that
 * no request waits for them.
 */
export async function appendLeaves(transaction: Transaction, size: number, since: string | null): Promise<Appended> {
  await transaction.query(SETTINGS);
  const { added, snapshot } = await appendChanged(transaction, size, since);
  const newSize = size + added;
  for (let [level, before, after] = [1, fullTiles(size), fullTiles(newSize)]; after > before; level += 1) {
    await transaction.query(APPEND_ABOVE, [level, before, after]);
    [before, after] = [fullTiles(before), fullTiles(after)];
  }
  return { size: newSize, snapshot };
}

interface AppendedRow {
  added: number;
  snapshot: string;
}

/**
 * A chain that has changed since has no leaf yet, unless its row was copied from another cluster, whose transactions
 * have other numbers. The primary key of log_leaf finds such a chain, and then all chosen ones are looked up.
 */
async function appendChanged(transaction: Transaction, size: number, since: string | null): Promise<AppendedRow> {
  const append = async (text: string) => only((await transaction.query<AppendedRow>(text, [size, since])).rows);
  if (since === null) return append(APPEND_UNKNOWN);
  await transaction.query('savepoint appending');
  try {
    return await append(APPEND_CHANGED);
  } catch (error) {
    if ((error as { constraint?: string }).constraint !== 'log_leaf_pkey') throw error;
    await transaction.query('rollback to savepoint appending');
    return append(APPEND_UNKNOWN);
  }
}

function fullTiles(hashes: number): number {
  return Math.floor(hashes / TILE_HASHES);
}

/** For sorting, and so that the lookup of existing leaves reads only the index. */
const SETTINGS = `set local work_mem = '64MB'; set local enable_bitmapscan = off`;

/**
 * Whether a chain has changed since the snapshot $2. This is exact: it's true for each row version that the snapshot
 * doesn't show, including those of transactions that committed later than others with greater numbers.
 *
 * It remains exact after a crash, a failover or a restore to an earlier time. A transaction that the snapshot shows has
 * written its end to the WAL before the root did, so wherever the root exists, the server knows that its number was
 * used, and gives no later transaction this number.
 */
const HAS_CHANGED = 'coalesce(not pg_visible_in_snapshot(changed_in, $2::pg_snapshot), true)';

/** A subquery, because a join would read all leaves that ever were. */
const IS_UNKNOWN = `not coalesce(
  (select true from log_leaf known where known.account_id = chain.account_id and known.number = chain.length), false)`;

/**
 * The returned snapshot is the one that the whole statement reads. Inserting in the order of the accounts fills the
 * index in its own order.
 */
const appendWhere = (condition: string) => `with picked as materialized (
    select account_id, length as number, $1::bigint + row_number() over (order by pseudonym) - 1 as index,
      sha256('\\x00'::bytea || convert_to('gpu-rental/leaf/v1' || chr(10) || '{"head":"' || encode(head, 'hex')
        || '","number":' || length || ',"pseudonym":"' || encode(pseudonym, 'hex') || '"}', 'UTF8')) as hash
    from account_chain chain
    where complete and length > 0 and ${condition}
  ), leaves as (
    insert into log_leaf (account_id, number, index)
    select account_id, number, index from picked order by account_id collate "C"
  ), tiles as (
    insert into log_tile as tile (level, index, hashes)
    select 0, index / ${TILE_HASHES}, string_agg(hash, '' order by index) from picked group by index / ${TILE_HASHES}
    on conflict (level, index) do update set hashes = tile.hashes || excluded.hashes
  )
  select count(*)::int as added, pg_current_snapshot()::text as snapshot from picked`;
const APPEND_CHANGED = appendWhere(HAS_CHANGED);
const APPEND_UNKNOWN = appendWhere(`${HAS_CHANGED} and ${IS_UNKNOWN}`);

/** One step of `rootOfHashes` for each level of a tile. */
const TILE_ROOT = Array.from(
  { length: TILE_HEIGHT },
  (_, level) => `lateral (
    select string_agg(sha256('\\x01'::bytea || substr(below.hashes, pair * ${2 * HASH_BYTES} + 1, ${2 * HASH_BYTES})), '' order by pair) as hashes
    from (select s${level}.hashes) below, generate_series(0, ${TILE_HASHES / 2 ** (level + 1) - 1}) as pair
  ) s${level + 1}`,
).join(', ');

/** Adds the roots of the full tiles $2 to $3 (exclusive) of the level below $1. */
const APPEND_ABOVE = `insert into log_tile as tile (level, index, hashes)
  select $1::int, s0.index / ${TILE_HASHES}, string_agg(s${TILE_HEIGHT}.hashes, '' order by s0.index)
  from (select index, hashes || ''::bytea as hashes from log_tile
    where level = $1::int - 1 and index >= $2::bigint and index < $3::bigint) s0, ${TILE_ROOT}
  group by s0.index / ${TILE_HASHES}
  on conflict (level, index) do update set hashes = tile.hashes || excluded.hashes`;
