import type { IncomingMessage } from 'node:http';
import type { IsTrusted } from '../trust-proxy.js';

/** The origin of a request, as the browser that sent it sees it. */
export interface OwnOrigin {
  /**
   * Returns whether a request is from a page of the gateway's own origin: browsers set the header, and no page can fake
   * it.
   */
  isOwn(request: IncomingMessage): boolean;
  /** Whether the browser came by TLS, which a proxy may have ended. */
  isSecure(request: IncomingMessage): boolean;
}

/** The gateway's origins are that of PUBLIC_URL, and the host that a request itself names. */
export function createOwnOrigin(publicUrl: string, isTrusted: IsTrusted): OwnOrigin {
  const published = new URL(publicUrl);
  /** Returns the browser's scheme, according to a trusted proxy. */
  const forwardedScheme = ({ headers, socket }: IncomingMessage): string | null => {
    const forwarded = headers['x-forwarded-proto'];
    if (forwarded === undefined || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
    return `${String(forwarded).split(',')[0]!.trim().toLowerCase()}:`;
  };
  const originOf = (request: IncomingMessage): string | null => {
    const { host = '' } = request.headers;
    // Any host other than the published one is this machine itself, as through a tunnel.
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

/** Returns whether another site made the browser send this GET. Browsers name no origin in a GET to their own. */
export function isCrossSite({ headers }: IncomingMessage): boolean {
  return (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';
}
