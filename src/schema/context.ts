import { type Caller, unauthorized } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import type { KeyFault } from '../domain/rules/key-power.js';
import type { Visitor } from '../domain/updates/subscriptions.js';

/** The context of one request's resolvers. The HTTP layer creates it, for GraphQL and REST alike. */
export interface GatewayContext {
  deps: Deps;
  /** Null without a valid key. */
  caller: Caller | null;
  /** Why a known key is not accepted; null for any other reason to have no caller. */
  keyFault: KeyFault | null;
  /** Whoever asks, where no key says it. */
  visitor(): Visitor;
  /** Called when the answer repeats the stored one of an earlier request with the same idempotency key. */
  onReplayed(): void;
  /** Aborted when the client has disconnected or has its answer. */
  untilGone(): AbortSignal;
}

/** The account that the request's key belongs to; refuses with unauthorized. */
export function accountOf(context: GatewayContext): string {
  return callerOf(context).accountId;
}

/** The caller that the request's key identifies; refuses with unauthorized. */
export function callerOf({ caller, keyFault }: GatewayContext): Caller {
  if (caller === null) throw unauthorized(keyFault);
  return caller;
}
