import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** AES-256-GCM, with a random nonce for each secret. */
const CIPHER = 'aes-256-gcm';
export const SEALING_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_LENGTH = 16;

/** A key for sealing secrets. `id` identifies it without revealing any part of it. */
export interface SealingKey {
  id: string;
  bytes: Buffer;
}

/** The key that seals new secrets, followed by keys that only unseal existing ones. */
export type SealingKeys = readonly [SealingKey, ...SealingKey[]];

/** Parses a 32-byte key written in hex. */
export function sealingKey(hex: string): SealingKey {
  const bytes = Buffer.from(hex, 'hex');
  if (bytes.length !== SEALING_KEY_BYTES) throw new Error(`a sealing key must be ${SEALING_KEY_BYTES} bytes long`);
  return { id: createHash('sha256').update(bytes).digest('hex').slice(0, KEY_ID_LENGTH), bytes };
}

/**
 * Returns the nonce, ciphertext and tag. `context` identifies what the secret belongs to, and the sealed bytes can't be
 * opened in any other context.
 */
export function seal(key: SealingKey, context: string, text: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.bytes, nonce).setAAD(Buffer.from(context));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Returns the plaintext. Throws if the bytes were altered, or were sealed with a different key or in a different
 * context.
 */
export function unseal(key: SealingKey, context: string, sealed: Buffer): string {
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const text = sealed.subarray(NONCE_BYTES, -TAG_BYTES);
  const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES })
    .setAAD(Buffer.from(context))
    .setAuthTag(sealed.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
}
