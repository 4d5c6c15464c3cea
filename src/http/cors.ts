import type { IncomingMessage, ServerResponse } from 'node:http';

const METHODS = 'GET, HEAD, POST, DELETE, OPTIONS';
const REQUEST_HEADERS = 'Authorization, Content-Type, Idempotency-Key';
const EXPOSED_HEADERS =
  'X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Idempotent-Replayed, WWW-Authenticate';
const PREFLIGHT_MAX_AGE_SECONDS = '86400';

/**
 * Keys travel in a header, never in a cookie: any page may call, and none is ever given credentials. Tells whether it
 * answered, as it does a preflight.
 */
export function createCors(origins: '*' | string[]): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const origin = request.headers.origin;
    const allowed = origins === '*' ? '*' : origins.find((listed) => listed === origin);
    if (origins !== '*') response.setHeader('Vary', 'Origin');
    if (allowed !== undefined) {
      response.setHeader('Access-Control-Allow-Origin', allowed);
      response.setHeader('Access-Control-Expose-Headers', EXPOSED_HEADERS);
    }
    if (request.method !== 'OPTIONS') return false;
    response.setHeader('Access-Control-Allow-Methods', METHODS);
    response.setHeader('Access-Control-Allow-Headers', REQUEST_HEADERS);
    response.setHeader('Access-Control-Max-Age', PREFLIGHT_MAX_AGE_SECONDS);
    response.writeHead(204).end();
    return true;
  };
}
