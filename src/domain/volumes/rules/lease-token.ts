import { createHmac, timingSafeEqual } from 'node:crypto';

/** A volume lease, with the data needed to compute the lease's token, which isn't stored. */
export interface VolumeLease {
  /** Id of the volume. */
  id: string;
  /** The lease's number among the volume's leases, starting at 1. */
  lease: bigint;
  /** Random for each lease, because a database restored from a backup will use the same number again. */
  nonce: string;
}

const TOKEN = /^[0-9a-f]{64}$/;

/**
 * Returns the token for the holder of a lease, made up of 64 hexadecimal digits. `secret` is the gateway's secret for
 * this purpose.
 */
export function leaseToken(secret: string, { id, lease, nonce }: VolumeLease): string {
  return createHmac('sha256', secret).update(`${id}|${lease}|${nonce}`).digest('hex');
}

/** Whether the text is this lease's token. The comparison takes constant time. */
export function isLeaseToken(secret: string, lease: VolumeLease, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(leaseToken(secret, lease), 'hex'));
}

/**
 * Returns the token that the gateway itself uses during maintenance on a repository. `nonce` identifies the maintenance
 * run.
 */
export function upkeepToken(secret: string, id: string, nonce: string): string {
  return createHmac('sha256', secret).update(`${id}|upkeep|${nonce}`).digest('hex');
}

/** Whether the text is this maintenance run's token. The comparison takes constant time. */
export function isUpkeepToken(secret: string, id: string, nonce: string, token: string): boolean {
  if (!TOKEN.test(token)) return false;
  return timingSafeEqual(Buffer.from(token, 'hex'), Buffer.from(upkeepToken(secret, id, nonce), 'hex'));
}
