import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OperationTypeNode } from 'graphql';
import proxyAddr from 'proxy-addr';
import { authenticate, type Caller, type Identified, NO_CALLER } from '../domain/accounts/api-keys.js';
import type { AccountsDeps } from '../domain/accounts/deps.js';
import type { KeyFault } from '../domain/accounts/rules/key-restrictions.js';
import { bearerOf } from '../domain/kernel/bearer.js';
import { clientNetworkOf } from '../domain/kernel/client-network.js';
import type { GatewayContext, ResolverDeps } from '../schema/context.js';
import type { KeyUses } from './key-uses.js';
import type { Ticket } from './public-answers/public-answers.js';
import type { IsTrusted } from './trust-proxy.js';

/**
 * The state that the gateway keeps for a request. It is created by the pipeline, and the log line is derived from it.
 */
export interface RequestState {
  /** The response's X-Request-Id. */
  id: string;
  /** The route's template, such as /v1/instances/{id}. */
  route: string;
  /** Pending or completed lookup of the caller's key, or null until one is requested. */
  caller: Promise<Caller | null> | null;
  /** Why the request's key isn't accepted although it is known. */
  keyFault: KeyFault | null;
  /** The caller's account, or null without a valid key. */
  accountId: string | null;
  /** The GraphQL operation that ran. Null for REST, and for requests that were rejected before running one. */
  operation: RunOperation | null;
  /** Error codes in the response. GraphQL may reject several fields. */
  refusals: string[];
  /** Trace id, or null if the request is not traced. */
  traceId: string | null;
  /** Ticket to cache the response if it turns out to be public, or null if it must not be cached. */
  ticket: Ticket | null;
  /** Whether the request is only logged if it fails. */
  isRoutine: boolean;
  /** Whether the body may take longer to arrive than usual, because the request isn't only for the gateway itself. */
  isLongLived: boolean;
}

interface RunOperation {
  kind: OperationTypeNode;
  /** Name of the operation, or null if it is anonymous or its name must not be logged. */
  name: string | null;
  /** Whether all fields of the query are public, so that every caller gets the same response. */
  isPublicQuery: boolean;
  /** Number of requests to take from the rate limit. */
  cost: number;
}

/**
 * The route for requests that match no other. The path is never logged, because it may contain anything, even an API
 * key.
 */
const UNKNOWN_ROUTE = 'unknown';

declare module 'http' {
  interface IncomingMessage {
    state: RequestState;
  }
}

/** Returns the operation that a GraphQL request runs. Requires that it was already recorded. */
export function operationOf({ state: { operation } }: IncomingMessage): RunOperation {
  if (operation === null) throw new Error("the request's operation was not recorded");
  return operation;
}

export type Identify = (request: IncomingMessage) => Promise<Caller | null>;

export function createRequestState(id: string): RequestState {
  return {
    id,
    route: UNKNOWN_ROUTE,
    caller: null,
    keyFault: null,
    accountId: null,
    operation: null,
    refusals: [],
    traceId: null,
    ticket: null,
    isRoutine: false,
    isLongLived: false,
  };
}

/** Finds the caller identified by a request's session cookie. */
export type IdentifySession = (request: IncomingMessage, address: string) => Promise<Identified>;

export interface IdentifyOptions {
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
  /** Called for a request without an Authorization header. */
  ofSession?: IdentifySession;
}

/**
 * Returns a function that finds the caller by a request's key, which it looks up only once per request. The caller is
 * null if the key is missing or isn't accepted.
 */
export function createIdentify({ deps, keyUses, isTrusted, ofSession }: IdentifyOptions): Identify {
  const lookUp = async (request: IncomingMessage): Promise<Caller | null> => {
    const { headers, state } = request;
    const { authorization } = headers;
    const find = authorization === undefined ? ofSession : ofKey(authorization);
    if (find === undefined) return null;
    const { caller, fault } = await find(request, addressOf(request, isTrusted));
    state.keyFault = fault;
    if (caller === null) return null;
    keyUses.record(caller);
    state.accountId = caller.accountId;
    return caller;
  };
  const ofKey =
    (authorization: string): IdentifySession =>
    async (_request, address) => {
      const key = bearerOf(authorization);
      return key === undefined ? NO_CALLER : authenticate(deps, key, address);
    };
  return (request) => {
    request.state.caller ??= lookUp(request);
    return request.state.caller;
  };
}

/**
 * Returns a request's client address as reported by trusted proxies, or an empty string if the connection was already
 * lost.
 */
export function addressOf(request: IncomingMessage, isTrusted: IsTrusted): string {
  // By default, no proxy is trusted. Most requests have no forwarded address.
  if (request.headers['x-forwarded-for'] === undefined) return request.socket.remoteAddress ?? '';
  return proxyAddr(request, isTrusted) ?? '';
}

/** Creates the context for a request's resolvers. */
export type CreateContext = (caller: Caller | null, response: ServerResponse) => GatewayContext;

export function createContexts(deps: ResolverDeps, isTrusted: IsTrusted): CreateContext {
  return (caller, response) => ({
    deps,
    caller,
    keyFault: response.req.state.keyFault,
    visitor: () => ({ address: clientNetworkOf(proxyAddr(response.req, isTrusted)) }),
    onReplayed: () => response.setHeader('Idempotent-Replayed', 'true'),
    untilGone: () => closeSignal(response),
  });
}

function closeSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  if (response.destroyed) closed.abort();
  return closed.signal;
}
