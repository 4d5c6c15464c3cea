import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { VOLUME_ID } from '../kernel/volume.js';
import type { VolumeDeps } from './deps.js';
import { passwordOf } from './password.js';
import { type Difference, differenceOf } from './reconcile.js';

/** A volume, as shown to the operator. */
export interface VolumeView {
  id: string;
  accountId: string;
  sizeGb: number;
  storedBytes: bigint;
  snapshots: number;
  newestAt: Date | null;
  /** The instance that holds the volume's lease. */
  heldBy: string | null;
  keepFailedAt: Date | null;
  /** Why old snapshots can't be deleted, if the owner can fix it. */
  keepFault: string | null;
  deletedAt: Date | null;
}

/** Returns the volumes that have data in the store, ordered by id. */
export async function viewVolumes({ db }: Pick<KernelDeps, 'db'>): Promise<VolumeView[]> {
  const rows = await db.prisma.volume.findMany({
    where: { erasedAt: null },
    orderBy: { id: 'asc' },
    include: { snapshots: { where: { droppedAt: null }, select: { at: true }, orderBy: { at: 'desc' } } },
  });
  return rows.map(({ snapshots, leaseInstanceId: heldBy, ...row }) => ({
    ...row,
    heldBy,
    snapshots: snapshots.length,
    newestAt: snapshots[0]?.at ?? null,
  }));
}

/** Differences between the store and the database. */
export interface StoreComparison {
  volumes: number;
  differences: Difference[];
  /**
   * Folders in the store whose volumes are not in the database, because the database is older than the store or the
   * volumes belong to another service.
   */
  unknownVolumes: string[];
}

/** Compares all volumes, or only one, without changing anything. Throws StoreFault. */
export async function compareStore(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  only: string | null = null,
): Promise<StoreComparison> {
  const { rows } = await deps.db.pool.query<{ id: string; isLive: boolean }>(
    `select id, deleted_at is null and (copy_of is null or copied_at is not null) as "isLive"
     from volume where erased_at is null and ($1::text is null or id = $1) order by id`,
    [only],
  );
  const differences: Difference[] = [];
  for (const { id, isLive } of rows) {
    const found = isLive ? await differenceOf(deps, id) : null;
    if (found !== null) differences.push(found);
  }
  const known = new Set(rows.map(({ id }) => id));
  const unknownVolumes: string[] = [];
  if (only === null) for await (const id of deps.volumeStore.volumes()) if (!known.has(id)) unknownVolumes.push(id);
  return { volumes: rows.length, differences, unknownVolumes };
}

/** The result of restic's check. */
export interface CheckedRepository {
  volumeId: string;
  /** Null if the repository is sound, or if nothing was ever saved to it. */
  fault: string | null;
}

/**
 * Runs restic's own check on a repository directly in the store. With `readData`, it reads every byte. It takes no
 * lock, so while the volume is being written, it may report objects that are about to be deleted. Throws not_found or
 * action_failed.
 */
export async function checkRepository(
  deps: Pick<VolumeDeps, 'db' | 'sealingKeys' | 'restic' | 'volumeStore'>,
  id: string,
  readData: boolean,
): Promise<CheckedRepository> {
  const { restic, volumeStore, db } = deps;
  if (restic === null) throw new DomainError('action_failed', 'restic was not found on the PATH; install it');
  const volume = VOLUME_ID.test(id) ? await db.prisma.volume.findFirst({ where: { id, deletedAt: null } }) : null;
  if (volume === null) throw new DomainError('not_found', `no such volume: ${id}`);
  if ((await volumeStore.size(id, { kind: 'config' })) === null) return { volumeId: id, fault: null };
  const repository = { url: volumeStore.repository(id), password: await passwordOf(deps, volume) };
  const args = ['check', '--no-lock', ...(readData ? ['--read-data'] : [])];
  const { code, output } = await restic(repository, args, new AbortController().signal);
  return { volumeId: id, fault: code === 0 ? null : output.trim() };
}
