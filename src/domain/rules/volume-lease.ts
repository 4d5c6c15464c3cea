import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Days after its end in which what a destroyed instance wrote may still be saved: then its host may erase the files, which fill
 * a disk that is rented to others.
 */
export const SAVED_WITHIN_DAYS = 7;

/** One lease of a volume: what a token is made of, and nothing of the token is stored. */
export interface VolumeLease {
  /** Of the volume. */
  id: string;
  /** Counts the leases of the volume from 1. */
  lease: bigint;
  /** Drawn for this lease: a database restored from a backup counts the same number again, with another one. */
  nonce: string;
}

const TOKEN = /^[0-9a-f]{64}$/;

/** 64 hexadecimal digits: what whoever holds the lease shows. `secret` is the gateway's own for this purpose. */
export function leaseToken(secret: string, { id, lease, nonce }: VolumeLease): string {
  return createHmac('sha256', secret).update(`${id}|${lease}|${nonce}`).digest('hex');
}

/** Whether a text is the token of this lease; takes as long for a wrong one as for the right one. */
export function isLeaseToken(secret: string, lease: VolumeLease, given: string): boolean {
  if (!TOKEN.test(given)) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(leaseToken(secret, lease), 'hex'));
}

/** What the gateway itself shows while it works on a repository: `nonce` is of that piece of work. */
export function upkeepToken(secret: string, id: string, nonce: string): string {
  return createHmac('sha256', secret).update(`${id}|upkeep|${nonce}`).digest('hex');
}

/** Whether a text is the token of this piece of work. */
export function isUpkeepToken(secret: string, id: string, nonce: string, given: string): boolean {
  if (!TOKEN.test(given)) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), Buffer.from(upkeepToken(secret, id, nonce), 'hex'));
}
