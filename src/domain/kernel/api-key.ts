import { createHash } from 'node:crypto';

export const API_KEY_PREFIX = 'gpu_live_';
/** Number of random bytes in an API key, which are written as 40 hex characters. */
export const API_KEY_BYTES = 20;
/** Maximum number of live API keys per account. */
export const MAX_LIVE_API_KEYS = 50;

const API_KEY_PATTERN = new RegExp(`^${API_KEY_PREFIX}[0-9a-f]{${API_KEY_BYTES * 2}}$`);

export function formatApiKey(random: Buffer): string {
  return API_KEY_PREFIX + random.toString('hex');
}

/** Returns the SHA-256 hash of the key, which is the only form stored. Returns null if the text can't be a key. */
export function hashApiKey(text: string): Buffer | null {
  return API_KEY_PATTERN.test(text) ? createHash('sha256').update(text).digest() : null;
}
