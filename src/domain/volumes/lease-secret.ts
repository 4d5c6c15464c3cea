import { randomBytes } from 'node:crypto';
import { gatewaySecret } from '../accounts/gateway-secret.js';
import type { KernelDeps } from '../kernel/deps.js';

const SECRET_BYTES = 32;
/** The secret's name among the gateway secrets. */
export const LEASE_SECRET = 'volume-leases';

/** Returns the secret from which lease tokens are derived (see rules/lease-token.ts). */
export function leaseSecret(deps: Pick<KernelDeps, 'db' | 'clock'>): Promise<string> {
  return gatewaySecret(deps, LEASE_SECRET, () => randomBytes(SECRET_BYTES).toString('hex'));
}
