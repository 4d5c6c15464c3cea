import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import { DomainError } from '../domain/kernel/errors.js';
import { checkJson, JsonTooLarge, parseJson } from '../std/untrusted/json.js';

/** Maximum size of a body, both before and after it is decompressed. */
const BODY_LIMIT = '100kb';
const MAX_ORDINARY_BYTES = 32_000;
const ORDINARY_TYPE = /^application\/json *(; *charset=utf-8)?$/i;

declare module 'http' {
  interface IncomingMessage {
    /** The parsed JSON body, or undefined if there is none. */
    body?: unknown;
  }
}

export type JsonReader = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void;

/** Reads the body as JSON in UTF-8 into `request.body`, regardless of its content type. */
export function createJsonReader(): JsonReader {
  const readAny = express.json({
    limit: BODY_LIMIT,
    strict: false,
    type: () => true,
    verify: (_request, _response, bytes, encoding) => {
      // The parser would replace bytes that aren't valid UTF-8 instead of rejecting them.
      if (encoding !== 'utf-8' || !isUtf8(bytes)) throw new Error('not UTF-8');
      checkJson(bytes);
    },
  });
  return (request, response, next) => {
    if (!isOrdinary(request)) return readAny(request, response, next);
    request.once('readable', () => {
      if (!readBuffered(request)) return readAny(request, response, next);
      next();
    });
  };
}

/** Returns whether the body is likely to arrive together with its head. */
function isOrdinary({ headers }: IncomingMessage): boolean {
  const length = Number(headers['content-length']);
  const isShort = length > 0 && length <= MAX_ORDINARY_BYTES;
  return isShort && headers['content-encoding'] === undefined && ORDINARY_TYPE.test(headers['content-type'] ?? '');
}

/**
 * Reads a body that has already arrived. Returns false and leaves the stream unchanged if the body is incomplete or
 * isn't JSON in UTF-8. This saves a quarter of the CPU time for a cached GraphQL response: 42 µs instead of 56 (bench
 * case `graphql`).
 */
function readBuffered(request: IncomingMessage): boolean {
  const length = Number(request.headers['content-length']);
  const bytes: Buffer | null = request.read(length);
  if (bytes === null) return false;
  try {
    if (bytes.length !== length || !isUtf8(bytes)) throw new Error('the body is incomplete or not UTF-8');
    request.body = parseJson(bytes);
    return true;
  } catch {
    request.unshift(bytes);
    return false;
  }
}

/** Converts the reader's errors to the service's own. Returns null for any other error. */
export function bodyFault(error: unknown): DomainError | null {
  if (error instanceof JsonTooLarge) return new DomainError('invalid_json', error.message);
  const { status } = (error ?? {}) as { status?: unknown };
  if (typeof status !== 'number' || status >= 500) return null;
  if (status === 413) return new DomainError('payload_too_large', `the body must be at most ${BODY_LIMIT}`);
  return new DomainError('invalid_json', 'the body is not valid UTF-8 JSON');
}
