import { inTransaction, type Transaction } from '../../database/transaction.js';
import { DomainError } from '../kernel/errors.js';
import { lockVolume, type RepositoryAccess } from './access.js';
import type { VolumeDeps } from './deps.js';
import type { ObjectName } from './store.js';

/**
 * An index object lists which pack holds which blob, and restic's prune relies on it to decide which packs to delete. A
 * host has the repository's password, so it could write a false index. Therefore, before anything is deleted based on
 * an index, the gateway compares it with the packs that it lists. Prune rewrites indexes, so an index that an owner's
 * restic wrote after reading a doubted one is doubted as well.
 */
type Reader = Pick<Transaction, 'query'>;

/** Records an index object stored in this transaction, which must have locked the volume's row. */
export async function recordIndex(
  transaction: Reader,
  { kind, volume }: RepositoryAccess,
  name: string,
): Promise<void> {
  const state = kind === 'upkeep' ? 'VERIFIED' : 'DOUBTED';
  await transaction.query(
    `insert into volume_index (volume_id, name, state) select $1, $2, $3::"VolumeIndexState"
     where not $4 or exists (select from volume_index where volume_id = $1 and state <> 'VERIFIED')
     on conflict do nothing`,
    [volume.id, name, state, kind === 'owner'],
  );
}

/** Removes the record of an index object deleted in this transaction. */
export async function removeIndex(transaction: Reader, volumeId: string, name: string): Promise<void> {
  await transaction.query('delete from volume_index where volume_id = $1 and name = $2', [volumeId, name]);
}

/**
 * Throws action_failed if an owner's restic deletes packs or indexes while an index is doubted, because restic may be
 * relying on that index. An index known to be false may be deleted. Without restic, the gateway can't verify anything,
 * so everything may be deleted.
 */
export async function checkIsSound(
  { restic }: Pick<VolumeDeps, 'restic'>,
  reader: Reader,
  { kind, volume }: RepositoryAccess,
  object: ObjectName,
): Promise<void> {
  if (kind !== 'owner' || restic === null || (object.kind !== 'data' && object.kind !== 'index')) return;
  const { rows } = await reader.query<{ name: string; state: 'DOUBTED' | 'FAILED' }>(
    `select name, state from volume_index where volume_id = $1 and state <> 'VERIFIED' order by state = 'FAILED' desc`,
    [volume.id],
  );
  const [first] = rows;
  if (first === undefined || rows.some(({ name, state }) => state === 'FAILED' && isNamed(object, name))) return;
  const message =
    first.state === 'DOUBTED'
      ? `changes to volume ${volume.id} by an instance are being verified; try again in a few minutes`
      : `index ${first.name} of volume ${volume.id} doesn't match its packs; delete that index first`;
  throw new DomainError('action_failed', message);
}

/**
 * Returns the names of the store's unverified index objects, with those that failed verification last. Removes the
 * records of index objects that no longer exist.
 */
export async function unverifiedIndexes(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  volumeId: string,
): Promise<string[]> {
  const found = new Set<string>();
  for await (const { name } of deps.volumeStore.list(volumeId, 'index')) found.add(name);
  const { rows } = await deps.db.pool.query<{ name: string; state: string }>(
    'select name, state from volume_index where volume_id = $1',
    [volumeId],
  );
  for (const { name, state } of rows) {
    if (state === 'VERIFIED') found.delete(name);
    else if (!found.has(name)) await removeIfGone(deps, volumeId, name);
  }
  const failed = new Set(rows.flatMap(({ name, state }) => (state === 'FAILED' ? [name] : [])));
  const names = [...found].sort();
  return [...names.filter((name) => !failed.has(name)), ...names.filter((name) => failed.has(name))];
}

async function removeIfGone(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  volumeId: string,
  name: string,
): Promise<void> {
  await inTransaction(deps.db.pool, async (transaction) => {
    await lockVolume(transaction, volumeId);
    if ((await deps.volumeStore.size(volumeId, { kind: 'index', name })) === null)
      await removeIndex(transaction, volumeId, name);
  });
}

/**
 * Records the result of verifying these indexes. Skips those that no longer exist, because the owner may have deleted
 * some in the meantime.
 */
export async function markIndexes(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  volumeId: string,
  names: readonly string[],
  state: 'VERIFIED' | 'FAILED',
): Promise<void> {
  await inTransaction(deps.db.pool, async (transaction) => {
    await lockVolume(transaction, volumeId);
    const existing: string[] = [];
    for (const name of names)
      if ((await deps.volumeStore.size(volumeId, { kind: 'index', name })) !== null) existing.push(name);
    await transaction.query(
      `insert into volume_index (volume_id, name, state) select $1, name, $3::"VolumeIndexState" from unnest($2::text[]) as name
       on conflict (volume_id, name) do update set state = excluded.state`,
      [volumeId, existing, state],
    );
  });
}

function isNamed(object: ObjectName, name: string): boolean {
  return object.kind === 'index' && object.name === name;
}
