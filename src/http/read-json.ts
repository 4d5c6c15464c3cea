import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import express, { type RequestHandler } from 'express';
import { DomainError } from '../domain/rules/errors.js';

/** Also after it was unpacked. */
const BODY_LIMIT = '100kb';

/** Reads a JSON body, in UTF-8 and nothing else, into `request.body`; without a body that stays undefined. */
export function createJsonReader(type: string | ((request: IncomingMessage) => boolean)): RequestHandler {
  return express.json({
    limit: BODY_LIMIT,
    strict: false,
    type,
    verify: (_request, _response, bytes, encoding) => {
      // The parser would read what is no UTF-8 as other text than was sent.
      if (encoding !== 'utf-8' || !isUtf8(bytes)) throw new Error('not UTF-8');
    },
  });
}

/** What the reader refuses, in the service's own words; null for any other error. */
export function bodyFault(error: { status?: unknown } | null | undefined): DomainError | null {
  const status = error?.status;
  if (typeof status !== 'number' || status >= 500) return null;
  if (status === 413) return new DomainError('payload_too_large', `the body may be ${BODY_LIMIT} at most`);
  return new DomainError('invalid_json', 'the body is not JSON in UTF-8');
}
