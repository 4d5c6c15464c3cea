import type { Request, RequestHandler } from 'express';
import type { ErrorCode } from '../domain/rules/errors.js';

/** Of these Node keeps the first and drops the rest, a proxy may do otherwise: who was meant would be anyone's guess. */
const GIVEN_ONCE = ['authorization', 'content-type', 'host'];

/** Refuses a head that Node's parser lets pass but that says nothing certain, with the 400 of malformed HTTP. */
export const checkHead: RequestHandler = (request, response, next) => {
  const message = repeated(request.rawHeaders) ?? addressFault(request);
  if (message === null) return next();
  response.setHeader('Connection', 'close');
  response.status(400).json({ error: { code: 'invalid_request' satisfies ErrorCode, message } });
};

/** Names and values of the headers stand in turn. */
function repeated(rawHeaders: readonly string[]): string | null {
  const seen = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase();
    if (seen.has(name)) return `the header ${name} may be given once`;
    if (GIVEN_ONCE.includes(name)) seen.add(name);
  }
  return null;
}

/** The address is made into a URL further on. */
function addressFault({ headers: { host }, protocol, httpVersion }: Request): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'the header host is required' : null;
  return URL.canParse(`${protocol}://${host}/`) ? null : 'the header host names no host';
}
