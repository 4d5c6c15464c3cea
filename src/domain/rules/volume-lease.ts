import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Days after its destruction in which an instance's volumes can still be saved. Afterwards its host may erase the
 * files, which take up disk space that is rented to others.
 */
export const SAVED_WITHIN_DAYS = 7;

/** A lease of a volume: the inputs of its token, which is not stored. */
export interface VolumeLease {
  /** Id of the volume. */
  id: string;
  /** Number of the lease among the volume's leases, from 1. */
  lease: bigint;
  /** Random for each lease, because a database restored from a backup assigns the same number again. */
  nonce: string;
}

const TOKEN = /^[0-9a-f]{64}$/;

/** Returns the token of a lease's holder: 64 hexadecimal digits. `secret` is the gateway's secret for this purpose. */
export function leaseToken(secret: string, { id, lease, nonce }: VolumeLease): string {
  return createHmac('sha256', secret).update(`${id}|${lease}|${nonce}`).digest('hex');
}

/** Whether a text is the token of this lease, compared in constant time. */
export function isLeaseToken(secret: string, lease: VolumeLease, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(leaseToken(secret, lease), 'hex'));
}

/** Returns the token that the gateway itself uses while it works on a repository; `nonce` identifies that work. */
export function upkeepToken(secret: string, id: string, nonce: string): string {
  return createHmac('sha256', secret).update(`${id}|upkeep|${nonce}`).digest('hex');
}

/** Whether a text is the token of this work, compared in constant time. */
export function isUpkeepToken(secret: string, id: string, nonce: string, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(upkeepToken(secret, id, nonce), 'hex'));
}
