import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant } from '../kernel/time.js';
import type { RepositoryAccess } from './access.js';
import { VolumeFull } from './full.js';
import { MAX_SNAPSHOTS } from './rules/volume-history.js';

/**
 * Inserts the row for a snapshot whose object is stored in this transaction, which must have locked the volume's row.
 * The snapshot's time is later than any previous snapshot's, even within one second of the clock. Throws VolumeFull if
 * the volume already has the maximum number of snapshots.
 */
export async function recordSnapshot(
  { clock }: Pick<KernelDeps, 'clock'>,
  transaction: Transaction,
  volumeId: string,
  id: string,
  access: RepositoryAccess,
): Promise<void> {
  const { rows } = await transaction.query<{ count: number }>(
    'select count(*)::int as count from volume_snapshot where volume_id = $1 and dropped_at is null and id <> $2',
    [volumeId, id],
  );
  if (only(rows).count >= MAX_SNAPSHOTS)
    throw new VolumeFull(`volume ${volumeId} has ${MAX_SNAPSHOTS} snapshots, the maximum; delete old ones first`);
  await transaction.query(
    `insert into volume_snapshot (volume_id, id, at, lease, instance_id)
     select $1, $2, greatest($3::timestamptz, max(at) + interval '1 millisecond'), $4, $5
     from volume_snapshot where volume_id = $1
     on conflict (volume_id, id) do update set dropped_at = null`,
    [
      volumeId,
      id,
      formatInstant(clock.now()),
      access.kind === 'lease' ? access.lease : null,
      access.kind === 'lease' ? access.instanceId : null,
    ],
  );
}

/**
 * Deletes the rows of snapshots whose objects no longer exist, in a transaction that has locked the volume's row. Keeps
 * the newest row of each lease, because it shows until when the lease's changes were stored.
 */
export async function dropSnapshots(
  { clock }: Pick<KernelDeps, 'clock'>,
  reader: Pick<Transaction, 'query'>,
  volumeId: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await reader.query(
    'update volume_snapshot set dropped_at = $3::timestamptz where volume_id = $1 and id = any($2::text[]) and dropped_at is null',
    [volumeId, ids, formatInstant(clock.now())],
  );
  await reader.query(
    `delete from volume_snapshot old using (
       select coalesce(lease, 0) as lease, max(at) as at from volume_snapshot where volume_id = $1 group by 1) newest
     where old.volume_id = $1 and dropped_at is not null and coalesce(old.lease, 0) = newest.lease and old.at < newest.at`,
    [volumeId],
  );
}
