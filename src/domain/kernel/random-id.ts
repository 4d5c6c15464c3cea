import { randomBytes } from 'node:crypto';

/** Returns `<prefix>-<hex>`, with two hex characters per random byte. */
export function randomId(prefix: string, bytes: number): string {
  return `${prefix}-${randomBytes(bytes).toString('hex')}`;
}
