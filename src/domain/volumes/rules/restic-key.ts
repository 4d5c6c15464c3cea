import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto';

/** Sizes, in bytes, of the nonce that precedes and the MAC that follows each ciphertext in a restic repository. */
const NONCE_BYTES = 16;
const MAC_BYTES = 16;
/** The modulus of Poly1305, and the mask for the second half of its key. */
const PRIME = (1n << 130n) - 5n;
const CLAMP = 0x0ffffffc0ffffffc0ffffffc0fffffffn;
const LOW_128 = (1n << 128n) - 1n;

/**
 * A key used by restic. `encrypt` is the key for AES-256 in counter mode. `k` and `r` are the two halves of the key for
 * Poly1305-AES.
 */
export interface ResticKey {
  encrypt: Buffer;
  k: Buffer;
  r: Buffer;
}

/** Splits the 64 bytes derived from a password by scrypt into keys. */
export function keyOf(derived: Buffer): ResticKey {
  return { encrypt: derived.subarray(0, 32), k: derived.subarray(32, 48), r: derived.subarray(48, 64) };
}

/** Decrypts a small object from a repository. Returns null if it was encrypted with a different key. */
export function openObject({ encrypt, k, r }: ResticKey, sealed: Buffer): Buffer | null {
  if (sealed.length < NONCE_BYTES + MAC_BYTES) return null;
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const text = sealed.subarray(NONCE_BYTES, -MAC_BYTES);
  if (!timingSafeEqual(macOf({ encrypt, k, r }, nonce, text), sealed.subarray(-MAC_BYTES))) return null;
  return createDecipheriv('aes-256-ctr', encrypt, nonce).update(text);
}

/** Computes the Poly1305-AES MAC of a ciphertext. */
export function macOf({ k, r }: ResticKey, nonce: Buffer, text: Buffer): Buffer {
  const pad = createCipheriv('aes-128-ecb', k, null).setAutoPadding(false).update(nonce);
  const factor = littleEndian(r) & CLAMP;
  let sum = 0n;
  for (let from = 0; from < text.length; from += 16) {
    const block = text.subarray(from, from + 16);
    sum = ((sum + littleEndian(block) + (1n << BigInt(8 * block.length))) * factor) % PRIME;
  }
  const mac = (sum + littleEndian(pad)) & LOW_128;
  return Buffer.from(mac.toString(16).padStart(2 * MAC_BYTES, '0'), 'hex').reverse();
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`);
}
