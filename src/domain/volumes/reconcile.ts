import { inTransaction } from '../../database/transaction.js';
import { lockVolume } from './access.js';
import type { VolumeDeps } from './deps.js';
import { storedSize } from './rules/volume-history.js';
import { dropSnapshots } from './snapshots.js';
import { OBJECT_KINDS } from './store.js';

/** Differences between the store and the database for one volume. */
export interface Difference {
  volumeId: string;
  /** Whether the store has no repository, although the database has snapshots of it. */
  isGone: boolean;
  /** Ids of snapshots that only the database has, because the store is older or damaged. */
  missing: string[];
  /** Snapshots that only the store has, because the database is older. */
  unknown: { id: string; modifiedAtMs: number }[];
}

/** Returns a volume's differences without changing anything. Returns null if the store and the database agree. */
export async function differenceOf(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  volumeId: string,
): Promise<Difference | null> {
  const { rows } = await deps.db.pool.query<{ id: string; dropped: boolean }>({
    name: 'snapshots-of-volume',
    text: 'select id, dropped_at is not null as dropped from volume_snapshot where volume_id = $1',
    values: [volumeId],
  });
  const there = new Map<string, number>();
  for await (const { name, modifiedAtMs } of deps.volumeStore.list(volumeId, 'snapshots'))
    there.set(name, modifiedAtMs);
  const known = new Set(rows.flatMap(({ id, dropped }) => (dropped ? [] : [id])));
  const missing = [...known].filter((id) => !there.has(id));
  const unknown = [...there].flatMap(([id, modifiedAtMs]) => (known.has(id) ? [] : [{ id, modifiedAtMs }]));
  if (missing.length === 0 && unknown.length === 0) return null;
  const isGone = missing.length > 0 && (await deps.volumeStore.size(volumeId, { kind: 'config' })) === null;
  return { volumeId, isGone, missing, unknown };
}

/**
 * Updates the database to match the store, by dropping missing snapshots and adding unknown ones. If the whole
 * repository is gone, this is probably the wrong store, so nothing is changed and the result is false.
 */
export async function reconcile(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'volumeStore'>,
  volumeId: string,
): Promise<boolean> {
  const found = await differenceOf(deps, volumeId);
  if (found === null) return true;
  if (found.isGone) return false;
  await inTransaction(deps.db.pool, async (transaction) => {
    await lockVolume(transaction, volumeId);
    // Compared again under the lock, because the volume may have been written or deleted in the meantime.
    const still = await differenceOf(deps, volumeId);
    if (still === null || still.isGone) return;
    await dropSnapshots(deps, transaction, volumeId, still.missing);
    for (const { id, modifiedAtMs } of still.unknown)
      await transaction.query(
        `insert into volume_snapshot (volume_id, id, at) values ($1, $2, to_timestamp($3::double precision / 1000))
         on conflict (volume_id, id) do update set dropped_at = null`,
        [volumeId, id, modifiedAtMs],
      );
  });
  return true;
}

/** Recalculates the repository's size and returns it, in bytes. */
export async function recount(deps: Pick<VolumeDeps, 'db' | 'volumeStore'>, volumeId: string): Promise<bigint> {
  let bytes = storedSize((await deps.volumeStore.size(volumeId, { kind: 'config' })) ?? 0);
  for (const kind of OBJECT_KINDS)
    for await (const { size } of deps.volumeStore.list(volumeId, kind)) bytes += storedSize(size);
  await deps.db.pool.query('update volume set stored_bytes = $2 where id = $1', [volumeId, bytes]);
  return bytes;
}
