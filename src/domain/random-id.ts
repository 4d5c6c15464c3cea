import { randomBytes } from 'node:crypto';

/** `<prefix>-<hex>`: two hex characters for each random byte. */
export function randomId(prefix: string, bytes: number): string {
  return `${prefix}-${randomBytes(bytes).toString('hex')}`;
}
