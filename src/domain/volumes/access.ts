import type { QueryResult } from 'pg';
import { only } from '../../database/only.js';
import type { Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import { authenticate, type Caller, unauthorized } from '../accounts/api-keys.js';
import { hashApiKey } from '../kernel/api-key.js';
import { DomainError } from '../kernel/errors.js';
import { checkScope, mayDo } from '../kernel/scopes.js';
import type { VolumeDeps } from './deps.js';
import { LEASE_SECRET } from './lease-secret.js';
import { releaseEndedLeases } from './leases.js';
import { noVolume, volumeInUse } from './refusals.js';
import { isLeaseToken, isUpkeepToken } from './rules/lease-token.js';
import type { ObjectName } from './store.js';

const PRUNE_RETRY_SECONDS = 5;

/** Columns of a volume's row that determine which clients may do what with its repository. */
export interface VolumeFacts {
  id: string;
  accountId: string;
  sizeGb: number;
  /** Size of the volume's repository in the store, in bytes. */
  storedBytes: bigint;
  /** Number of the newest lease. */
  lease: bigint;
  /** The instance that holds the newest lease. Both this and the nonce are null while no instance holds the volume. */
  leaseInstanceId: string | null;
  leaseNonce: string | null;
  /** Set while the gateway works on the repository. */
  upkeepNonce: string | null;
  /**
   * If this isn't empty, the gateway's own work sees only these index objects and can't write. Otherwise, it sees the
   * whole repository.
   */
  upkeepIndexes: string[];
  deleted: boolean;
}

/**
 * A repository's client, as determined when its request arrived. Before a write is committed, its client is checked
 * again.
 */
export type RepositoryAccess = { volume: VolumeFacts } & (
  | { kind: 'lease'; lease: bigint; nonce: string; instanceId: string }
  | { kind: 'owner'; caller: Caller }
  | { kind: 'upkeep'; nonce: string; indexes: readonly string[] }
);

export interface Credentials {
  volumeId: string;
  /** A lease token or an API key. Undefined if the request has neither. */
  password: string | undefined;
  /** The request's source address. */
  address: string;
}

const VOLUME_FACTS = `id, account_id as "accountId", size_gb as "sizeGb", stored_bytes as "storedBytes", lease,
  lease_instance_id as "leaseInstanceId", lease_nonce as "leaseNonce", upkeep_nonce as "upkeepNonce",
  upkeep_indexes as "upkeepIndexes",
  deleted_at is not null as deleted`;

/**
 * Determines which client sent a request. Throws unauthorized if the password is missing or the key isn't accepted,
 * not_found if the volume doesn't belong to the key's account, and forbidden if a token belongs to neither the newest
 * lease nor the gateway's own maintenance.
 */
export async function accessOf(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>,
  { volumeId, password, address }: Credentials,
): Promise<RepositoryAccess> {
  if (password === undefined) throw unauthorized(null);
  if (hashApiKey(password) !== null) return ownerAccess(deps, volumeId, password, address);
  const { rows } = await deps.db.pool.query<VolumeFacts & { secret: string | null }>({
    name: 'volume-of-token',
    text: `select ${VOLUME_FACTS}, (select value from gateway_secret where name = $2) as secret from volume where id = $1`,
    values: [volumeId, LEASE_SECRET],
  });
  const [found] = rows;
  if (found === undefined || found.secret === null || found.deleted) throw notNewest();
  const { secret, ...volume } = found;
  const { lease, leaseNonce, leaseInstanceId, upkeepNonce, upkeepIndexes: indexes } = volume;
  if (leaseNonce !== null && isLeaseToken(secret, { id: volumeId, lease, nonce: leaseNonce }, password))
    return {
      kind: 'lease',
      volume,
      lease,
      nonce: leaseNonce,
      instanceId: required(leaseInstanceId, 'instance of a lease'),
    };
  if (upkeepNonce !== null && isUpkeepToken(secret, volumeId, upkeepNonce, password))
    return { kind: 'upkeep', volume, nonce: upkeepNonce, indexes };
  throw notNewest();
}

/** Locks the volume's row until the transaction ends. Every write to the volume's repository takes this lock. */
export async function lockVolume(transaction: Pick<Transaction, 'query'>, volumeId: string): Promise<void> {
  await transaction.query('select 1 from volume where id = $1 for no key update', [volumeId]);
}

/**
 * Locks the volume's row until the transaction ends, so that no lease can begin or end in the meantime. Throws the same
 * errors as `checkMayWrite`.
 */
export async function lockForWrite(
  reader: { query(query: string, values: unknown[]): Promise<Pick<QueryResult<VolumeFacts>, 'rows'>> },
  access: RepositoryAccess,
): Promise<VolumeFacts> {
  const { rows } = await reader.query(`select ${VOLUME_FACTS} from volume where id = $1 for no key update`, [
    access.volume.id,
  ]);
  const [volume] = rows;
  if (volume === undefined || volume.deleted) throw noVolume();
  checkMayWrite({ ...access, volume });
  return volume;
}

const WRITE = 'write to the repository of a volume';

/**
 * Whether the client may be one that prunes the volume. Excludes keys that can't delete, because a check that reads the
 * indexes during a prune says nothing about what that prune has read.
 */
export function mayPrune(access: RepositoryAccess): boolean {
  return access.kind === 'owner' && mayDo(access.caller.scopes, WRITE);
}

/**
 * Runs `checkMayWrite` before the request body is read. For an owner, it first ends a lease whose holder can no longer
 * write because its host is silent or gone.
 */
export async function checkMayBegin(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'fleet'>,
  access: RepositoryAccess,
): Promise<void> {
  const { id, leaseInstanceId } = access.volume;
  if (access.kind !== 'owner' || leaseInstanceId === null) return checkMayWrite(access);
  checkScope(access.caller.scopes, WRITE);
  await releaseEndedLeases(deps, deps.db.pool, [id]);
  const { rows } = await deps.db.pool.query<VolumeFacts>(`select ${VOLUME_FACTS} from volume where id = $1`, [id]);
  checkMayWrite({ ...access, volume: only(rows) });
}

/** Throws unless the volume's current row allows this client to write. */
export function checkMayWrite(access: RepositoryAccess): void {
  const { volume } = access;
  if (access.kind === 'lease') {
    if (volume.lease !== access.lease || volume.leaseNonce !== access.nonce) throw notNewest();
  } else if (access.kind === 'upkeep') {
    if (volume.upkeepNonce !== access.nonce || access.indexes.length > 0) throw notNewest();
  } else {
    checkScope(access.caller.scopes, WRITE);
    if (volume.leaseInstanceId !== null) throw volumeInUse(volume.id, volume.leaseInstanceId);
  }
}

/**
 * Throws unavailable if a host adds objects while the gateway prunes, because prune would delete packs that no index
 * lists yet and would trust an unverified index. restic retries the upload.
 */
export function checkMayAdd({ kind, volume }: RepositoryAccess): void {
  if (kind !== 'lease' || volume.upkeepNonce === null || volume.upkeepIndexes.length > 0) return;
  const message = `old snapshots of volume ${volume.id} are being deleted; try again`;
  throw new DomainError('unavailable', message, { retryAfterSeconds: PRUNE_RETRY_SECONDS });
}

/** Throws forbidden if a lease's client deletes anything but locks, so that the host can't remove earlier snapshots. */
export function checkMayDelete(access: RepositoryAccess, object: ObjectName): void {
  if (access.kind === 'lease' && object.kind !== 'locks')
    throw new DomainError('forbidden', 'the instance that holds the volume can only delete locks');
}

async function ownerAccess(
  deps: Pick<VolumeDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>,
  volumeId: string,
  key: string,
  address: string,
): Promise<RepositoryAccess & { kind: 'owner' }> {
  const { caller, fault } = await authenticate(deps, key, address);
  if (caller === null) throw unauthorized(fault);
  checkScope(caller.scopes, 'read the repository of a volume');
  const { rows } = await deps.db.pool.query<VolumeFacts>({
    name: 'volume-of-key',
    text: `select ${VOLUME_FACTS} from volume where id = $1 and account_id = $2 and deleted_at is null`,
    values: [volumeId, caller.accountId],
  });
  const [volume] = rows;
  if (volume === undefined) throw noVolume();
  return { kind: 'owner', caller, volume };
}

/** Returns the same error for every wrong token, whether or not the volume exists. */
function notNewest(): DomainError {
  return new DomainError('forbidden', "this token doesn't belong to the volume's newest lease");
}
