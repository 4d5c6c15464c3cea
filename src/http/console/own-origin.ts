import type { IncomingMessage } from 'node:http';
import type { IsTrusted } from '../trust-proxy.js';

/** Determines the origin of a request as seen by the browser that sent it. */
export interface OwnOrigin {
  /**
   * Returns whether a page of the gateway's own origin sent the request. Browsers set the header, and no page can forge
   * it.
   */
  isOwn(request: IncomingMessage): boolean;
  /** Returns whether the browser connected with TLS, which a proxy may have terminated. */
  isSecure(request: IncomingMessage): boolean;
}

/** Accepts the origin of PUBLIC_URL and the host that the request itself names. */
export function createOwnOrigin(publicUrl: string, isTrusted: IsTrusted): OwnOrigin {
  const published = new URL(publicUrl);
  /** Returns the scheme that the browser used, as reported by a trusted proxy. */
  const forwardedScheme = ({ headers, socket }: IncomingMessage): string | null => {
    const forwarded = headers['x-forwarded-proto'];
    if (forwarded === undefined || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
    return `${String(forwarded).split(',')[0]!.trim().toLowerCase()}:`;
  };
  const originOf = (request: IncomingMessage): string | null => {
    const { host = '' } = request.headers;
    // Any host other than the published one is this machine itself, for example through an SSH tunnel.
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
