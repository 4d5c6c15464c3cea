import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { only } from '../../database/only.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { isAccepted, unauthorized } from '../accounts/api-keys.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import {
  checkMayAdd,
  checkMayBegin,
  checkMayDelete,
  lockForWrite,
  mayPrune,
  type RepositoryAccess,
  type VolumeFacts,
} from './access.js';
import { recordDeletion } from './deletions.js';
import type { VolumeDeps } from './deps.js';
import { VolumeFull } from './full.js';
import { checkIsSound, recordIndex, removeIndex } from './indexes.js';
import { checkKey, checkKeyExists, keyThatRemains, MAX_KEY_BYTES } from './keys.js';
import { checkMayPrune, recordIndexesRead, removeStaleLocks } from './locks.js';
import { historyLimit, MAX_OBJECT_BYTES, storedSize } from './rules/volume-history.js';
import { dropSnapshots, recordSnapshot } from './snapshots.js';
import type { ByteRange, ListedObject, ObjectKind, ObjectName, Received } from './store.js';

/**
 * Maximum number of locks per repository, and maximum size of a lock in bytes. restic's own locks have about 200 bytes.
 */
const MAX_LOCKS = 100;
const MAX_LOCK_BYTES = 16_384;
/** Matches an object's name. A folder's other files are not objects. */
const HASH = /^[0-9a-f]{64}$/;

/**
 * Stores an object completely or not at all. `length` is the size declared by the sender, or null if none was declared.
 * Checks that the client may write and that its lease is still the newest, both before reading the bytes and again in
 * the transaction that publishes the object. Throws forbidden, action_failed, invalid_request, payload_too_large,
 * not_found, VolumeFull or StoreFault.
 */
export async function putObject(
  deps: Pick<
    VolumeDeps,
    'volumeStore' | 'fleet' | 'volumeWrites' | 'volumeKeys' | 'db' | 'clock' | 'settings' | 'sealingKeys'
  >,
  access: RepositoryAccess,
  object: ObjectName,
  bytes: AsyncIterable<Buffer>,
  length: number | null,
): Promise<void> {
  await checkMayBegin(deps, access);
  checkMayAdd(access);
  if (length !== null && length > maxBytes(object)) throw tooLarge(object);
  checkSpace(deps, access, object, access.volume, storedSize(length ?? 0));
  const checked = new CheckedBytes(object, bytes);
  const received = await deps.volumeStore.receive(access.volume.id, object, checked);
  try {
    // Checked after receiving the bytes, which may have taken hours.
    if (object.kind === 'keys') await checkKey(deps, access.volume, object, checked.kept);
    if (access.kind === 'owner' && !(await isAccepted(deps, access.caller))) throw unauthorized(null);
    await writing(deps, (transaction) => commit(deps, transaction, access, object, received, checked.size));
  } finally {
    await received.discard();
  }
}

/** Returns the object's size and a stream of all or part of its contents. Returns null if it doesn't exist. */
export async function readObject(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  { volume }: RepositoryAccess,
  object: ObjectName,
  rangeOf: (size: number) => ByteRange | null,
): Promise<{ size: number; range: ByteRange | null; bytes: Readable } | null> {
  const size = await deps.volumeStore.size(volume.id, object);
  if (size === null) return null;
  const range = rangeOf(size);
  const bytes = await deps.volumeStore.read(volume.id, object, range);
  return bytes === null ? null : { size, range, bytes };
}

export function objectSize(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  { volume }: RepositoryAccess,
  object: ObjectName,
): Promise<number | null> {
  return deps.volumeStore.size(volume.id, object);
}

/** Lists objects in no particular order, after removing the locks of clients that can no longer write. */
export async function* listObjects(
  deps: Pick<VolumeDeps, 'db' | 'volumeStore'>,
  access: RepositoryAccess,
  kind: ObjectKind,
): AsyncIterable<ListedObject> {
  const { volume } = access;
  if (kind === 'locks') await removeStaleLocks(deps, volume.id);
  if (kind === 'index' && mayPrune(access)) await recordIndexesRead(deps, volume.id);
  const only = access.kind === 'upkeep' && access.indexes.length > 0 ? access.indexes : null;
  if (only !== null && kind === 'snapshots') return;
  for await (const object of deps.volumeStore.list(volume.id, kind)) {
    if (HASH.test(object.name) && (kind !== 'index' || only === null || only.includes(object.name))) yield object;
  }
}

/** Deletes an object. Returns false if it doesn't exist. Throws the same errors as `putObject`. */
export async function deleteObject(
  deps: Pick<
    VolumeDeps,
    'volumeStore' | 'fleet' | 'volumeWrites' | 'restic' | 'volumeKeys' | 'db' | 'clock' | 'sealingKeys'
  >,
  access: RepositoryAccess,
  object: ObjectName,
): Promise<boolean> {
  await checkMayBegin(deps, access);
  checkMayDelete(access, object);
  const { id } = access.volume;
  if (object.kind === 'keys' && (await deps.volumeStore.size(id, object)) === null) return false;
  const remaining = object.kind === 'keys' ? await keyThatRemains(deps, access.volume, object) : null;
  return writing(deps, async (transaction) => {
    await lockForWrite(transaction, access);
    await checkIsSound(deps, transaction, access, object);
    if (access.kind === 'owner' && object.kind === 'data') await checkMayPrune(transaction, id);
    if (remaining !== null) await checkKeyExists(deps, access.volume, remaining);
    const size = await deps.volumeStore.delete(id, object);
    if (size !== null) await recordDeletion(deps, transaction, access, object);
    if (object.kind === 'snapshots') await dropSnapshots(deps, transaction, id, [object.name]);
    if (object.kind === 'index') await removeIndex(transaction, id, object.name);
    if (object.kind === 'locks')
      await transaction.query('delete from volume_lock where volume_id = $1 and name = $2', [id, object.name]);
    if (size !== null) await count(transaction, id, -storedSize(size));
    return size !== null;
  });
}

/**
 * Limits the number of concurrent writes. Each one occupies a database connection while it waits for the store, and
 * most connections must remain available for other work.
 */
function writing<T>(
  deps: Pick<VolumeDeps, 'db' | 'volumeWrites'>,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  return deps.volumeWrites.run(() => inTransaction(deps.db.pool, work));
}

async function commit(
  deps: Pick<VolumeDeps, 'clock' | 'settings' | 'volumeStore'>,
  transaction: Transaction,
  access: RepositoryAccess,
  object: ObjectName,
  received: Received,
  size: number,
): Promise<void> {
  const volume = await lockForWrite(transaction, access);
  checkMayAdd({ ...access, volume });
  checkSpace(deps, access, object, volume, storedSize(size));
  await checkIsNew(deps, access, object);
  if (object.kind === 'snapshots') await recordSnapshot(deps, transaction, volume.id, object.name, access);
  if (object.kind === 'index') await recordIndex(transaction, access, object.name);
  if (object.kind === 'locks') await recordLock(transaction, access, object.name);
  const published = await received.publish();
  if (published.outcome === 'kept') return;
  const replaced = published.outcome === 'replaced' ? storedSize(published.wasBytes) : 0n;
  await count(transaction, volume.id, storedSize(size) - replaced);
}

/**
 * Throws if a config would be replaced, because the whole repository would become unreadable. Also throws if a lease's
 * client adds a second key: restic tries only a few keys, so a malicious host could lock the owner out.
 */
async function checkIsNew(
  deps: Pick<VolumeDeps, 'volumeStore'>,
  { kind, volume }: RepositoryAccess,
  object: ObjectName,
): Promise<void> {
  if (object.kind === 'config') {
    if ((await deps.volumeStore.size(volume.id, object)) === null) return;
    throw new DomainError('forbidden', "the repository already has a config, which can't be replaced");
  }
  if (object.kind !== 'keys' || kind !== 'lease') return;
  for await (const { name } of deps.volumeStore.list(volume.id, 'keys'))
    if (name !== object.name)
      throw new DomainError('forbidden', "the repository already has a key; an instance can't add another");
}

/**
 * Records a lock. Throws action_failed if there are too many, because locks don't count towards the repository's size.
 */
async function recordLock(transaction: Transaction, access: RepositoryAccess, name: string): Promise<void> {
  const { rows } = await transaction.query<{ count: number }>(
    'select count(*)::int as count from volume_lock where volume_id = $1 and name <> $2',
    [access.volume.id, name],
  );
  if (only(rows).count >= MAX_LOCKS)
    throw new DomainError(
      'action_failed',
      `volume ${access.volume.id} has ${MAX_LOCKS} locks, the maximum; run \`restic unlock\` first`,
    );
  const lease = access.kind === 'lease' ? access.lease : null;
  const upkeep = access.kind === 'upkeep' ? access.nonce : null;
  await transaction.query(
    `insert into volume_lock (volume_id, name, lease, upkeep) values ($1, $2, $3, $4)
     on conflict (volume_id, name) do update set lease = excluded.lease, upkeep = excluded.upkeep`,
    [access.volume.id, name, lease, upkeep],
  );
}

async function count(transaction: Transaction, id: string, bytes: bigint): Promise<void> {
  await transaction.query('update volume set stored_bytes = greatest(stored_bytes + $2, 0) where id = $1', [id, bytes]);
}

/**
 * Throws VolumeFull if the write would exceed the limit. The gateway's own work is exempt, because it frees space but
 * needs some first. Locks are exempt too, because it must remain possible to restore from a full volume.
 */
function checkSpace(
  { settings }: Pick<KernelDeps, 'settings'>,
  { kind }: RepositoryAccess,
  object: ObjectName,
  volume: VolumeFacts,
  added: bigint,
): void {
  if (object.kind === 'locks') return;
  const limit = historyLimit(volume.sizeGb, settings.volumeHistoryFactor);
  if (volume.storedBytes + added <= limit || kind === 'upkeep') return;
  const gb = volume.sizeGb * settings.volumeHistoryFactor + 1;
  throw new VolumeFull(
    `volume ${volume.id}'s snapshots use ${gb} GB, the maximum; grow the volume or delete old snapshots`,
  );
}

function maxBytes({ kind }: ObjectName): number {
  return kind === 'keys' ? MAX_KEY_BYTES : kind === 'locks' ? MAX_LOCK_BYTES : MAX_OBJECT_BYTES;
}

function tooLarge(object: ObjectName): DomainError {
  return new DomainError('payload_too_large', `an object of this kind can have at most ${maxBytes(object)} bytes`);
}

/** Passes bytes through and counts them, then verifies them against the object's name. */
class CheckedBytes implements AsyncIterable<Buffer> {
  readonly #object: ObjectName;
  readonly #bytes: AsyncIterable<Buffer>;
  readonly #kept: Buffer[] = [];
  size = 0;

  constructor(object: ObjectName, bytes: AsyncIterable<Buffer>) {
    this.#object = object;
    this.#bytes = bytes;
  }

  /** All of a key's bytes, of which there are few. */
  get kept(): Buffer {
    return Buffer.concat(this.#kept);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const hash = createHash('sha256');
    for await (const piece of this.#bytes) {
      this.size += piece.length;
      if (this.size > maxBytes(this.#object)) throw tooLarge(this.#object);
      hash.update(piece);
      if (this.#object.kind === 'keys') this.#kept.push(piece);
      yield piece;
    }
    if (this.#object.kind !== 'config' && hash.digest('hex') !== this.#object.name)
      throw new DomainError('invalid_request', "the content's SHA-256 doesn't match the object's name");
  }
}
