import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OperationTypeNode } from 'graphql';
import proxyAddr from 'proxy-addr';
import { authenticate, type Caller } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import { bearerOf } from '../domain/rules/bearer.js';
import { clientNetworkOf } from '../domain/rules/client-network.js';
import type { GatewayContext } from '../schema/context.js';
import type { KeyUses } from './key-uses.js';
import type { Ticket } from './public-answers/public-answers.js';
import type { IsTrusted } from './trust-proxy.js';

/** What the gateway learns about a request on its way; the pipeline creates it, the log line is made from it. */
export interface RequestState {
  /** X-Request-Id of the answer. */
  id: string;
  /** Template of the route, such as /v1/instances/{id}. */
  route: string;
  /** The lookup of the caller's key; null before it is asked for. */
  caller: Promise<Caller | null> | null;
  /** Null without a valid key. */
  accountId: string | null;
  /** The GraphQL operation that ran; null for REST and for requests refused before. */
  operation: RunOperation | null;
  /** Codes of what it was refused; GraphQL may refuse several fields. */
  refusals: string[];
  /** Of a request that is traced; null for any other. */
  traceId: string | null;
  /** Keeps the answer being made, if it turns out to be public; null when it must not be kept. */
  ticket: Ticket | null;
  /** Worth a line in the log only when it fails. */
  isRoutine: boolean;
  /** Its body may take longer to arrive than requests to the gateway itself. */
  isLongLived: boolean;
}

interface RunOperation {
  kind: OperationTypeNode;
  /** Null for an anonymous operation and for a name that must not be logged. */
  name: string | null;
  /** A query whose fields are all public: its answer is the same for everybody. */
  isPublicQuery: boolean;
  /** What it takes from the rate limit. */
  cost: number;
}

/** The route of a request that matches none. A path may hold anything, an API key too: it is never logged. */
const UNKNOWN_ROUTE = 'unknown';

declare module 'http' {
  interface IncomingMessage {
    state: RequestState;
  }
}

export type Identify = (request: IncomingMessage) => Promise<Caller | null>;

export function createRequestState(id: string): RequestState {
  return {
    id,
    route: UNKNOWN_ROUTE,
    caller: null,
    accountId: null,
    operation: null,
    refusals: [],
    traceId: null,
    ticket: null,
    isRoutine: false,
    isLongLived: false,
  };
}

/**
 * Finds the caller a request's key belongs to, once a request; null without a valid key. `ofSession` finds that of a request
 * which gives no Authorization at all.
 */
export function createIdentify(deps: Deps, keyUses: KeyUses, ofSession: Identify = async () => null): Identify {
  const lookUp = async (request: IncomingMessage): Promise<Caller | null> => {
    const { headers, state } = request;
    const caller = headers.authorization === undefined ? await ofSession(request) : await ofKey(headers.authorization);
    if (caller === null) return null;
    keyUses.note(caller.keyId);
    state.accountId = caller.accountId;
    return caller;
  };
  const ofKey = async (authorization: string): Promise<Caller | null> => {
    const key = bearerOf(authorization);
    return key === undefined ? null : authenticate(deps, key);
  };
  return (request) => {
    request.state.caller ??= lookUp(request);
    return request.state.caller;
  };
}

/** Makes the context of a request's resolvers. */
export type CreateContext = (caller: Caller | null, response: ServerResponse) => GatewayContext;

export function createContexts(deps: Deps, isTrusted: IsTrusted): CreateContext {
  return (caller, response) => ({
    deps,
    caller,
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
