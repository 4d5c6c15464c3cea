import type pg from 'pg';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { checkOptional } from '../kernel/field.js';
import type { Instance } from '../kernel/lifecycle.js';
import { volumeFields } from './fields.js';
import type { VolumeAtPath } from './rules/volume-attachment.js';

/** Parses a launch's volumes. Returns undefined if there are none. Throws invalid_request. */
export function readVolumes(input: readonly VolumeAtPath[] | null | undefined): VolumeAtPath[] | undefined {
  const volumes = checkOptional('volumes', volumeFields.volumes, input)?.map(({ id, path }) => ({ id, path }));
  return volumes === undefined || volumes.length === 0 ? undefined : volumes;
}

/**
 * Returns how much disk a machine needs for these volumes, in GB. Volumes that the account doesn't have are ignored.
 */
export async function sizeOfVolumes(
  deps: Pick<KernelDeps, 'db'>,
  accountId: string | null,
  volumes: readonly VolumeAtPath[] = [],
): Promise<number> {
  if (volumes.length === 0 || accountId === null) return 0;
  const { rows } = await deps.db.pool.query<{ gb: number }>(
    `select coalesce(sum(size_gb), 0)::int as gb from volume
     where account_id = $1 and id = any($2::text[]) and deleted_at is null`,
    [accountId, volumes.map(({ id }) => id)],
  );
  return only(rows).gb;
}

/** Returns the instance's volumes, sorted by path. */
export async function attachedTo(
  reader: Pick<Transaction, 'query'> | Pick<pg.Pool, 'query'>,
  { id, volumeGb }: Pick<Instance, 'id' | 'volumeGb'>,
): Promise<VolumeAtPath[]> {
  // Most instances have no volumes.
  if (volumeGb === 0) return [];
  const { rows } = await (reader as Pick<Transaction, 'query'>).query<VolumeAtPath>({
    name: 'attached-to',
    text: 'select volume_id as id, path from volume_attachment where instance_id = $1 order by path',
    values: [id],
  });
  return rows;
}
