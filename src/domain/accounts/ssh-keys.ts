import type { Prisma, SshKey } from '../../database/generated/client/client.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { holds, networkList } from '../../std/networks.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check } from '../kernel/field.js';
import { INSTANCE_ID } from '../kernel/lifecycle.js';
import { randomId } from '../kernel/random-id.js';
import { formatInstant } from '../kernel/time.js';
import { lockForGrant } from './api-keys.js';
import type { AccountsDeps } from './deps.js';
import { accountFields } from './fields.js';
import { type KeyRestrictions, keyFaultOf } from './rules/key-restrictions.js';
import { MAX_SSH_KEYS, parseSshKey } from './rules/ssh-key.js';

const KEY_ID_BYTES = 8;
const KEY_ID = /^ssh-[0-9a-f]{16}$/;

export type { SshKey };

type Query = Pick<Prisma.SshKeyFindManyArgs, 'include' | 'select'>;

/** Returns up to 50 SSH keys, newest first. */
export function listSshKeys(deps: Pick<KernelDeps, 'db'>, accountId: string, query: Query = {}): Promise<SshKey[]> {
  const orderBy = [{ createdAt: 'desc' as const }, { id: 'asc' as const }];
  return deps.db.prisma.sshKey.findMany({ ...query, where: { accountId }, orderBy, take: MAX_SSH_KEYS });
}

/**
 * Adds a public key, either for all of the account's instances or for a single instance. A key for a single instance is
 * removed along with that instance. If the account already has the key, it is returned unchanged. Throws if the account
 * has 50 keys, or if the instance is destroyed or doesn't exist.
 *
 * If the API key used to add the public key can expire or is limited to networks, the public key grants access only
 * while that API key would be accepted. Adding it again with an unrestricted API key lifts this restriction.
 */
export async function addSshKey(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'activity'>,
  adder: { accountId: string; keyId: string } & KeyRestrictions,
  publicKey: string,
  instanceId: string | null = null,
): Promise<SshKey> {
  const { accountId, keyId, expiresAt, networks } = adder;
  const endsWith = expiresAt === null && networks === null ? null : keyId;
  const { type, blob, fingerprint, comment } = parseSshKey(check('publicKey', accountFields.sshPublicKey, publicKey));
  const added = await inTransaction(deps.db.pool, async (transaction) => {
    await lockForGrant(transaction, adder);
    if (instanceId !== null) await checkInstance(transaction, accountId, instanceId);
    const { rows } = await transaction.query<{ id: string }>(
      `insert into ssh_key (id, account_id, type, blob, fingerprint, comment, created_at, instance_id, api_key_id)
       select $2, $1, $3, $4, $5, $6, $7::timestamptz, $9, $10
       where exists (select 1 from ssh_key where account_id = $1 and fingerprint = $5)
         or (select count(*) from ssh_key where account_id = $1) < $8
       on conflict (account_id, fingerprint) do update
         set api_key_id = case when excluded.api_key_id is not null then ssh_key.api_key_id end
       returning id`,
      [
        accountId,
        randomId('ssh', KEY_ID_BYTES),
        type,
        blob,
        fingerprint,
        comment,
        formatInstant(deps.clock.now()),
        MAX_SSH_KEYS,
        instanceId,
        endsWith,
      ],
    );
    const [row] = rows;
    if (row !== undefined) deps.activity?.writeWith(transaction, deps.clock.now(), [row.id]);
    return row !== undefined;
  });
  if (!added)
    throw new DomainError('action_failed', `the account has ${MAX_SSH_KEYS} SSH keys, the maximum; remove one first`);
  deps.activity?.committed();
  return deps.db.prisma.sshKey.findUniqueOrThrow({ where: { accountId_fingerprint: { accountId, fingerprint } } });
}

/**
 * Throws if the instance is destroyed or doesn't exist. Because the account is locked, the instance can't be destroyed
 * in the meantime.
 */
async function checkInstance(transaction: Transaction, accountId: string, id: string): Promise<void> {
  const { rows } = await transaction.query<{ status: string }>(
    'select status from instance where id = $2 and account_id = $1',
    [accountId, id],
  );
  if (rows[0] === undefined) throw new DomainError('not_found', 'no such instance');
  if (rows[0].status === 'DESTROYED') throw new DomainError('action_failed', 'the instance has been destroyed');
}

/** Removes a key. Connections that were opened with it are closed at every gateway. Throws not_found. */
export async function removeSshKey(
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  id: string,
): Promise<SshKey> {
  const found = KEY_ID.test(id) ? await deps.db.prisma.sshKey.findFirst({ where: { id, accountId } }) : null;
  if (found === null) throw new DomainError('not_found', 'no such SSH key');
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('delete from ssh_key where id = $1 and account_id = $2', [id, accountId]);
    deps.activity?.writeWith(transaction, deps.clock.now());
  });
  deps.activity?.committed();
  deps.db.notices.publish([{ table: 'ssh_key', id, account: accountId }]);
  return found;
}

/** Access granted by an SSH key. `apiKeyId` is the API key on which the access depends, if any. */
export interface SshAccess {
  accountId: string;
  sshKeyId: string;
  apiKeyId: string | null;
}

/**
 * Returns the account that owns the instance, and the SSH key. Returns null, without giving a reason, if the account
 * doesn't have this key, the key can't be used from this address, or the account is suspended.
 */
export async function findSshAccess(
  deps: Pick<KernelDeps, 'db' | 'clock'>,
  instanceId: string,
  blob: Buffer,
  address: string,
): Promise<SshAccess | null> {
  if (!INSTANCE_ID.test(instanceId)) return null;
  const { rows } = await deps.db.pool.query<SshAccess & KeyRestrictions>({
    name: 'ssh-access',
    text: `select account.id as "accountId", ssh_key.id as "sshKeyId", api_key.id as "apiKeyId",
             api_key.expires_at as "expiresAt", api_key.networks
           from instance join account on account.id = instance.account_id
             join ssh_key on ssh_key.account_id = account.id and ssh_key.blob = $2
             and coalesce(ssh_key.instance_id, instance.id) = instance.id
             left join api_key on api_key.id = ssh_key.api_key_id
           where instance.id = $1 and suspended_at is null
             and (ssh_key.api_key_id is null or (api_key.id is not null and revoked_at is null))`,
    values: [instanceId, blob],
  });
  const [found] = rows;
  if (found === undefined) return null;
  const { accountId, sshKeyId, apiKeyId } = found;
  const fault = keyFaultOf(found, deps.clock.now(), (networks) => holds(networkList(networks), address));
  return fault === null ? { accountId, sshKeyId, apiKeyId } : null;
}
