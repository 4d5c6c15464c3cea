import type { IncomingMessage } from 'node:http';
import { STATUS_OF } from '../domain/rules/errors.js';
import type { Refusal } from './error-envelope.js';
import type { IsTrusted } from './trust-proxy.js';

/** Node keeps the first of these and drops the rest, a proxy may do otherwise: the sender's intent is ambiguous. */
const SINGLE_HEADERS = ['authorization', 'content-type', 'host'];
const LENGTHS = new Set(SINGLE_HEADERS.map((name) => name.length));
const BAD_REQUEST = 400;

/** A refusal after which the connection is closed where the request can't be trusted to end where it seems to. */
export interface HeadFault extends Refusal {
  closes: boolean;
}

/** Finds a request head that Node's parser accepts although its meaning is not certain; null when it is sound. */
export function createHeadCheck(isTrusted: IsTrusted): (request: IncomingMessage) => HeadFault | null {
  /** Most requests name the same host as the previous one. */
  let lastValidHost: string | undefined;

  const hostFault = ({ headers: { host }, httpVersion }: IncomingMessage): string | null => {
    if (host === undefined) return httpVersion === '1.1' ? 'the header host is required' : null;
    if (host === lastValidHost) return null;
    if (!URL.canParse(`http://${host}/`)) return 'the header host is not a valid host';
    lastValidHost = host;
    return null;
  };

  return (request) => {
    const message = repeatedHeader(request.rawHeaders) ?? hostFault(request);
    if (message !== null) return { status: BAD_REQUEST, code: 'invalid_request', message, closes: true };
    return protocolFault(request, isTrusted);
  };
}

/** `rawHeaders` alternates names and values. */
function repeatedHeader(rawHeaders: readonly string[]): string | null {
  const seen: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const rawName = rawHeaders[index]!;
    if (!LENGTHS.has(rawName.length)) continue;
    const name = rawName.toLowerCase();
    if (!SINGLE_HEADERS.includes(name)) continue;
    if (seen.includes(name)) return `the header ${name} may occur only once`;
    seen.push(name);
  }
  return null;
}

/** A trusted proxy that names no protocol is misconfigured, and its other headers would be trusted too. */
function protocolFault({ headers, socket }: IncomingMessage, isTrusted: IsTrusted): HeadFault | null {
  const forwarded = headers['x-forwarded-proto'];
  if (forwarded === undefined || forwarded === '' || !isTrusted(socket.remoteAddress ?? '', 0)) return null;
  const protocol = String(forwarded).split(',')[0]!.trim();
  if (URL.canParse(`${protocol}://localhost/`)) return null;
  const message = 'the header x-forwarded-proto is not a valid protocol';
  return { status: STATUS_OF.invalid_request, code: 'invalid_request', message, closes: false };
}
