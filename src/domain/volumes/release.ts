import { only } from '../../database/only.js';
import { required } from '../../std/required.js';
import { activeAccount } from '../billing/active-account.js';
import type { LedgerDeps } from '../billing/deps.js';
import { write } from '../billing/ledger.js';
import { DomainError } from '../kernel/errors.js';
import type { Instant } from '../kernel/time.js';
import { VOLUME_ID } from '../kernel/volume.js';
import type { VolumeDeps } from './deps.js';
import { silentText } from './ended-leases.js';
import { FREE, LOCK_SQL, LOST_SINCE, MAY_LOSE, type VolumeRow } from './leases.js';
import { noVolume } from './refusals.js';

/** A lease ended by the volume's owner. */
export interface Release {
  volumeId: string;
  instanceId: string;
  /** Changes that the instance made after this time are not in the store. Null if it never had access. */
  lostSince: Instant | null;
}

/**
 * Ends the lease of an instance that isn't running, even if it has unsaved changes, in case its host never reports that
 * it has finished. Throws not_found, or action_failed if the instance is running or no instance holds the volume.
 */
export async function releaseVolume(
  deps: LedgerDeps & Pick<VolumeDeps, 'fleet'>,
  accountId: string,
  volumeId: string,
): Promise<Release> {
  // PostgreSQL rejects some strings, such as those with a NUL character.
  if (!VOLUME_ID.test(volumeId)) throw noVolume();
  const { release, hostId } = await write(deps, { accountIds: [accountId] }, async (current) => {
    activeAccount(current, accountId);
    const values = [[volumeId], accountId, silentText(deps, current.at), null];
    const { rows } = await current.transaction.query<VolumeRow>({ name: 'lock-volumes', text: LOCK_SQL, values });
    const [row] = rows;
    if (row === undefined) throw noVolume();
    if (row.holding === 'IN_USE')
      throw new DomainError('action_failed', `volume ${volumeId} is in use by instance ${row.holderId}; stop it first`);
    if (row.holderId === null) throw new DomainError('action_failed', `no instance holds volume ${volumeId}`);
    const freed = await current.transaction.query<{ lostSince: Instant | null }>(RELEASE_SQL, [volumeId]);
    const release: Release = { volumeId, instanceId: row.holderId, lostSince: only(freed.rows).lostSince };
    return { release, hostId: required(row.hostId, 'host of a holder') };
  });
  // Notifies the instance's host, which then drops the volume.
  deps.db.notices.publish([{ table: 'container', id: release.instanceId, account: accountId, machine: hostId }]);
  return release;
}

const RELEASE_SQL = `
  with held as (
    select id, lease_instance_id, case when ${MAY_LOSE} then ${LOST_SINCE} end as lost_since from volume where id = $1
  ), lost as (
    update volume_attachment set lost_since = held.lost_since from held
    where volume_id = held.id and instance_id = lease_instance_id
  ), freed as (
    update volume set ${FREE} where id = $1
  )
  select lost_since as "lostSince" from held`;
