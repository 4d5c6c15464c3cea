import type { Transaction } from '../../database/transaction.js';
import { ActivityNote } from '../kernel/activity-note.js';
import type { KernelDeps } from '../kernel/deps.js';
import { formatInstant } from '../kernel/time.js';
import type { RepositoryAccess } from './access.js';
import type { ObjectName } from './store.js';

/**
 * Pack deletions by the same key within this many seconds share one activity entry, because restic deletes many in a
 * row.
 */
const COMBINED_SECONDS = 3_600n;
const DELETIONS = { snapshots: 'deleteVolumeSnapshot', keys: 'deleteVolumeKey' } as const;

/**
 * Records an owner's deletions from a repository in the account's activity, in the same transaction. Snapshots appear
 * as `deleteVolumeSnapshot`, keys as `deleteVolumeKey`, and packs and indexes combined as `pruneVolume`.
 */
export async function recordDeletion(
  { clock }: Pick<KernelDeps, 'clock'>,
  transaction: Transaction,
  access: RepositoryAccess,
  object: ObjectName,
): Promise<void> {
  if (access.kind !== 'owner' || object.kind === 'locks') return;
  const { volume, caller } = access;
  const at = clock.now();
  if (object.kind === 'snapshots' || object.kind === 'keys') {
    new ActivityNote(caller, DELETIONS[object.kind], [volume.id, object.name]).writeWith(transaction, at);
  } else if (!(await isRecorded(transaction, caller, volume.id, at))) {
    new ActivityNote(caller, 'pruneVolume', [volume.id]).writeWith(transaction, at);
  }
}

async function isRecorded(
  transaction: Transaction,
  { accountId, keyId }: { accountId: string; keyId: string },
  volumeId: string,
  at: bigint,
): Promise<boolean> {
  const { rows } = await transaction.query(
    `select 1 from activity where account_id = $1 and at > $2::timestamptz and key_id = $3 and operation = 'pruneVolume'
       and code is null and $4 = any(targets) limit 1`,
    [accountId, formatInstant(at - COMBINED_SECONDS), keyId, volumeId],
  );
  return rows.length > 0;
}
