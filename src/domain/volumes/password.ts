import { randomBytes } from 'node:crypto';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { type SealingKey, type SealingKeys, seal } from '../kernel/sealing.js';
import { VOLUME_ID } from '../kernel/volume.js';
import { openSealed } from '../secrets/secrets.js';

/** Number of random bytes in a password (256 bits). */
const PASSWORD_BYTES = 32;

interface SealedRow {
  id: string;
  accountId: string;
  sealedPassword: Uint8Array;
  sealingKeyId: string;
}

const SEALED = `id, account_id as "accountId", sealed_password as "sealedPassword", sealing_key_id as "sealingKeyId"`;

/**
 * Creates the password for a new volume's repository, in the form written by the ledger. For a copy, `known` is the
 * source volume's password. Only `passwordOf` returns the password in plaintext.
 */
export function makePassword(
  key: SealingKey,
  volume: { id: string; accountId: string },
  known = randomBytes(PASSWORD_BYTES).toString('hex'),
) {
  const sealed = seal(key, contextOf(volume), known);
  return { sealedPassword: `\\x${sealed.toString('hex')}`, sealingKeyId: key.id };
}

/**
 * Returns the plaintext password of a volume's repository, which is 64 hexadecimal digits. Throws not_found if the
 * volume is deleted or belongs to another account, or action_failed if the key that sealed it is missing.
 */
export async function volumePassword(
  deps: Pick<KernelDeps, 'db' | 'sealingKeys'>,
  accountId: string,
  id: string,
): Promise<string> {
  const { rows } = await deps.db.pool.query<SealedRow>({
    name: 'volume-password',
    text: `select ${SEALED} from volume where id = $1 and account_id = $2 and deleted_at is null`,
    values: [VOLUME_ID.test(id) ? id : '', accountId],
  });
  if (rows[0] === undefined) throw new DomainError('not_found', 'no such volume');
  return passwordOf(deps, rows[0]);
}

/** Returns the same as `volumePassword`, given a row that has already been read. */
export async function passwordOf(deps: Pick<KernelDeps, 'sealingKeys'>, row: SealedRow): Promise<string> {
  return openPassword(await deps.sealingKeys(), row);
}

/** Reseals up to `limit` passwords that were sealed with another key. Returns how many were resealed. */
export async function resealVolumes(transaction: Transaction, keys: SealingKeys, limit: number): Promise<number> {
  const [key] = keys;
  const { rows } = await transaction.query<SealedRow>(
    `select ${SEALED} from volume where sealing_key_id <> $1 and erased_at is null order by id limit $2 for no key update`,
    [key.id, limit],
  );
  for (const row of rows) {
    const sealed = seal(key, contextOf(row), openPassword(keys, row));
    await transaction.query('update volume set sealed_password = $2, sealing_key_id = $3 where id = $1', [
      row.id,
      sealed,
      key.id,
    ]);
  }
  return rows.length;
}

function openPassword(keys: SealingKeys, row: SealedRow): string {
  const { id, sealedPassword: sealed, sealingKeyId: keyId } = row;
  return openSealed(keys, { context: contextOf(row), name: `of volume ${id}`, sealed, keyId });
}

function contextOf({ accountId, id }: { accountId: string; id: string }): string {
  return `volume/${accountId}/${id}`;
}
