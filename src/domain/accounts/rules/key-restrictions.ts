import { areWithin } from '../../../std/networks.js';
import { DomainError } from '../../kernel/errors.js';
import type { Scope, Scopes } from '../../kernel/scopes.js';
import type { Instant } from '../../kernel/time.js';

/** An API key's restrictions. Null means no restriction. */
export interface KeyRestrictions {
  scopes: Scopes;
  /** The first second in which the key is rejected. */
  expiresAt: Instant | null;
  /** The networks from which the key may be used. */
  networks: readonly string[] | null;
}

/** The restrictions of an unrestricted key. */
export const UNRESTRICTED: KeyRestrictions = { scopes: null, expiresAt: null, networks: null };

/** The reason for rejecting a known key. */
export type KeyFault = 'expired' | 'network';

/**
 * Returns why the key may not be used from this address in this second, or null if it may. `isInside` returns whether
 * any of the networks contains the address.
 */
export function keyFaultOf(
  { expiresAt, networks }: KeyRestrictions,
  now: Instant,
  isInside: (networks: readonly string[]) => boolean,
): KeyFault | null {
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  return networks === null || isInside(networks) ? null : 'network';
}

/**
 * Returns the restrictions of a key created by another key. Omitted restrictions are inherited from the creating key,
 * and no other restriction may be weaker than the creating key's. Throws forbidden.
 */
export function restrictionsOfNewKey(creator: KeyRestrictions, wanted: Partial<KeyRestrictions>): KeyRestrictions {
  const { scopes = null, expiresAt = null, networks = null } = wanted;
  if (scopes !== null && creator.scopes !== null) checkScopes(scopes, creator.scopes);
  if (expiresAt !== null && creator.expiresAt !== null && expiresAt > creator.expiresAt)
    throw beyond('expiresAt', 'it would be valid longer than the creating key');
  if (networks !== null && creator.networks !== null && !areWithin(networks, creator.networks))
    throw beyond('networks', 'it could be used from networks that the creating key is rejected from');
  return {
    scopes: scopes ?? creator.scopes,
    expiresAt: expiresAt ?? creator.expiresAt,
    networks: networks ?? creator.networks,
  };
}

function checkScopes(wanted: readonly Scope[], has: readonly Scope[]): void {
  const missing = wanted.find((scope) => !has.includes(scope));
  if (missing !== undefined) throw beyond('scopes', `the creating key lacks the scope ${missing}`, missing);
}

function beyond(field: string, why: string, scope?: Scope): DomainError {
  return new DomainError('forbidden', `${field} must not exceed the creating key's own: ${why}`, {
    field,
    ...(scope && { scope }),
  });
}
