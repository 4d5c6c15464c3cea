import { only } from '../../database/only.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { lockVolume } from './access.js';
import type { VolumeDeps } from './deps.js';

/** Age at which restic considers a lock stale. While it runs, restic renews its lock every five minutes. */
const STALE_MS = 1_800_000;

interface Writer {
  name: string;
  lease: bigint | null;
  upkeep: string | null;
}

interface Holder {
  lease: bigint;
  leaseInstanceId: string | null;
  upkeepNonce: string | null;
}

/**
 * Removes stale locks and those held by clients that can no longer write. Otherwise, restic would wait for them. While
 * an instance holds the volume, the owner can neither delete anything nor renew a lock, so the owner's locks are
 * removed too.
 */
export async function removeStaleLocks(deps: Pick<VolumeDeps, 'db' | 'volumeStore'>, volumeId: string): Promise<void> {
  if ((await staleLocks(deps, deps.db.pool, volumeId)).length === 0) return;
  await inTransaction(deps.db.pool, async (transaction) => {
    await lockVolume(transaction, volumeId);
    for (const name of await staleLocks(deps, transaction, volumeId)) {
      await deps.volumeStore.delete(volumeId, { kind: 'locks', name });
      await transaction.query('delete from volume_lock where volume_id = $1 and name = $2', [volumeId, name]);
    }
  });
}

/**
 * Throws action_failed if an owner's restic deletes packs without a lock, or based on indexes that it read before the
 * newest lease, because it would then delete packs that newer snapshots need. A lease removes the owner's locks, but a
 * prune that is still running renews its own lock afterwards.
 */
export async function checkMayPrune(transaction: Transaction, volumeId: string): Promise<void> {
  const { rows } = await transaction.query<{ isLocked: boolean; isCurrent: boolean }>(
    `select exists (select from volume_lock where volume_id = $1 and lease is null and upkeep is null) as "isLocked",
       lease is not distinct from listed_lease as "isCurrent"
     from volume where id = $1`,
    [volumeId],
  );
  const { isLocked, isCurrent } = only(rows);
  if (!isLocked)
    throw new DomainError(
      'action_failed',
      'you hold no lock on this volume: an instance has used it in the meantime, or the lock expired; run restic again',
    );
  if (!isCurrent)
    throw new DomainError(
      'action_failed',
      'an instance has used this volume since restic read its indexes; run restic again',
    );
}

/** Records which leases the indexes include. Call it before an owner lists them. */
export async function recordIndexesRead({ db }: Pick<KernelDeps, 'db'>, volumeId: string): Promise<void> {
  await db.pool.query(
    `update volume set listed_lease = lease
     where id = $1 and lease_instance_id is null and listed_lease is distinct from lease`,
    [volumeId],
  );
}

/** Whether a client other than the gateway itself is working on the repository. */
export async function isLocked(deps: Pick<VolumeDeps, 'db' | 'volumeStore'>, volumeId: string): Promise<boolean> {
  await removeStaleLocks(deps, volumeId);
  for await (const _ of deps.volumeStore.list(volumeId, 'locks')) return true;
  return false;
}

async function staleLocks(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  reader: Pick<Transaction, 'query'>,
  volumeId: string,
): Promise<string[]> {
  const written: { name: string; modifiedAtMs: number }[] = [];
  for await (const lock of deps.volumeStore.list(volumeId, 'locks')) written.push(lock);
  if (written.length === 0) return [];
  const { rows: holders } = await reader.query<Holder>({
    name: 'holder-of-volume',
    text: `select lease, lease_instance_id as "leaseInstanceId", upkeep_nonce as "upkeepNonce" from volume where id = $1`,
    values: [volumeId],
  });
  const { rows: writers } = await reader.query<Writer>({
    name: 'locks-of-volume',
    text: 'select name, lease, upkeep from volume_lock where volume_id = $1',
    values: [volumeId],
  });
  const [holder] = holders;
  if (holder === undefined) return [];
  const isStale = (modifiedAtMs: number) => modifiedAtMs < Date.now() - STALE_MS;
  return written
    .filter(
      ({ name, modifiedAtMs }) =>
        isStale(modifiedAtMs) ||
        hasLostAccess(
          writers.find((each) => each.name === name),
          holder,
        ),
    )
    .map(({ name }) => name);
}

/** A lock without a row belongs to the owner. */
function hasLostAccess(writer: Writer | undefined, { lease, leaseInstanceId, upkeepNonce }: Holder): boolean {
  if (writer?.upkeep != null) return writer.upkeep !== upkeepNonce;
  if (writer?.lease != null) return leaseInstanceId === null || writer.lease !== lease;
  return leaseInstanceId !== null;
}
