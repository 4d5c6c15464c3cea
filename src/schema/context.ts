import type { Caller } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import { DomainError } from '../domain/rules/errors.js';

/** What one request's resolvers know. Made by the HTTP layer for GraphQL and REST alike. */
export interface GatewayContext {
  deps: Deps;
  /** Null without a valid key. */
  caller: Caller | null;
  /** Called when an answer is the kept one of an earlier, same request. */
  onReplayed(): void;
  /** Aborted when whoever asks is gone, or has been answered. */
  untilGone(): AbortSignal;
}

/** The account that the request's key belongs to; refuses with unauthorized. */
export function accountOf(context: GatewayContext): string {
  return callerOf(context).accountId;
}

/** Whose key the request has; refuses with unauthorized. */
export function callerOf({ caller }: GatewayContext): Caller {
  if (caller === null) throw new DomainError('unauthorized', 'missing or unknown API key');
  return caller;
}
