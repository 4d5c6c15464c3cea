const BEARER = /^Bearer +([^\s]+) *$/i;

/** Returns the API key or machine token of an Authorization header (RFC 6750); undefined without one. */
export function bearerOf(authorization: string | undefined): string | undefined {
  return BEARER.exec(authorization ?? '')?.[1];
}
