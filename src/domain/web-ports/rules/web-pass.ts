import { createHash } from 'node:crypto';

/** Number of random bytes in a link or cookie, which are written as 43 base64url characters. */
export const WEB_PASS_BYTES = 32;
/** Validity of a link, in seconds. A link works only once. */
export const LINK_SECONDS = 60n;
/** Validity of the cookie set by a link, in seconds. */
export const COOKIE_SECONDS = 86_400n;
/** Maximum number of links and cookies per instance. Creating another one ends the oldest. */
export const MAX_PASSES_OF_INSTANCE = 100;
/** Maximum number of public ports per instance. */
export const MAX_OPEN_PORTS = 20;

const PASS = /^[A-Za-z0-9_-]{43}$/;

/** Whether the text has the form of a pass. */
export function isWebPass(text: string): boolean {
  return PASS.test(text);
}

/** Returns the SHA-256 hash of the pass, which is the only form stored. Returns null if the text can't be a pass. */
export function hashWebPass(text: string): Buffer | null {
  return isWebPass(text) ? createHash('sha256').update(text).digest() : null;
}
