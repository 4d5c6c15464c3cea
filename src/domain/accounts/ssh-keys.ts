import type { Prisma, SshKey } from '../../database/generated/client/client.js';
import { inTransaction } from '../../database/transaction.js';
import type { Deps } from '../deps.js';
import { check, fields } from '../fields.js';
import { randomId } from '../random-id.js';
import { DomainError } from '../rules/errors.js';
import { INSTANCE_ID } from '../rules/lifecycle.js';
import { MAX_SSH_KEYS, parseSshKey } from '../rules/ssh-key.js';
import { formatInstant } from '../rules/time.js';

const KEY_ID_BYTES = 8;
const KEY_ID = /^ssh-[0-9a-f]{16}$/;

export type { SshKey };

type Query = Pick<Prisma.SshKeyFindManyArgs, 'include' | 'select'>;

/** Newest first; at most 50. */
export function listSshKeys(deps: Deps, accountId: string, query: Query = {}): Promise<SshKey[]> {
  const orderBy = [{ createdAt: 'desc' as const }, { id: 'asc' as const }];
  return deps.db.prisma.sshKey.findMany({ ...query, where: { accountId }, orderBy, take: MAX_SSH_KEYS });
}

/** Adds a public key; one that the account has already is answered as it is. Refuses more than 50. */
export async function addSshKey(deps: Deps, accountId: string, publicKey: string): Promise<SshKey> {
  const { type, blob, fingerprint, comment } = parseSshKey(check('publicKey', fields.sshPublicKey, publicKey));
  const added = await inTransaction(deps.db.pool, async (transaction) => {
    // The account's row is locked before the count, so two additions at once can't both be the fiftieth.
    await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
    const { rowCount } = await transaction.query(
      `insert into ssh_key (id, account_id, type, blob, fingerprint, comment, created_at)
       select $2, $1, $3, $4, $5, $6, $7::timestamptz
       where exists (select 1 from ssh_key where account_id = $1 and fingerprint = $5)
         or (select count(*) from ssh_key where account_id = $1) < $8
       on conflict (account_id, fingerprint) do update set id = ssh_key.id`,
      [
        accountId,
        randomId('ssh', KEY_ID_BYTES),
        type,
        blob,
        fingerprint,
        comment,
        formatInstant(deps.clock.now()),
        MAX_SSH_KEYS,
      ],
    );
    return rowCount === 1;
  });
  if (!added) throw new DomainError('action_failed', `an account holds at most ${MAX_SSH_KEYS} SSH keys`);
  return deps.db.prisma.sshKey.findUniqueOrThrow({ where: { accountId_fingerprint: { accountId, fingerprint } } });
}

/** Removes a key; connections it opened end in every gateway. Refuses with not_found. */
export async function removeSshKey(deps: Deps, accountId: string, id: string): Promise<SshKey> {
  const found = KEY_ID.test(id) ? await deps.db.prisma.sshKey.findFirst({ where: { id, accountId } }) : null;
  if (found === null) throw new DomainError('not_found', 'no such SSH key');
  await deps.db.prisma.sshKey.deleteMany({ where: { id, accountId } });
  deps.db.notices.publish([{ table: 'ssh_key', id, account: accountId }]);
  return found;
}

/**
 * The account of the instance and the key, if the account has this key and is not suspended; else null,
 * whichever of the two was wrong.
 */
export async function findSshAccess(
  deps: Deps,
  instanceId: string,
  blob: Buffer,
): Promise<{ accountId: string; sshKeyId: string } | null> {
  if (!INSTANCE_ID.test(instanceId)) return null;
  const { rows } = await deps.db.pool.query<{ accountId: string; sshKeyId: string }>({
    name: 'ssh-access',
    text: `select account.id as "accountId", ssh_key.id as "sshKeyId"
           from instance join account on account.id = instance.account_id
             join ssh_key on ssh_key.account_id = account.id and ssh_key.blob = $2
           where instance.id = $1 and suspended_at is null`,
    values: [instanceId, blob],
  });
  return rows[0] ?? null;
}
