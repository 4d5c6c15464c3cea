import { createHash } from 'node:crypto';

/** Returns a hash of a response's body, for its ETag. */
export function contentHash(body: Buffer | string): string {
  return createHash('sha256').update(body).digest('base64url').slice(0, 22);
}
