import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { required } from '../../../std/required.js';

/** Returns the canonical form of a JSON value (RFC 8785). Members that are undefined are left out. */
export function canonical(value: unknown): string {
  return required(canonicalize(value), 'canonical form');
}

/** Returns the text that hashes and signatures cover. The tag keeps hashes of different kinds apart. */
export function tagged(tag: string, value: unknown): string {
  return `${tag}\n${canonical(value)}`;
}

/** Returns the SHA-256 hash of bytes, or of a text in UTF-8. */
export function hashOf(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest();
}
