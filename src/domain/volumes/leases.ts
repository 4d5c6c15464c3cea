import { randomBytes } from 'node:crypto';
import type { Report } from '../../agent-protocol/protocol.js';
import type { Transaction } from '../../database/transaction.js';
import type { Write } from '../billing/ledger.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError, type ErrorCode } from '../kernel/errors.js';
import type { Instance } from '../kernel/lifecycle.js';
import { formatInstant } from '../kernel/time.js';
import type { VolumeDeps } from './deps.js';
import { isOver, silentText } from './ended-leases.js';
import type { VolumeAtPath } from './rules/volume-attachment.js';
import { MAX_SNAPSHOT_BYTES } from './rules/volume-history.js';

/*
 * A lease lets one instance at a time write to a volume, from the instance's start until its last snapshot is stored.
 * Leases are numbered, and the store rejects writes under any lease but the newest. A lease ends when its host reports
 * that everything is saved (which is checked against the snapshots that the gateway received), when the host has been
 * silent for too long, or when the owner ends it. No timer ends a lease. Instead, it is evaluated whenever the volume
 * is requested.
 */

const NONCE_BYTES = 16;

/**
 * A volume's lease state. OVER means that the instance can no longer write, so the volume counts as free. COPYING means
 * that no instance holds the volume, but its initial contents are still being copied.
 */
type Holding = 'FREE' | 'OVER' | 'IN_USE' | 'SAVING' | 'COPYING';

/** A locked volume and its path in the instance. */
export interface LockedVolume extends VolumeAtPath {
  sizeGb: number;
}

export interface VolumeRow {
  id: string;
  sizeGb: number;
  holding: Holding;
  holderId: string | null;
  hostId: string | null;
}

/**
 * Locks these account volumes, in id order. Throws `code` before changing anything if the account doesn't have one of
 * the volumes or another instance holds it. `stopping` is an instance that the same write stops.
 */
export async function lockVolumes(
  current: Write,
  deps: Pick<VolumeDeps, 'fleet'>,
  {
    accountId,
    volumes,
    stopping = null,
  }: { accountId: string; volumes: readonly VolumeAtPath[]; stopping?: string | null },
  code: ErrorCode,
): Promise<LockedVolume[]> {
  if (volumes.length === 0) return [];
  const ids = volumes.map(({ id }) => id);
  const values = [ids, accountId, silentText(deps, current.at), stopping];
  const rows = (await current.transaction.query<VolumeRow>({ name: 'lock-volumes', text: LOCK_SQL, values })).rows;
  const known = new Map(rows.map((row) => [row.id, row]));
  return volumes.map(({ id, path }) => {
    const row = checkFree(id, known.get(id), code);
    return { id, path, sizeGb: row.sizeGb };
  });
}

/** Makes the same checks as `lockVolumes` without taking locks. */
export async function checkVolumes(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'fleet'>,
  { accountId, volumes }: { accountId: string; volumes: readonly VolumeAtPath[] },
  code: ErrorCode,
): Promise<void> {
  if (volumes.length === 0) return;
  const values = [volumes.map(({ id }) => id), accountId, silentText(deps, deps.clock.now()), null];
  const { rows } = await deps.db.pool.query<VolumeRow>({ name: 'check-volumes', text: VOLUMES_SQL, values });
  for (const { id } of volumes)
    checkFree(
      id,
      rows.find((row) => row.id === id),
      code,
    );
}

/** Checks one volume. A volume of another account looks as if it didn't exist. */
function checkFree(id: string, row: VolumeRow | undefined, code: ErrorCode): VolumeRow {
  if (row === undefined) throw new DomainError(code, `no such volume: ${id}`, { reason: 'unknown_volume' });
  const held = { reason: 'volume_held' } as const;
  if (row.holding === 'COPYING') throw new DomainError(code, `volume ${id} is being copied; try again later`, held);
  if (row.holding === 'IN_USE') throw new DomainError(code, `volume ${id} is in use by instance ${row.holderId}`, held);
  if (row.holding !== 'SAVING') return row;
  const message = `volume ${id} is still being saved by instance ${row.holderId} on ${row.hostId}; try again later, or release it`;
  throw new DomainError(code, message, held);
}

/** Returns how much disk the volumes take on a host, in GB. */
export function totalGb(volumes: readonly Pick<LockedVolume, 'sizeGb'>[]): number {
  return volumes.reduce((sum, { sizeGb }) => sum + sizeGb, 0);
}

/** Gives the instance the next lease on each volume as part of this write. The volumes must be locked and free. */
export function takeLeases(
  current: Write,
  { id, hostId }: Instance,
  hasHost: boolean,
  volumes: readonly LockedVolume[],
) {
  if (volumes.length === 0) return;
  const ids = volumes.map((volume) => volume.id);
  current.transaction.later({ name: 'notify-holders', text: NOTIFY_HOLDERS_SQL, values: [ids, id] });
  current.transaction.later({
    name: 'take-leases',
    text: TAKE_SQL,
    values: [
      id,
      hasHost ? hostId : null,
      formatInstant(current.at),
      ids,
      volumes.map(({ path }) => path),
      volumes.map(({ sizeGb }) => String(sizeGb)),
      volumes.map(() => randomBytes(NONCE_BYTES).toString('hex')),
    ],
  });
}

/** Releases the volumes whose holder can no longer write, so that another instance or the owner can use them. */
export async function releaseEndedLeases(
  deps: Pick<VolumeDeps, 'clock' | 'fleet'>,
  reader: Pick<Transaction, 'query'>,
  volumeIds: readonly string[],
): Promise<void> {
  await reader.query(RELEASE_ENDED_SQL, [volumeIds, silentText(deps, deps.clock.now())]);
}

/** Releases all such volumes of an account. Call it before showing the volumes. */
export async function releaseEndedLeasesOf(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'fleet'>,
  accountId: string,
): Promise<void> {
  const { rows } = await deps.db.pool.query<{ id: string }>({
    name: 'held-volumes',
    text: 'select id from volume where account_id = $1 and lease_instance_id is not null',
    values: [accountId],
  });
  if (rows.length > 0)
    await releaseEndedLeases(
      deps,
      deps.db.pool,
      rows.map(({ id }) => id),
    );
}

interface Reported {
  holder: string;
  id: string;
  lease: number;
  snapshot: string | null;
  size: number | null;
  saved: boolean;
  message: string | null;
}

/**
 * Records a host's report on the leases that it holds: snapshot sizes, why a snapshot failed, and whether everything is
 * saved. If everything is saved, the lease ends, provided that the gateway received that snapshot under this lease
 * after the instance stopped, or that the container never ran in that start. Reports on other leases have no effect.
 */
export async function takeVolumeReport(
  deps: Pick<KernelDeps, 'db'>,
  hostId: string,
  { instances }: Report,
): Promise<void> {
  const reported = instances.flatMap(({ id: holder, volumes = [] }) =>
    volumes.map(({ id, lease, snapshot, sizeBytes, saved, message }): Reported => {
      const size = sizeBytes === null ? null : Math.min(sizeBytes, MAX_SNAPSHOT_BYTES);
      return { holder, id, lease, snapshot, size, saved, message };
    }),
  );
  if (reported.length === 0) return;
  const { rows } = await deps.db.pool.query<{ id: string; accountId: string }>({
    name: 'volumes-of-report',
    text: REPORTED_SQL,
    values: [hostId, JSON.stringify(reported)],
  });
  deps.db.notices.publish(
    rows.map(({ id, accountId }) => ({ table: 'container' as const, id, account: accountId, machine: hostId })),
  );
}

/**
 * SQL for whether a host may have written under the lease that is ending, in which case some of its changes may not be
 * in the store.
 */
export const MAY_LOSE = 'lease_opened and lease_host_id is not null';
export const LOST_SINCE = `coalesce((
  select max(at)::timestamptz(0) from volume_snapshot written where written.volume_id = volume.id and written.lease = volume.lease), lease_since)`;
export const FREE =
  'lease_instance_id = null, lease_host_id = null, lease_nonce = null, lease_since = null, lease_opened = false';

const VOLUMES_SQL = `
  select volume.id, size_gb as "sizeGb", lease_instance_id as "holderId", coalesce(lease_host_id, holder.machine_id) as "hostId",
    case when copy_of is not null and copied_at is null then 'COPYING' when holder.id is null then 'FREE' when ${isOver('$3', '$4')} then 'OVER'
      when holder.status = 'RUNNING' then 'IN_USE' else 'SAVING' end as holding
  from volume left join instance holder on holder.id = lease_instance_id
  where volume.id = any($1::text[]) and volume.account_id = $2 and deleted_at is null order by volume.id`;

export const LOCK_SQL = `${VOLUMES_SQL} for update of volume`;

/** Notifies the previous holder's host, because its desired state changes. */
const NOTIFY_HOLDERS_SQL = `
  select pg_notify('gateway', json_build_object('table', 'container', 'id', holder.id, 'account', holder.account_id,
    'machine', coalesce(holder.host_id, holder.machine_id))::text)
  from volume join instance holder on holder.id = lease_instance_id where volume.id = any($1::text[]) and holder.id <> $2`;

/**
 * Marks changes that the previous holder may not have saved as lost, because its lease has ended. Also aborts a prune
 * by the gateway, which runs again later, because otherwise the instance's host would wait for it while the renter
 * pays.
 */
const TAKE_SQL = `
  with taken as (
    select * from unnest($4::text[], $5::text[], $6::text[], $7::text[]) as taken (id, path, size, nonce)
  ), lost as (
    update volume_attachment set lost_since = ${LOST_SINCE} from volume join taken using (id)
    where volume_id = volume.id and instance_id = lease_instance_id and instance_id <> $1 and ${MAY_LOSE}
  ), attached as (
    insert into volume_attachment (instance_id, volume_id, path, size_gb) select $1, id, path, size::int from taken
    on conflict (instance_id, volume_id) do update set size_gb = excluded.size_gb, message = null, lost_since = null
  )
  update volume set lease = lease + 1, lease_instance_id = $1, lease_host_id = $2, lease_since = $3::timestamptz,
    lease_nonce = nonce, lease_opened = false,
    upkeep_nonce = case when cardinality(upkeep_indexes) > 0 then upkeep_nonce end
  from taken where volume.id = taken.id`;

const RELEASE_ENDED_SQL = `
  with ended as (
    select volume.id, lease_instance_id, case when ${MAY_LOSE} then ${LOST_SINCE} end as lost_since
    from volume join instance holder on holder.id = lease_instance_id
    where volume.id = any($1::text[]) and ${isOver('$2', 'null')} order by volume.id for update of volume
  ), lost as (
    update volume_attachment set lost_since = ended.lost_since from ended
    where volume_id = ended.id and instance_id = lease_instance_id and ended.lost_since is not null
  )
  update volume set ${FREE} from ended where volume.id = ended.id`;

/** If no snapshot was taken, a lease ends only if the gateway never saw that start run. */
const REPORTED_SQL = `
  with reported as (
    select reported.*, held.account_id, status, stopped_at, gpu_intervals
    from jsonb_to_recordset($2::jsonb)
        as reported (holder text, id text, lease bigint, snapshot text, size bigint, saved boolean, message text)
      join volume held on held.id = reported.id and held.lease = reported.lease and lease_instance_id = holder and lease_host_id = $1
      join instance on instance.id = holder
  ), sized as (
    update volume_snapshot sized set size_bytes = size from reported
    where sized.volume_id = reported.id and sized.id = snapshot and sized.lease = reported.lease and size_bytes is distinct from size
  ), updated as (
    update volume_attachment updated set message = reported.message from reported
    where updated.volume_id = reported.id and instance_id = holder and updated.message is distinct from reported.message returning instance_id
  ), over as (
    select volume.id, holder from reported join volume using (id)
    where saved and status <> 'RUNNING' and volume.lease = reported.lease and case when snapshot is null
      then not volume.lease_opened or not exists (
        select from container_start where instance_id = holder and ordinal = gpu_intervals and running_at is not null)
      else exists (
        select from volume_snapshot last where last.volume_id = volume.id and last.id = snapshot and last.lease = volume.lease
          and last.at >= stopped_at - interval '1 second') end
    order by volume.id for update of volume
  ), ended as (
    update volume set ${FREE} from over where volume.id = over.id returning holder
  )
  select distinct holder as id, account_id as "accountId" from reported
  where holder in (select instance_id from updated union all select holder from ended)`;
