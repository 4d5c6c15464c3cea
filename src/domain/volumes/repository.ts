import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { isAccepted, unauthorized } from '../accounts/api-keys.js';
import type { Deps } from '../deps.js';
import { DomainError } from '../rules/errors.js';
import { historyLimit, MAX_OBJECT_BYTES, storedSize } from '../rules/volume-history.js';
import { checkMayBegin, checkMayDelete, lockForWrite, type RepositoryAccess, type VolumeFacts } from './access.js';
import { VolumeFull } from './full.js';
import { removeDeadLocks } from './locks.js';
import { forgetSnapshot, noteSnapshot } from './snapshots.js';
import type { ByteRange, ListedObject, ObjectKind, ObjectName, Received } from './store.js';

/** Whatever else lies in a folder is no object. */
const HASH = /^[0-9a-f]{64}$/;

/**
 * Takes an object whole or leaves nothing of it. `length` is what the sender said, null if nothing. Who may write, and whether
 * the lease is still the newest, is decided before the bytes are read, and again in the transaction that makes them an object.
 * Refuses with forbidden, action_failed, invalid_request, payload_too_large, not_found and VolumeFull; rejects with StoreFault.
 */
export async function putObject(
  deps: Deps,
  access: RepositoryAccess,
  object: ObjectName,
  bytes: AsyncIterable<Buffer>,
  length: number | null,
): Promise<void> {
  await checkMayBegin(deps, access);
  if (length !== null && length > MAX_OBJECT_BYTES) throw tooLarge();
  checkRoom(deps, access, access.volume, storedSize(length ?? 0));
  const checked = new CheckedBytes(object, bytes);
  const received = await deps.volumeStore.receive(access.volume.id, object, checked);
  try {
    // The bytes may have taken hours.
    if (access.kind === 'owner' && !(await isAccepted(deps, access.caller))) throw unauthorized(null);
    await writing(deps, (transaction) => commit(deps, transaction, access, object, received, checked.size));
  } finally {
    await received.discard();
  }
}

/** Bytes of the object, and a reader of them or of a part; null without one. */
export async function readObject(
  deps: Deps,
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

export function objectSize(deps: Deps, { volume }: RepositoryAccess, object: ObjectName): Promise<number | null> {
  return deps.volumeStore.size(volume.id, object);
}

/** In no order. Locks of whoever writes no more are gone before. */
export async function* listObjects(
  deps: Deps,
  { volume }: RepositoryAccess,
  kind: ObjectKind,
): AsyncIterable<ListedObject> {
  if (kind === 'locks') await removeDeadLocks(deps, volume.id);
  for await (const object of deps.volumeStore.list(volume.id, kind)) if (HASH.test(object.name)) yield object;
}

/** False without one. Refuses as `putObject`. */
export async function deleteObject(deps: Deps, access: RepositoryAccess, object: ObjectName): Promise<boolean> {
  await checkMayBegin(deps, access);
  checkMayDelete(access, object);
  const { id } = access.volume;
  return writing(deps, async (transaction) => {
    await lockForWrite(transaction, access);
    const size = await deps.volumeStore.delete(id, object);
    if (object.kind === 'snapshots') await forgetSnapshot(deps, transaction, id, object.name);
    if (object.kind === 'locks')
      await transaction.query('delete from volume_lock where volume_id = $1 and name = $2', [id, object.name]);
    if (size !== null) await count(transaction, id, -storedSize(size));
    return size !== null;
  });
}

/** While it waits for the store it has a connection to the database: most of them are left to others. */
function writing<T>(deps: Deps, work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return deps.volumeWrites.run(() => inTransaction(deps.db.pool, work));
}

async function commit(
  deps: Deps,
  transaction: Transaction,
  access: RepositoryAccess,
  object: ObjectName,
  received: Received,
  size: number,
): Promise<void> {
  const volume = await lockForWrite(transaction, access);
  checkRoom(deps, access, volume, storedSize(size));
  await checkIsNew(deps, access, object);
  if (object.kind === 'snapshots') await noteSnapshot(deps, transaction, volume.id, object.name, access);
  if (object.kind === 'locks') await noteLock(transaction, access, object.name);
  const published = await received.publish();
  if (published.outcome === 'kept') return;
  const was = published.outcome === 'replaced' ? storedSize(published.wasBytes) : 0n;
  await count(transaction, volume.id, storedSize(size) - was);
}

/**
 * A config is never written over: nobody could read what is there. With a second key a host that lies could lock the owner
 * out, because restic tries some keys alone.
 */
async function checkIsNew(deps: Deps, { kind, volume }: RepositoryAccess, object: ObjectName): Promise<void> {
  if (object.kind === 'config') {
    if ((await deps.volumeStore.size(volume.id, object)) === null) return;
    throw new DomainError('forbidden', 'the repository has a config, which is never replaced');
  }
  if (object.kind !== 'keys' || kind !== 'lease') return;
  for await (const { name } of deps.volumeStore.list(volume.id, 'keys'))
    if (name !== object.name)
      throw new DomainError('forbidden', 'the repository has a key, and an instance adds no other');
}

async function noteLock(transaction: Transaction, access: RepositoryAccess, name: string): Promise<void> {
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

/** What the gateway does itself makes room, and needs some for it. */
function checkRoom({ settings }: Deps, { kind }: RepositoryAccess, volume: VolumeFacts, more: bigint): void {
  const limit = historyLimit(volume.sizeGb, settings.volumeHistoryFactor);
  if (volume.storedBytes + more <= limit || kind === 'upkeep') return;
  const gb = volume.sizeGb * settings.volumeHistoryFactor + 1;
  throw new VolumeFull(
    `the snapshots of volume ${volume.id} take the ${gb} GB that they may: grow the volume, or delete old snapshots`,
  );
}

function tooLarge(): DomainError {
  return new DomainError('payload_too_large', `an object may be ${MAX_OBJECT_BYTES} bytes at most`);
}

/** Bytes as they pass: their number and, at their end, whether they are those that the object's name says. */
class CheckedBytes implements AsyncIterable<Buffer> {
  readonly #object: ObjectName;
  readonly #bytes: AsyncIterable<Buffer>;
  size = 0;

  constructor(object: ObjectName, bytes: AsyncIterable<Buffer>) {
    this.#object = object;
    this.#bytes = bytes;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Buffer> {
    const hash = createHash('sha256');
    for await (const piece of this.#bytes) {
      this.size += piece.length;
      if (this.size > MAX_OBJECT_BYTES) throw tooLarge();
      hash.update(piece);
      yield piece;
    }
    if (this.#object.kind !== 'config' && hash.digest('hex') !== this.#object.name)
      throw new DomainError('invalid_request', 'the SHA-256 of these bytes is another than the name of the object');
  }
}
