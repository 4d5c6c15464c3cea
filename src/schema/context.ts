import { type Caller, unauthorized } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import type { KeyFault } from '../domain/rules/key-restrictions.js';
import type { Visitor } from '../domain/updates/subscriptions.js';

/** Context of one request's resolvers. The HTTP layer creates it for both GraphQL and REST. */
export interface GatewayContext {
  deps: Deps;
  /** The caller; null without a valid key. */
  caller: Caller | null;
  /** Reason why a known key is refused; null if there is no caller for another reason. */
  keyFault: KeyFault | null;
  /** Returns the anonymous client, for requests without a key. */
  visitor(): Visitor;
  /** Called if the response repeats the stored one of an earlier request with the same idempotency key. */
  onReplayed(): void;
  /** Returns a signal that aborts when the client has disconnected or the response is sent. */
  untilGone(): AbortSignal;
}

/** Returns the account of the request's key. Throws unauthorized without a valid key. */
export function accountOf(context: GatewayContext): string {
  return callerOf(context).accountId;
}

/** Returns the caller that the request's key identifies. Throws unauthorized without a valid key. */
export function callerOf({ caller, keyFault }: GatewayContext): Caller {
  if (caller === null) throw unauthorized(keyFault);
  return caller;
}
