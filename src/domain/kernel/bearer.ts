const BEARER = /^Bearer +([^\s]+) *$/i;

/** Returns the API key or host token from an Authorization header (RFC 6750), or undefined if there is none. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1];
}
