import { type Caller, unauthorized } from '../domain/accounts/api-keys.js';
import type { KeyFault } from '../domain/accounts/rules/key-restrictions.js';
import type { ActivityDeps } from '../domain/activity/deps.js';
import type { InventoryDeps } from '../domain/inventory/deps.js';
import type { ModelDeps } from '../domain/models/deps.js';
import type { ProofDeps } from '../domain/proof/deps.js';
import type { SampleDeps } from '../domain/samples/deps.js';
import type { TopUpDeps } from '../domain/top-ups/deps.js';
import type { UpdateDeps } from '../domain/updates/deps.js';
import type { Visitor } from '../domain/updates/subscriptions.js';
import type { VolumeDeps } from '../domain/volumes/deps.js';
import type { WebPortDeps } from '../domain/web-ports/deps.js';
import type { WebhookDeps } from '../domain/webhooks/deps.js';

/** Dependencies of the use cases that resolvers call. */
export type ResolverDeps = ActivityDeps &
  InventoryDeps &
  ModelDeps &
  ProofDeps &
  SampleDeps &
  TopUpDeps &
  UpdateDeps &
  VolumeDeps &
  WebhookDeps &
  WebPortDeps;

/** The context for a request's resolvers. The HTTP layer creates it for both GraphQL and REST. */
export interface GatewayContext {
  deps: ResolverDeps;
  /** The caller. Null without a valid key. */
  caller: Caller | null;
  /** Why a known key is rejected. Null if there is no caller for any other reason. */
  keyFault: KeyFault | null;
  /** Returns the anonymous client that sent a request without a key. */
  visitor(): Visitor;
  /** Called if the response was stored by an earlier request with the same idempotency key. */
  onReplayed(): void;
  /** Returns a signal that is aborted once the client has disconnected or the response has been sent. */
  untilGone(): AbortSignal;
}

/** Returns the account that the request's key belongs to. Throws unauthorized if there is no valid key. */
export function accountOf(context: GatewayContext): string {
  return callerOf(context).accountId;
}

/** Returns the caller identified by the request's key. Throws unauthorized if there is no valid key. */
export function callerOf({ caller, keyFault }: GatewayContext): Caller {
  if (caller === null) throw unauthorized(keyFault);
  return caller;
}
