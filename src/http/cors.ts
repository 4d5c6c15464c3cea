const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key';
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotent-Replayed, WWW-Authenticate';
const PREFLIGHT_MAX_AGE_SECONDS = '86400';

/** Alternates names and values, as `writeHead` takes them. */
export type Headers = readonly string[];

/** Headers of the answer to a preflight, in addition to those of every answer. */
export const PREFLIGHT_HEADERS: Headers = [
  ...['Access-Control-Allow-Methods', METHODS],
  ...['Access-Control-Allow-Headers', REQUEST_HEADERS],
  ...['Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS],
];

/**
 * Gives the CORS headers of an answer to a page of `origin`. Keys travel in a header, never in a cookie: any page may call,
 * and none is ever allowed credentials.
 */
export function createCors(origins: '*' | string[]): (origin: string | undefined) => Headers {
  const expose = ['Access-Control-Expose-Headers', EXPOSED_HEADERS];
  const toAll = ['Access-Control-Allow-Origin', '*', ...expose];
  if (origins === '*') return () => toAll;
  const vary = ['Vary', 'Origin'];
  const toListed = new Map(origins.map((name) => [name, ['Access-Control-Allow-Origin', name, ...expose, ...vary]]));
  return (origin) => toListed.get(origin ?? '') ?? vary;
}
