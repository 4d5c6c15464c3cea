import type { IncomingMessage } from 'node:http';
import type { IsTrusted } from '../trust-proxy.js';

/** Where a request came to, as the browser that sent it sees it. */
export interface OwnOrigin {
  /** True for a request from a page of the gateway's own origin: browsers set the header, and no page can fake it. */
  isOwn(request: IncomingMessage): boolean;
  /** Whether the browser came by TLS, which a proxy may have ended. */
  isSecure(request: IncomingMessage): boolean;
}

/** The origins of the gateway are that of PUBLIC_URL, and whatever host a request itself names. */
export function createOwnOrigin(publicUrl: string, isTrusted: IsTrusted): OwnOrigin {
  const published = new URL(publicUrl);
  /** What a trusted proxy says the browser used. */
  const forwardedScheme = ({ headers, socket }: IncomingMessage): string | null => {
    const forwarded = headers['x-forwarded-proto'];
    if (forwarded === undefined || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
    return `${String(forwarded).split(',')[0]!.trim().toLowerCase()}:`;
  };
  const originOf = (request: IncomingMessage): string | null => {
    const { host = '' } = request.headers;
    // Another host than the published one is this machine's own, as through a tunnel.
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

/** True for a GET that another site made a browser send. Browsers name no origin in a GET to their own. */
export function isCrossSite({ headers }: IncomingMessage): boolean {
  return (headers['sec-fetch-site'] ?? 'same-origin') !== 'same-origin';
}
