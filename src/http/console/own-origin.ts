import type { IncomingMessage } from 'node:http';
import type { IsTrusted } from '../trust-proxy.js';

/** Determines a request's origin as seen by the browser. */
export interface OwnOrigin {
  /**
   * Returns whether a page on the gateway's own origin sent the request. The header is set by browsers, and pages can't
   * forge it.
   */
  isOwn(request: IncomingMessage): boolean;
  /** Returns whether the browser connected over TLS, which may have been terminated by a proxy. */
  isSecure(request: IncomingMessage): boolean;
}

/** Accepts PUBLIC_URL's origin and the host named in the request itself. */
export function createOwnOrigin(publicUrl: string, isTrusted: IsTrusted): OwnOrigin {
  const published = new URL(publicUrl);
  /** Returns the scheme that the browser used, as reported by a trusted proxy. */
  const forwardedScheme = ({ headers, socket }: IncomingMessage): string | null => {
    const forwarded = headers['x-forwarded-proto'];
    if (forwarded === undefined || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
    const [scheme = ''] = String(forwarded).split(',');
    return `${scheme.trim().toLowerCase()}:`;
  };
  const originOf = (request: IncomingMessage): string | null => {
    const { host = '' } = request.headers;
    // Any host other than the published one must be this machine itself, for example through an SSH tunnel.
    const scheme = forwardedScheme(request) ?? (host === published.host ? published.protocol : 'http:');
    return URL.canParse(`${scheme}//${host}/`) ? new URL(`${scheme}//${host}/`).origin : null;
  };
  return {
    isSecure: (request) => (forwardedScheme(request) ?? published.protocol) === 'https:',
    isOwn: (request) => {
      const { origin } = request.headers;
      if (origin === undefined) return false;
      if (origin === originOf(request)) return true;
      return origin === published.origin && (forwardedScheme(request) ?? published.protocol) === published.protocol;
    },
  };
}

/**
 * Returns whether another site made the browser send this GET. Browsers send no Origin header with a same-origin GET.
 */
export function isCrossSite({ headers }: IncomingMessage): boolean {
  return (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';
}
