import { inTransaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';

/** Locks of leases that are over, and of pieces of the gateway's own work that are. */
const DEAD = `select volume_lock.name from volume_lock join volume on volume.id = volume_id where volume_id = $1
  and ((volume_lock.lease is not null and (lease_instance_id is null or volume_lock.lease <> volume.lease))
    or (upkeep is not null and upkeep is distinct from upkeep_nonce))`;

/**
 * Removes the locks of whoever can write no more: restic itself would wait for half an hour. Those of the owner's own restic
 * are left to it.
 */
export async function removeDeadLocks(deps: Deps, volumeId: string): Promise<void> {
  const { rows } = await deps.db.pool.query<{ name: string }>({ name: 'dead-locks', text: DEAD, values: [volumeId] });
  if (rows.length === 0) return;
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('select 1 from volume where id = $1 for no key update', [volumeId]);
    const { rows: dead } = await transaction.query<{ name: string }>(DEAD, [volumeId]);
    for (const { name } of dead) {
      await deps.volumeStore.delete(volumeId, { kind: 'locks', name });
      await transaction.query('delete from volume_lock where volume_id = $1 and name = $2', [volumeId, name]);
    }
  });
}
