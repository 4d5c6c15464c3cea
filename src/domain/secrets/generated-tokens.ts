import { randomBytes } from 'node:crypto';
import type { Transaction } from '../../database/transaction.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import { type SealingKey, type SealingKeys, seal } from '../kernel/sealing.js';
import { openSealed, sealingKeyOf } from './secrets.js';

/** 128 bits. */
const TOKEN_BYTES = 16;

interface GeneratedTokenRow {
  instanceId: string;
  variable: string;
  sealed: Buffer;
  keyId: string;
}

/**
 * Returns the key that seals tokens. Returns null if this service stores no secrets, or if a key that sealed existing
 * ones is missing. No tokens are then generated, and the image uses its own default.
 */
export async function tokenKeyOf(deps: Pick<KernelDeps, 'db' | 'sealingKeys'>): Promise<SealingKey | null> {
  try {
    return await sealingKeyOf(deps);
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

/** Generates a value for each of a new instance's variables. Only `tokensOf` returns them in plaintext. */
export function generateTokens(
  transaction: Pick<Transaction, 'later'>,
  key: SealingKey,
  { accountId, id }: { accountId: string; id: string },
  variables: readonly string[],
): void {
  const sealed = variables.map((variable) =>
    seal(key, contextOf(accountId, id, variable), randomBytes(TOKEN_BYTES).toString('hex')).toString('hex'),
  );
  transaction.later({
    name: 'make-tokens',
    text: `insert into made_token (instance_id, variable, sealed, key_id)
           select $1, variable, decode(sealed, 'hex'), $4 from unnest($2::text[], $3::text[]) as made (variable, sealed)`,
    values: [id, [...variables], sealed, key.id],
  });
}

/** Returns an instance's tokens in plaintext, by variable. Throws action_failed if a key is missing. */
export async function tokensOf(
  deps: Pick<KernelDeps, 'db' | 'sealingKeys'>,
  accountId: string,
  instanceId: string,
): Promise<Record<string, string>> {
  const { rows } = await deps.db.pool.query<GeneratedTokenRow>({
    name: 'generated-tokens',
    text: `select instance_id as "instanceId", variable, sealed, made_token.key_id as "keyId" from made_token
           join instance on instance.id = instance_id where instance_id = $1 and account_id = $2 order by variable`,
    values: [instanceId, accountId],
  });
  if (rows.length === 0) return {};
  const keys = await deps.sealingKeys();
  return Object.fromEntries(rows.map((row) => [row.variable, openToken(keys, accountId, row)]));
}

/** Reseals up to `limit` tokens that were sealed with another key. Returns how many were resealed. */
export async function resealTokens(transaction: Transaction, keys: SealingKeys, limit: number): Promise<number> {
  const [key] = keys;
  const { rows } = await transaction.query<GeneratedTokenRow & { accountId: string }>(
    `select instance_id as "instanceId", account_id as "accountId", variable, sealed, made_token.key_id as "keyId"
     from made_token join instance on instance.id = instance_id
     where made_token.key_id <> $1 order by instance_id, variable limit $2 for no key update of made_token`,
    [key.id, limit],
  );
  for (const row of rows) {
    const { accountId, instanceId, variable } = row;
    const sealed = seal(key, contextOf(accountId, instanceId, variable), openToken(keys, accountId, row));
    await transaction.query('update made_token set sealed = $3, key_id = $4 where instance_id = $1 and variable = $2', [
      instanceId,
      variable,
      sealed,
      key.id,
    ]);
  }
  return rows.length;
}

function openToken(keys: SealingKeys, accountId: string, row: GeneratedTokenRow): string {
  const { instanceId, variable, sealed, keyId } = row;
  return openSealed(keys, { context: contextOf(accountId, instanceId, variable), name: variable, sealed, keyId });
}

function contextOf(accountId: string, instanceId: string, variable: string): string {
  return `${accountId} ${instanceId} ${variable}`;
}
