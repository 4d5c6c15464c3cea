import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type pg from 'pg';
import { only } from '../../database/only.js';
import { inTransaction, type Transaction } from '../../database/transaction.js';
import { DomainError } from '../kernel/errors.js';
import { type SealingKeys, seal } from '../kernel/sealing.js';
import { formatInstant, type Instant, latest, parseInstant } from '../kernel/time.js';
import { openSealed, sealingKeyOf } from '../secrets/secrets.js';
import type { ProofDeps } from './deps.js';
import { hashOf, tagged } from './rules/canonical.js';

const KEY_ID_LENGTH = 16;
/**
 * Time after a rotation at which the new key begins to sign. By then, every document that is being signed with the
 * previous key has been issued, even by a gateway whose clock is slightly ahead.
 */
export const ROTATION_DELAY_SECONDS = 60n;

type SigningDeps = Pick<ProofDeps, 'db' | 'clock' | 'sealingKeys'>;

/** A member of `keys` in the document `gpu-rental/keys/v1`. */
export interface PublishedKey {
  id: string;
  algorithm: 'Ed25519';
  publicKey: string;
  from: string;
  until: string | null;
  previous: string | null;
  endorsement: string | null;
}

export interface KeysDocument {
  type: 'gpu-rental/keys/v1';
  keys: PublishedKey[];
}

/** A document to be signed, with the time at which it is made. */
export type Signable = { type: string } & ({ issuedAt: string } | { at: string });

export type Signed<Document> = Document & { key: string; signature: string };

/** A key that signs documents of one instant. */
export interface Signer {
  id: string;
  /** Signs `tag(tag, value)`. */
  sign(tag: string, value: unknown): Buffer;
}

interface KeyRow {
  id: string;
  ordinal: number;
  publicKey: Buffer;
  sealed: Buffer;
  keyId: string;
  /** Instant from which it signs. */
  from: string;
  endorsement: Buffer | null;
}

/** Tells all gateways that published keys or roots have changed. */
export const NOTIFY = `select pg_notify('gateway', '{"table":"proof"}')`;

const COLUMNS = `id, ordinal, public_key as "publicKey", sealed, sealing_key_id as "keyId", endorsement,
  extract(epoch from "from")::bigint::text as "from"`;

/** Returns all signing keys ever used, oldest first. */
export function keysDocument({ db }: Pick<ProofDeps, 'db'>): Promise<KeysDocument> {
  return readKeys(db.pool);
}

export async function readKeys(reader: Pick<Transaction, 'query'>): Promise<KeysDocument> {
  const { rows } = await reader.query<KeyRow>(`select ${COLUMNS} from signing_key order by ordinal`);
  return {
    type: 'gpu-rental/keys/v1',
    keys: rows.map((row, index) => {
      const next = rows[index + 1];
      return {
        id: row.id,
        algorithm: 'Ed25519',
        publicKey: row.publicKey.toString('base64'),
        from: formatInstant(BigInt(row.from)),
        until: next === undefined ? null : formatInstant(BigInt(next.from)),
        previous: rows[index - 1]?.id ?? null,
        endorsement: row.endorsement?.toString('base64') ?? null,
      };
    }),
  };
}

/**
 * Adds a key, which the previous one endorses and which signs from a minute later. Returns its published form. Throws
 * action_failed if the service has no key for sealing it, or can't open the previous key.
 */
export async function rotateSigningKey(deps: SigningDeps): Promise<PublishedKey> {
  await sealingKeyOf(deps);
  const keys = await deps.sealingKeys();
  const id = await inTransaction(deps.db.pool, async (transaction) => {
    const newest = await lockNewest(transaction);
    return (await addKey(transaction, keys, newest, deps.clock.now())).id;
  });
  const { keys: published } = await keysDocument(deps);
  return only(published.filter((key) => key.id === id));
}

/**
 * Returns the document with its key and signature. The key is the one for the document's time. The first document
 * creates the first key. Throws action_failed if the service has no key for sealing it.
 */
export async function signDocument<Document extends Signable>(
  deps: SigningDeps,
  document: Document,
): Promise<Signed<Document>> {
  const time = 'issuedAt' in document ? document.issuedAt : document.at;
  const instant = parseInstant(time);
  if (instant === null) throw new Error(`a document's time must be an instant; got ${time}`);
  return signWith(await signerAt(deps, instant), document);
}

/** Returns the document with the signer's key and signature. */
export function signWith<Document extends { type: string }>(signer: Signer, document: Document): Signed<Document> {
  const unsigned = { ...document, key: signer.id };
  return { ...unsigned, signature: signer.sign(document.type, unsigned).toString('base64') };
}

/** Returns the signer for documents of the instant. Creates the first key if there is none. */
export async function signerAt(deps: SigningDeps, at: Instant): Promise<Signer> {
  const keys = await deps.sealingKeys();
  const row = (await keyAt(deps.db.pool, at)) ?? (await firstKey(deps, keys, at));
  if (BigInt(row.from) > at)
    throw new DomainError('unavailable', `no signing key existed at ${formatInstant(at)}; retry later`, {
      retryAfterSeconds: 1,
    });
  return signerOf(keys, row);
}

/**
 * Reseals up to `limit` signing keys that were sealed with another key. Returns how many were resealed. Throws if a
 * key is missing.
 */
export async function resealSigningKeys(transaction: Transaction, keys: SealingKeys, limit: number): Promise<number> {
  const [key] = keys;
  const { rows } = await transaction.query<KeyRow>(
    `select ${COLUMNS} from signing_key where sealing_key_id <> $1 order by ordinal limit $2 for no key update`,
    [key.id, limit],
  );
  for (const row of rows)
    await transaction.query('update signing_key set sealed = $2, sealing_key_id = $3 where id = $1', [
      row.id,
      seal(key, contextOf(row.id), openKey(keys, row)),
      key.id,
    ]);
  return rows.length;
}

/** Returns the key for the instant: the last one that begins at or before it, or else the oldest. */
async function keyAt(reader: Pick<pg.Pool, 'query'>, at: Instant): Promise<KeyRow | undefined> {
  const { rows } = await reader.query<KeyRow>(
    `select ${COLUMNS} from signing_key
     order by "from" <= $1::timestamptz desc, case when "from" <= $1::timestamptz then -ordinal else ordinal end limit 1`,
    [formatInstant(at)],
  );
  return rows[0];
}

function firstKey({ db }: Pick<SigningDeps, 'db'>, keys: SealingKeys, at: Instant): Promise<KeyRow> {
  return inTransaction(db.pool, async (transaction) => {
    const known = await lockNewest(transaction);
    // Another gateway may have created it in the meantime.
    return known ?? addKey(transaction, keys, null, at);
  });
}

/** Locks the list of keys until the transaction ends, so that no two keys follow the same one. */
async function lockNewest(transaction: Transaction): Promise<KeyRow | null> {
  await transaction.query(`select pg_advisory_xact_lock(hashtextextended('signing key', 0))`);
  const { rows } = await transaction.query<KeyRow>(`select ${COLUMNS} from signing_key order by ordinal desc limit 1`);
  return rows[0] ?? null;
}

async function addKey(
  transaction: Transaction,
  sealingKeys: SealingKeys,
  previous: KeyRow | null,
  now: Instant,
): Promise<KeyRow> {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const bytes = rawPublicKey(publicKey);
  const id = keyIdOf(bytes);
  const from = previous === null ? now : latest(now + ROTATION_DELAY_SECONDS, BigInt(previous.from) + 1n);
  const endorsement =
    previous &&
    signerOf(sealingKeys, previous).sign('gpu-rental/key/v1', {
      from: formatInstant(from),
      id,
      previous: previous.id,
      publicKey: bytes.toString('base64'),
    });
  const [key] = sealingKeys;
  const text = privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
  const { rows } = await transaction.query<KeyRow>(
    `insert into signing_key (id, ordinal, public_key, sealed, sealing_key_id, "from", endorsement)
     values ($1, $2, $3, $4, $5, $6::timestamptz, $7) returning ${COLUMNS}`,
    [id, (previous?.ordinal ?? 0) + 1, bytes, seal(key, contextOf(id), text), key.id, formatInstant(from), endorsement],
  );
  // Cached public responses include the keys.
  await transaction.query(NOTIFY);
  return only(rows);
}

function signerOf(keys: SealingKeys, row: KeyRow): Signer {
  const der = Buffer.from(openKey(keys, row), 'base64');
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  if (!rawPublicKey(createPublicKey(privateKey)).equals(row.publicKey))
    throw new Error(`the private signing key ${row.id} doesn't match its public key`);
  return { id: row.id, sign: (tag, value) => sign(null, Buffer.from(tagged(tag, value)), privateKey) };
}

function openKey(keys: SealingKeys, { id, sealed, keyId }: KeyRow): string {
  return openSealed(keys, { context: contextOf(id), name: `signing key ${id}`, sealed, keyId });
}

function contextOf(id: string): string {
  return `signing-key ${id}`;
}

/** Returns the id of a key, which the 32 bytes of its public key determine. */
export function keyIdOf(publicKey: Uint8Array): string {
  return hashOf(publicKey).toString('hex').slice(0, KEY_ID_LENGTH);
}

function rawPublicKey(key: KeyObject): Buffer {
  return Buffer.from(String(key.export({ format: 'jwk' }).x), 'base64url');
}
