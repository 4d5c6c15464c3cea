import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Number of days after an instance was destroyed in which its volumes can still be saved. Afterwards its host may erase
 * the files, because their disk space is rented to others.
 */
export const SAVED_WITHIN_DAYS = 7;

/** A lease of a volume. It has what is needed to compute the lease's token, which isn't stored. */
export interface VolumeLease {
  /** Id of the volume. */
  id: string;
  /** Number of the lease among the volume's leases, starting with 1. */
  lease: bigint;
  /** Random for each lease, because a database that was restored from a backup will use the same number again. */
  nonce: string;
}

const TOKEN = /^[0-9a-f]{64}$/;

/**
 * Returns the token for the holder of a lease, which has 64 hexadecimal digits. `secret` is the gateway's secret for
 * this purpose.
 */
export function leaseToken(secret: string, { id, lease, nonce }: VolumeLease): string {
  return createHmac('sha256', secret).update(`${id}|${lease}|${nonce}`).digest('hex');
}

/** Whether a text is the token of this lease. The comparison takes constant time. */
export function isLeaseToken(secret: string, lease: VolumeLease, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(leaseToken(secret, lease), 'hex'));
}

/**
 * Returns the token that the gateway itself uses while it does maintenance on a repository. `nonce` identifies the
 * maintenance run.
 */
export function upkeepToken(secret: string, id: string, nonce: string): string {
  return createHmac('sha256', secret).update(`${id}|upkeep|${nonce}`).digest('hex');
}

/** Whether a text is the token of this maintenance run. The comparison takes constant time. */
export function isUpkeepToken(secret: string, id: string, nonce: string, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(upkeepToken(secret, id, nonce), 'hex'));
}
