import { DomainError } from './errors.js';
import { areWithin } from './networks.js';
import type { Scope, Scopes } from './scopes.js';
import type { Instant } from './time.js';

/** What bounds a key; null: nothing does. */
export interface KeyPower {
  scopes: Scopes;
  /** The first second at which it is refused. */
  expiresAt: Instant | null;
  /** Where it may be used from. */
  networks: readonly string[] | null;
}

/** Everything, from everywhere, for ever: the keys that have no bounds. */
export const FULL_POWER: KeyPower = { scopes: null, expiresAt: null, networks: null };

/** Why a key that is known is not accepted. */
export type KeyFault = 'expired' | 'network';

/** Null where the key may be used at this second from this address. `isInside`: whether its networks hold the address. */
export function keyFaultOf(
  { expiresAt, networks }: KeyPower,
  now: Instant,
  isInside: (networks: readonly string[]) => boolean,
): KeyFault | null {
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return networks === null || isInside(networks) ? null : 'network';
}

/**
 * What a key gets that another one creates: what is left out is as the creator's, and nothing may reach beyond it.
 * Refuses with forbidden.
 */
export function powerOfNewKey(creator: KeyPower, wanted: Partial<KeyPower>): KeyPower {
  const { scopes = null, expiresAt = null, networks = null } = wanted;
  if (scopes !== null && creator.scopes !== null) checkScopes(scopes, creator.scopes);
  if (expiresAt !== null && creator.expiresAt !== null && expiresAt > creator.expiresAt)
    throw beyond('expiresAt', 'it would be accepted longer than the key that creates it');
  if (networks !== null && creator.networks !== null && !areWithin(networks, creator.networks))
    throw beyond('networks', 'it could be used from networks that the key that creates it is refused from');
  return {
    scopes: scopes ?? creator.scopes,
    expiresAt: expiresAt ?? creator.expiresAt,
    networks: networks ?? creator.networks,
  };
}

function checkScopes(wanted: readonly Scope[], has: readonly Scope[]): void {
  const missing = wanted.find((scope) => !has.includes(scope));
  if (missing !== undefined)
    throw beyond('scopes', `the key that creates it lacks the scope ${missing} itself`, missing);
}

function beyond(field: string, why: string, scope?: Scope): DomainError {
  return new DomainError('forbidden', `${field} must not reach beyond the key that asks: ${why}`, {
    field,
    ...(scope && { scope }),
  });
}
