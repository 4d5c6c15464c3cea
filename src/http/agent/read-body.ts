import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../domain/kernel/errors.js';
import { JsonTooLarge, parseJson } from '../../std/untrusted/json.js';

/** Maximum number of JSON values in a body. Even the largest report contains far fewer. */
const MAX_VALUES = 250_000;

/** Reads a JSON body in UTF-8. Rejects bodies longer than `maxBytes` and strings that the database can't store. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (request.headers['content-encoding'] !== undefined)
    throw new DomainError('invalid_request', 'content encodings are not supported');
  const bytes = await readBytes(request, maxBytes);
  if (!isUtf8(bytes)) throw notJson();
  const value = parsed(bytes);
  // In UTF-8 JSON, zero bytes and lone surrogates can only occur as escape sequences.
  if (bytes.includes('\\u') && !isStorable(value)) throw notJson();
  return value;
}

function parsed(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, { maxValues: MAX_VALUES });
  } catch (error) {
    if (error instanceof JsonTooLarge) throw new DomainError('invalid_json', error.message);
    throw notJson();
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new DomainError('payload_too_large', `the body must be at most ${maxBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Returns whether the database can store every string in the value. */
function isStorable(value: unknown): boolean {
  if (typeof value === 'string') return !value.includes('\0') && !/\p{Surrogate}/u.test(value);
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every(isStorable);
}

function notJson(): DomainError {
  return new DomainError('invalid_json', 'the body must be UTF-8 JSON without NUL bytes');
}
