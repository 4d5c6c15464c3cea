import type { VolumeAccess } from '../../agent-protocol/protocol.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { formatInstant } from '../kernel/time.js';
import { SAVED_WITHIN_DAYS } from '../kernel/volume-lease.js';
import { leaseSecret } from '../volumes/lease-secret.js';
import { passwordOf } from '../volumes/password.js';
import { leaseToken } from '../volumes/rules/lease-token.js';

interface AccessRow {
  id: string;
  accountId: string;
  lease: bigint;
  nonce: string;
  sealedPassword: Uint8Array;
  sealingKeyId: string;
  snapshot: string | null;
  sizeBytes: bigint | null;
}

/**
 * Returns what a host's agent needs to use the volumes held by an instance there, until their last snapshot is stored.
 * Throws not_found unless this is the instance's current start. Also throws not_found if the instance stopped before it
 * had access, was destroyed more than a week ago or has no volumes.
 */
export async function volumesForAgent(
  deps: Pick<KernelDeps, 'db' | 'clock' | 'settings' | 'sealingKeys'>,
  machineId: string,
  instanceId: string,
  start: number,
): Promise<VolumeAccess> {
  const { rows } = await deps.db.pool.query<AccessRow>({
    name: 'open-volumes',
    text: OPEN_SQL,
    values: [instanceId, machineId, start, formatInstant(deps.clock.now())],
  });
  if (rows.length === 0) throw new DomainError('not_found', 'no such start, or it has no volumes');
  const secret = await leaseSecret(deps);
  const opened = await Promise.all(rows.map(async (row) => ({ ...row, password: await passwordOf(deps, row) })));
  const { volumeSnapshotSeconds: snapshotSeconds } = deps.settings;
  return {
    volumes: opened.map(({ id, lease, nonce, snapshot, sizeBytes, password }) => ({
      id,
      lease: Number(lease),
      path: `/volumes/${id}/`,
      token: leaseToken(secret, { id, lease, nonce }),
      password,
      restore: snapshot === null ? null : { snapshot, sizeBytes: sizeBytes === null ? null : Number(sizeBytes) },
      snapshotSeconds,
    })),
  };
}

/**
 * Once the volume has been accessed, the host may have changes to save. A copy starts from its source snapshot until it
 * has a newer one.
 */
const OPEN_SQL = `
  with opened as (
    update volume set lease_opened = true from instance holder
    where lease_instance_id = $1 and lease_host_id = $2 and holder.id = lease_instance_id and gpu_intervals = $3
      and (status = 'RUNNING' or lease_opened) and deleted_at is null
      and (destroyed_at is null or destroyed_at >= $4::timestamptz - interval '${SAVED_WITHIN_DAYS} days')
    returning volume.*
  )
  select opened.id, opened.account_id as "accountId", lease, lease_nonce as nonce, sealed_password as "sealedPassword",
    sealing_key_id as "sealingKeyId", newest.id as snapshot, size_bytes as "sizeBytes"
  from opened left join lateral (
    select id, size_bytes from volume_snapshot where volume_id = opened.id and dropped_at is null
    order by case when head_snapshot_id is null or at > copied_at then 0 when id = head_snapshot_id then 1 else 2 end, at desc
    limit 1
  ) newest on true
  order by opened.id`;
