const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';
const REQUEST_HEADERS = ['Authorization', 'Content-Type', 'Idempotency-Key'];
/** Maximum length of the list of header names that a browser requests; no page needs more. */
const MAX_REQUESTED_CHARACTERS = 2_000;
/** Names of headers, as a browser lists them (RFC 9110, 5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+( *, *[\w!#$%&'*+.^`|~-]+)*$/;
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotent-Replayed, WWW-Authenticate';
const PREFLIGHT_MAX_AGE_SECONDS = '86400';

/** Alternates names and values, as `writeHead` takes them. */
export type Headers = readonly string[];

/**
 * Returns the headers of the answer to a preflight, in addition to those of every answer. `requested` lists the headers
 * that the browser wants to send: client libraries and tracing add some, and none gives a page more than its key does.
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
 * Gives the CORS headers of an answer to a page of `origin`. Any page may call, and none is ever allowed credentials:
 * API keys travel in a header, and a console session's cookie counts only from the gateway's own origin.
 */
export function createCors(origins: '*' | string[]): (origin: string | undefined) => Headers {
  const expose = ['Access-Control-Expose-Headers', EXPOSED_HEADERS];
  const toAll = ['Access-Control-Allow-Origin', '*', ...expose];
  if (origins === '*') return () => toAll;
  const vary = ['Vary', 'Origin'];
  const toListed = new Map(origins.map((name) => [name, ['Access-Control-Allow-Origin', name, ...expose, ...vary]]));
  return (origin) => toListed.get(origin ?? '') ?? vary;
}
