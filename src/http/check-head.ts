import type { IncomingMessage } from 'node:http';
import { STATUS_OF } from '../domain/kernel/errors.js';
import type { Refusal } from './error-envelope.js';
import type { IsTrusted } from './trust-proxy.js';

/**
 * Headers that must not be repeated. Node keeps the first value and drops the rest, but a proxy may do otherwise, so
 * the sender's intent is ambiguous.
 */
const SINGLE_HEADERS = ['authorization', 'content-type', 'host'];
const LENGTHS = new Set(SINGLE_HEADERS.map((name) => name.length));
const BAD_REQUEST = 400;

/** A refusal that also closes the connection if the request may not end where it appears to. */
export interface HeadFault extends Refusal {
  closes: boolean;
}

/**
 * Returns a function that detects ambiguous request heads that Node's parser accepts. The function returns null for an
 * unambiguous head.
 */
export function createHeadCheck(isTrusted: IsTrusted): (request: IncomingMessage) => HeadFault | null {
  /** Caches the last valid host, because most requests name the same one as the previous request. */
  let lastValidHost: string | undefined;

  const hostFault = ({ headers: { host }, httpVersion }: IncomingMessage): string | null => {
    if (host === undefined) return httpVersion === '1.1' ? 'the host header is required' : null;
    if (host === lastValidHost) return null;
    if (!URL.canParse(`http://${host}/`)) return 'the host header is not a valid host';
    lastValidHost = host;
    return null;
  };

  return (request) => {
    const message = repeatedHeader(request.rawHeaders) ?? hostFault(request);
    if (message !== null) return { status: BAD_REQUEST, code: 'invalid_request', message, closes: true };
    return protocolFault(request, isTrusted);
  };
}

/** Returns the name of a header that is repeated although it must not be. `rawHeaders` alternates names and values. */
function repeatedHeader(rawHeaders: readonly string[]): string | null {
  const seen: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const rawName = rawHeaders[index]!;
    if (!LENGTHS.has(rawName.length)) continue;
    const name = rawName.toLowerCase();
    if (!SINGLE_HEADERS.includes(name)) continue;
    if (seen.includes(name)) return `the ${name} header may occur only once`;
    seen.push(name);
  }
  return null;
}

/**
 * Rejects requests from a trusted proxy that don't state the protocol. Such a proxy is misconfigured, and its other
 * headers would be trusted as well.
 */
function protocolFault({ headers, socket }: IncomingMessage, isTrusted: IsTrusted): HeadFault | null {
  const forwarded = headers['x-forwarded-proto'];
  if (forwarded === undefined || forwarded === '' || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
  const [protocol = ''] = String(forwarded).split(',');
  if (URL.canParse(`${protocol.trim()}://localhost/`)) return null;
  const message = 'the x-forwarded-proto header is not a valid protocol';
  return { status: STATUS_OF.invalid_request, code: 'invalid_request', message, closes: false };
}
