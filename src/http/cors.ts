const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';
const REQUEST_HEADERS = ['Authorization', 'Content-Type', 'Idempotency-Key'];
/** Maximum length of the header list that a browser may request. No page needs a longer one. */
const MAX_REQUESTED_CHARACTERS = 2_000;
/** Matches a browser's list of header names (RFC 9110, 5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*$/;
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotent-Replayed, WWW-Authenticate';
const PREFLIGHT_MAX_AGE_SECONDS = '86400';

/** Alternating header names and values, in the form that `writeHead` accepts. */
export type Headers = readonly string[];

/**
 * Returns the headers that a preflight response has in addition to the common ones. `requested` lists the headers that
 * the browser wants to send, all of which are allowed. Client libraries and tracing add some, and none of them gives a
 * page more access than its key does.
 */
export function preflightHeaders(requested: string | undefined): Headers {
  return [
    ...['Access-Control-Allow-Methods', METHODS],
    ...['Access-Control-Allow-Headers', [...REQUEST_HEADERS, ...others(requested ?? '')].join(', ')],
    ...['Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS],
  ];
}

function others(requested: string): string[] {
  if (requested.length > MAX_REQUESTED_CHARACTERS || !HEADER_NAMES.test(requested)) return [];
  const known = REQUEST_HEADERS.map((name) => name.toLowerCase());
  return requested
    .split(',')
    .map((name) => name.trim())
    .filter((name) => !known.includes(name.toLowerCase()));
}

/**
 * Returns a function that creates the CORS headers for a response to a page on `origin`. Any page may call the API, but
 * credentials are never allowed: API keys travel in a header, and the session cookie is only accepted from the
 * gateway's own origin.
 */
export function createCors(origins: '*' | string[]): (origin: string | undefined) => Headers {
  const expose = ['Access-Control-Expose-Headers', EXPOSED_HEADERS];
  const toAll = ['Access-Control-Allow-Origin', '*', ...expose];
  if (origins === '*') return () => toAll;
  const vary = ['Vary', 'Origin'];
  const toListed = new Map(origins.map((name) => [name, ['Access-Control-Allow-Origin', name, ...expose, ...vary]]));
  return (origin) => toListed.get(origin ?? '') ?? vary;
}
