import { ed25519 } from '@noble/curves/ed25519.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonical, type Json } from './json.js';

/** Returns SHA-256 of a text in UTF-8, in hexadecimal. */
export function hashOf(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** Returns SHA-256 of bytes, in hexadecimal. */
export function hashOfBytes(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}

/** Returns `tag(T, v)` of docs/proofs.md. */
export function tagged(tag: string, value: Json): string {
  return `${tag}\n${canonical(value)}`;
}

/** Returns the hash of a leaf of the log's tree (RFC 9162). */
export function leafHash(input: string): string {
  return bytesToHex(sha256(concatBytes(Uint8Array.of(0), utf8ToBytes(input))));
}

/** Returns the hash of an inner node of the log's tree (RFC 9162). */
export function nodeHash(left: string, right: string): string {
  return bytesToHex(sha256(concatBytes(Uint8Array.of(1), hexToBytes(left), hexToBytes(right))));
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Returns the bytes of canonical base64 with padding; null if the text isn't that. */
export function bytesOfBase64(text: string): Uint8Array | null {
  if (!BASE64.test(text)) return null;
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  // Unused bits of the last digit must be zero, so that each value has one form.
  return btoa(String.fromCharCode(...bytes)) === text ? bytes : null;
}

/**
 * Returns whether the signature over the text verifies (RFC 8032, without tolerating other encodings). As in OpenSSL, the
 * equation must hold without the cofactor, so that all verifiers agree about points with a part of small order.
 */
export function verifySignature(publicKey: Uint8Array, text: string, signature: Uint8Array): boolean {
  try {
    const message = utf8ToBytes(text);
    if (!ed25519.verify(signature, message, publicKey, { zip215: false })) return false;
    const { BASE, Fn } = ed25519.Point;
    const point = signature.subarray(0, 32);
    const digest = sha512(concatBytes(point, publicKey, message));
    const challenge = Fn.create(numberOf(digest));
    const part = ed25519.Point.fromBytes(publicKey).multiplyUnsafe(challenge);
    const expected = BASE.multiplyUnsafe(numberOf(signature.subarray(32))).subtract(part);
    return bytesToHex(expected.toBytes()) === bytesToHex(point);
  } catch {
    return false;
  }
}

/** Returns the number that the bytes encode, least significant first. */
function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(bytes.toReversed())}`);
}
