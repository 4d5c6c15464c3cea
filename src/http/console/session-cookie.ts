import type { IncomingMessage } from 'node:http';

/**
 * Because of the prefix, browsers reject the cookie if it was set by another host in the same domain or sent without
 * TLS.
 */
const SECURE_NAME = '__Host-console';
const PLAIN_NAME = 'console';
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict';

/**
 * Returns the token in a request's session cookie. Returns null if there is no such cookie, or more than one, which is
 * ambiguous.
 */
export function readSessionCookie({ headers }: IncomingMessage, isSecure: boolean): string | null {
  const prefix = `${nameOf(isSecure)}=`;
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  const [only, ...others] = found;
  return only === undefined || others.length > 0 ? null : only.slice(prefix.length);
}

/** Returns the header that sets the session cookie. An age of 0 removes the cookie. */
export function sessionCookie(token: string, maxAgeSeconds: bigint, isSecure: boolean): string {
  return `${nameOf(isSecure)}=${token}; ${ATTRIBUTES}; Max-Age=${maxAgeSeconds}${isSecure ? '; Secure' : ''}`;
}

function nameOf(isSecure: boolean): string {
  return isSecure ? SECURE_NAME : PLAIN_NAME;
}
