import type { Prisma, Secret } from '../../database/generated/client/client.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { required } from '../../std/required.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { check, checkOptional } from '../kernel/field.js';
import { type Launch, registryOf, secretsOf } from '../kernel/launch.js';
import { randomId } from '../kernel/random-id.js';
import { type SealingKey, type SealingKeys, seal, unseal } from '../kernel/sealing.js';
import { formatInstant } from '../kernel/time.js';
import type { SecretDeps } from './deps.js';
import { secretFields } from './fields.js';

const ID_BYTES = 8;
export const MAX_SECRETS = 100;

export type { Secret };

export interface SecretInput {
  name: string;
  value: string;
  /** The registry, if this is a registry login. The password is in `value`. */
  registry?: string | null;
  username?: string | null;
}

/** The secrets for a start, in plaintext. They must never be stored, logged or included in an error. */
export interface SecretsOfStart {
  variables: Record<string, string>;
  /** File contents, by file name under /run/secrets. */
  files: Record<string, string>;
  registryLogin: { registry: string; username: string; password: string } | null;
}

type NamedSecret = Pick<Secret, 'name' | 'kind' | 'registry'>;
type Query = Pick<Prisma.SecretFindManyArgs, 'include' | 'select'>;

/** Returns up to 100 secrets, sorted by name. */
export function listSecrets(deps: Pick<KernelDeps, 'db'>, accountId: string, query: Query = {}): Promise<Secret[]> {
  return deps.db.prisma.secret.findMany({
    ...query,
    where: { accountId },
    orderBy: { name: 'asc' },
    take: MAX_SECRETS,
  });
}

/**
 * Stores a secret. Throws invalid_request, or action_failed if the name is in use or the account already has 100
 * secrets.
 */
export async function createSecret(
  deps: Pick<SecretDeps, 'db' | 'clock' | 'sealingKeys' | 'activity'>,
  accountId: string,
  input: SecretInput,
): Promise<Secret> {
  const name = check('name', secretFields.secretName, input.name);
  const value = check('value', secretFields.secretValue, input.value);
  const registry = checkOptional('registry', secretFields.registry, input.registry) ?? null;
  const username = checkOptional('username', secretFields.registryUser, input.username) ?? null;
  if ((registry === null) !== (username === null))
    throw new DomainError('invalid_request', 'registry and username must be given together', { field: 'registry' });
  const key = await sealingKeyOf(deps);
  const id = randomId('sec', ID_BYTES);
  await inTransaction(deps.db.pool, async (transaction) => {
    // Locks the account's row before counting, so that two concurrent additions can't both become the hundredth.
    await transaction.query('select 1 from account where id = $1 for no key update', [accountId]);
    await checkLimits(transaction, accountId, name);
    await transaction.query(
      `insert into secret (id, account_id, name, kind, registry, username, sealed, key_id, created_at)
       values ($1, $2, $3, $4::secret_kind, $5, $6, $7, $8, $9::timestamptz)`,
      [
        id,
        accountId,
        name,
        registry === null ? 'VALUE' : 'REGISTRY_LOGIN',
        registry,
        username,
        seal(key, contextOf(accountId, id), value),
        key.id,
        formatInstant(deps.clock.now()),
      ],
    );
    deps.activity?.writeWith(transaction, deps.clock.now(), [name]);
  });
  deps.activity?.committed();
  return deps.db.prisma.secret.findUniqueOrThrow({ where: { id } });
}

/** Deletes a secret. Running containers keep its value, but later starts that need it fail. Throws not_found. */
export async function deleteSecret(
  deps: Pick<SecretDeps, 'db' | 'clock' | 'activity'>,
  accountId: string,
  name: string,
): Promise<Secret> {
  // PostgreSQL can't search for a string that contains NUL.
  const isName = secretFields.secretName.schema.safeParse(name).success;
  const found = isName
    ? await deps.db.prisma.secret.findUnique({ where: { accountId_name: { accountId, name } } })
    : null;
  if (found === null) throw new DomainError('not_found', 'no such secret');
  await inTransaction(deps.db.pool, async (transaction) => {
    await transaction.query('delete from secret where id = $1 and account_id = $2', [found.id, accountId]);
    deps.activity?.writeWith(transaction, deps.clock.now(), [name]);
  });
  deps.activity?.committed();
  return found;
}

/**
 * Throws if a launch refers to an unknown secret, to one of the wrong kind, or to a login for a registry other than the
 * image's. `template` is a template's slug or an image.
 */
export async function checkSecrets(
  reader: Pick<Transaction, 'query'>,
  accountId: string,
  launch: Launch,
  template: string,
  code: 'deploy_failed' | 'action_failed',
): Promise<void> {
  const names = secretsOf(launch);
  if (names.length === 0) return;
  const { rows } = await reader.query<NamedSecret & { image: string | null }>(
    `select name, kind, registry, (select image from template where slug = $3) as image
     from secret where account_id = $1 and name = any($2::text[])`,
    [accountId, names, template],
  );
  checkNamed(launch, rows, rows[0]?.image ?? template, code);
}

/**
 * Returns the secrets that a start of the instance needs. Throws action_failed if one is missing or can't be decrypted.
 */
export async function secretsOfStart(
  deps: Pick<KernelDeps, 'db' | 'sealingKeys'>,
  accountId: string,
  launch: Launch,
  image: string,
): Promise<SecretsOfStart> {
  const names = secretsOf(launch);
  const rows = await deps.db.prisma.secret.findMany({ where: { accountId, name: { in: names } } });
  checkNamed(launch, rows, image, 'action_failed');
  const known = new Map(rows.map((row) => [row.name, row]));
  const secretNamed = (name: string) => required(known.get(name), 'secret of a launch');
  const keys = await deps.sealingKeys();
  const open = (name: string) => openSecret(keys, secretNamed(name));
  const opened: SecretsOfStart = { variables: {}, files: {}, registryLogin: null };
  for (const { secret, variable, file } of launch.secrets ?? []) {
    if (variable) opened.variables[variable] = open(secret);
    else if (file) opened.files[file] = open(secret);
  }
  if (launch.registryLogin !== undefined) {
    const { registry, username } = secretNamed(launch.registryLogin);
    opened.registryLogin = {
      registry: required(registry, 'registry of a login'),
      username: required(username, 'user name of a login'),
      password: open(launch.registryLogin),
    };
  }
  return opened;
}

/**
 * Reseals up to `limit` secrets that were sealed with another key. Returns how many were resealed. Throws if a key is
 * missing.
 */
export async function resealSome(transaction: Transaction, keys: SealingKeys, limit: number): Promise<number> {
  const [key] = keys;
  const { rows } = await transaction.query<Pick<Secret, 'id' | 'accountId' | 'sealed' | 'keyId' | 'name'>>(
    `select id, account_id as "accountId", name, sealed, key_id as "keyId" from secret
     where key_id <> $1 order by id limit $2 for no key update`,
    [key.id, limit],
  );
  for (const row of rows) {
    const sealed = seal(key, contextOf(row.accountId, row.id), openSecret(keys, row));
    await transaction.query('update secret set sealed = $2, key_id = $3 where id = $1', [row.id, sealed, key.id]);
  }
  return rows.length;
}

/**
 * Returns the key for sealing new secrets. Throws if a key that sealed existing secrets is missing, because secrets
 * would then be split between two keys.
 */
export async function sealingKeyOf({ db, sealingKeys }: Pick<KernelDeps, 'db' | 'sealingKeys'>): Promise<SealingKey> {
  const keys = await sealingKeys();
  const { rowCount } = await db.pool.query(
    `select from secret where not key_id = any($1::text[])
     union all select from made_token where not key_id = any($1::text[])
     union all select from volume where erased_at is null and not sealing_key_id = any($1::text[])
     union all select from signing_key where not sealing_key_id = any($1::text[]) limit 1`,
    [keys.map(({ id }) => id)],
  );
  if (rowCount !== 0) throw lostKey('new secrets are not stored');
  return keys[0];
}

function openSecret(
  keys: SealingKeys,
  { id, accountId, name, sealed, keyId }: Pick<Secret, 'id' | 'accountId' | 'name' | 'sealed' | 'keyId'>,
): string {
  return openSealed(keys, { context: contextOf(accountId, id), name, sealed, keyId });
}

/** Decrypts a sealed secret. Throws action_failed if its key is missing. */
export function openSealed(
  keys: SealingKeys,
  { context, name, sealed, keyId }: { context: string; name: string; sealed: Uint8Array; keyId: string },
): string {
  const key = keys.find((each) => each.id === keyId);
  if (key === undefined) throw lostKey(`secret ${name} can't be opened`);
  return unseal(key, context, Buffer.from(sealed));
}

/**
 * Returns a refusal rather than a fault, because the renter can't fix the problem and shouldn't pay for starts that
 * wait for it to be fixed.
 */
function lostKey(what: string): DomainError {
  return new DomainError(
    'action_failed',
    `${what}: the operator's SECRETS_KEY lacks a key that secrets were sealed with`,
  );
}

function contextOf(accountId: string, id: string): string {
  return `${accountId} ${id}`;
}

async function checkLimits(transaction: Transaction, accountId: string, name: string): Promise<void> {
  const { rows } = await transaction.query<{ count: number; used: boolean }>(
    `select count(*)::int as count, coalesce(bool_or(name = $2), false) as used from secret where account_id = $1`,
    [accountId, name],
  );
  const [{ count, used } = { count: 0, used: false }] = rows;
  if (used) throw new DomainError('action_failed', `secret ${name} already exists; delete it first`);
  if (count >= MAX_SECRETS)
    throw new DomainError('action_failed', `the account has ${MAX_SECRETS} secrets, the maximum; delete one first`);
}

function checkNamed(
  { secrets = [], registryLogin }: Launch,
  found: readonly NamedSecret[],
  image: string,
  code: 'deploy_failed' | 'action_failed',
): void {
  const known = new Map(found.map((secret) => [secret.name, secret]));
  const wanted = secrets.map(({ secret }) => ({ name: secret, kind: 'VALUE', what: 'secret' }));
  if (registryLogin !== undefined) wanted.push({ name: registryLogin, kind: 'REGISTRY_LOGIN', what: 'registry login' });
  const missing = wanted.find(({ name, kind }) => known.get(name)?.kind !== kind);
  if (missing !== undefined)
    throw new DomainError(code, `there is no ${missing.what} ${missing.name}`, { reason: 'unknown_secret' });
  // Without this check, the engine would send the password to whichever registry the image name refers to.
  const registry = registryLogin === undefined ? null : registryOf(`${known.get(registryLogin)?.registry}/image`);
  if (registry === null || registry === registryOf(image)) return;
  throw new DomainError(code, `registry login ${registryLogin} is for ${registry}, not for ${registryOf(image)}`, {
    reason: 'unknown_secret',
  });
}
