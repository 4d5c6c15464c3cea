import { createHash } from 'node:crypto';

/** Prefix of tokens in the agent protocol. */
export const HOST_TOKEN_PREFIX = 'gpu_host_';
export const JOIN_CODE_PREFIX = 'gpu_join_';
/** Number of random bytes in a token or join code, which are written as 40 hex characters. */
export const SECRET_BYTES = 20;

const HEX = `[0-9a-f]{${SECRET_BYTES * 2}}$`;
const HOST_TOKEN = new RegExp(`^${HOST_TOKEN_PREFIX}${HEX}`);
const JOIN_CODE = new RegExp(`^${JOIN_CODE_PREFIX}${HEX}`);

/** Returns the SHA-256 hash of the token, which is the only form stored. Returns null if the text can't be a token. */
export function hashHostToken(text: string): Buffer | null {
  return HOST_TOKEN.test(text) ? sha256(text) : null;
}

/**
 * Returns the SHA-256 hash of the join code, which is the only form stored. Returns null if the text can't be a join
 * code.
 */
export function hashJoinCode(text: string): Buffer | null {
  return JOIN_CODE.test(text) ? sha256(text) : null;
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
