import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { DomainError } from '../domain/rules/errors.js';

/** Applies to the decompressed body too. */
const BODY_LIMIT = '100kb';

declare module 'http' {
  interface IncomingMessage {
    /** The parsed JSON body; undefined without one. */
    body?: unknown;
  }
}

export type JsonReader = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Reads the body as JSON in UTF-8, whatever its content type says, into `request.body`. */
export function createJsonReader(): JsonReader {
  return express.json({
    limit: BODY_LIMIT,
    strict: false,
    type: () => true,
    verify: (_request, _response, bytes, encoding) => {
      // The parser would replace bytes that are not UTF-8 instead of refusing them.
      if (encoding !== 'utf-8' || !isUtf8(bytes)) throw new Error('not UTF-8');
    },
  });
}

/** The reader's refusals in the service's own words; null for any other error. */
export function bodyFault(error: unknown): DomainError | null {
  const { status } = (error ?? {}) as { status?: unknown };
  if (typeof status !== 'number' || status >= 500) return null;
  if (status === 413) return new DomainError('payload_too_large', `the body may be ${BODY_LIMIT} at most`);
  return new DomainError('invalid_json', 'the body is not JSON in UTF-8');
}
