import { createHash } from 'node:crypto';
import { DomainError } from '../../kernel/errors.js';

/** Maximum number of SSH keys per account. */
export const MAX_SSH_KEYS = 50;
/** Minimum size of an RSA key, in bits. Smaller keys are rejected. */
const MIN_RSA_BITS = 3_072;
const MAX_RSA_BITS = 16_384;
/** Maximum line length in a key file. An RSA key with 16,384 bits takes about 2,800 characters. */
export const MAX_SSH_KEY_LENGTH = 8_192;
const MAX_COMMENT = 200;
const ED25519_BYTES = 32;
/** Size of an uncompressed point on each curve, in bytes. */
const CURVES: Readonly<Record<string, { curve: string; bytes: number }>> = {
  'ecdsa-sha2-nistp256': { curve: 'nistp256', bytes: 65 },
  'ecdsa-sha2-nistp384': { curve: 'nistp384', bytes: 97 },
  'ecdsa-sha2-nistp521': { curve: 'nistp521', bytes: 133 },
};
export const SSH_KEY_TYPES = ['ssh-ed25519', ...Object.keys(CURVES), 'ssh-rsa'];
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const UNCOMPRESSED_POINT = 4;

/** A public key in its stored form. */
export interface SshPublicKey {
  type: string;
  /** The key's binary form, as sent over SSH. */
  blob: Buffer;
  /** `SHA256:` followed by the base64 hash of the blob, in the same format as the output of ssh-keygen -l. */
  fingerprint: string;
  comment: string;
}

/**
 * Parses a line such as `ssh-ed25519 AAAA… name@host`, in the format of id_ed25519.pub. Throws invalid_request if the
 * line isn't a public key or if the key is of an unknown type or is an RSA key with fewer than 3,072 bits.
 */
export function parseSshKey(line: string): SshPublicKey {
  const text = line.trim();
  if (/PRIVATE KEY/.test(text)) throw refusal('is a private key; keep it to yourself and send the .pub file');
  const [, type, base64, comment = ''] = /^(\S+)[ \t]+(\S+)(?:[ \t]+([^\r\n]*))?$/.exec(text) ?? [];
  if (type === undefined || base64 === undefined) throw refusal('must be one line of a .pub file: TYPE KEY COMMENT');
  if (!SSH_KEY_TYPES.includes(type)) throw refusal(`must be of the type ${SSH_KEY_TYPES.join(', ')}`);
  const blob = BASE64.test(base64) ? Buffer.from(base64, 'base64') : Buffer.alloc(0);
  checkBlob(type, blob);
  return { type, blob, fingerprint: fingerprintOf(blob), comment: printable(comment) };
}

function fingerprintOf(blob: Buffer): string {
  return `SHA256:${createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')}`;
}

/** Formats a key as a line in a key file. */
export function formatSshKey({ type, blob, comment }: Pick<SshPublicKey, 'type' | 'blob' | 'comment'>): string {
  return `${type} ${Buffer.from(blob).toString('base64')}${comment === '' ? '' : ` ${comment}`}`;
}

function checkBlob(type: string, blob: Buffer): void {
  const [named, first, second, ...others] = partsOf(blob);
  if (named?.toString('latin1') !== type) throw refusal('is not a complete public key');
  const curve = CURVES[type];
  if (type === 'ssh-ed25519') {
    const isWhole = first?.length === ED25519_BYTES && second === undefined;
    if (!isWhole) throw refusal('is not a complete public key');
  } else if (curve !== undefined) {
    const isNamed = first?.toString('latin1') === curve.curve && others.length === 0;
    if (!isNamed || second?.length !== curve.bytes || second[0] !== UNCOMPRESSED_POINT)
      throw refusal('is not a complete public key');
  } else {
    const bits = second === undefined || others.length > 0 ? 0 : bitsOf(second);
    if (bits === 0 || bits > MAX_RSA_BITS) throw refusal('is not a complete public key');
    if (bits < MIN_RSA_BITS)
      throw refusal(`must be an RSA key of at least ${MIN_RSA_BITS} bits, or better ed25519; got ${bits} bits`);
  }
}

/**
 * Returns the fields of a blob, each of which is preceded by its four-byte length. Returns no fields if the blob is
 * malformed.
 */
function partsOf(blob: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < blob.length) {
    if (at + 4 > blob.length) return [];
    const length = blob.readUInt32BE(at);
    if (at + 4 + length > blob.length) return [];
    parts.push(blob.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return parts;
}

/** Returns the bit length of a positive number, or 0 for any other number. */
function bitsOf(number: Buffer): number {
  const [sign = 0x80] = number;
  if (sign >= 0x80) return 0;
  const digits = sign === 0 ? number.subarray(1) : number;
  const [top] = digits;
  return top === undefined ? 0 : digits.length * 8 - Math.clz32(top) + 24;
}

function printable(comment: string): string {
  return comment
    .replace(/[^\p{L}\p{N}\p{P}\p{S} ]/gu, '')
    .trim()
    .slice(0, MAX_COMMENT);
}

function refusal(why: string): DomainError {
  return new DomainError('invalid_request', `publicKey ${why}`, { field: 'publicKey' });
}
