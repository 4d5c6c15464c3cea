import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { DomainError } from '../../domain/rules/errors.js';

/** The JSON value of a body, in UTF-8, of texts that the database can hold. Refuses one that is longer than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  if (request.headers['content-encoding'] !== undefined)
    throw new DomainError('invalid_request', 'a content encoding is not taken');
  const bytes = await readBytes(request, maxBytes);
  if (!isUtf8(bytes)) throw notJson();
  try {
    return JSON.parse(bytes.toString(), (_name, value) => {
      if (typeof value === 'string' && (value.includes('\0') || !isWellFormed(value))) throw notJson();
      return value;
    });
  } catch {
    throw notJson();
  }
}

async function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const tooLarge = () => new DomainError('payload_too_large', `the body may be ${maxBytes} bytes at most`);
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

/** No half of a surrogate pair. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

function notJson(): DomainError {
  return new DomainError('invalid_json', 'the body is not JSON in UTF-8 without zero bytes');
}
