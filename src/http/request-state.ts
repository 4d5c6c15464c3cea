import type { IncomingMessage, ServerResponse } from 'node:http';
import { authenticate, type Caller } from '../domain/accounts/api-keys.js';
import type { Deps } from '../domain/deps.js';
import type { GatewayContext } from '../schema/context.js';
import type { KeyUses } from './key-uses.js';

const BEARER = /^Bearer +([^\s]+) *$/i;

/** The caller that a request's key belongs to, looked up once a request; null without a valid key. */
export function createIdentify(deps: Deps, keyUses: KeyUses): (request: IncomingMessage) => Promise<Caller | null> {
  const callers = new WeakMap<IncomingMessage, Promise<Caller | null>>();
  return (request) => {
    const known = callers.get(request);
    if (known !== undefined) return known;
    const caller = lookUp(request);
    callers.set(request, caller);
    return caller;
  };

  async function lookUp(request: IncomingMessage): Promise<Caller | null> {
    const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const caller = key === undefined ? null : await authenticate(deps, key);
    if (caller !== null) keyUses.note(caller.keyId);
    return caller;
  }
}

export function resolverContext(deps: Deps, caller: Caller | null, response: ServerResponse): GatewayContext {
  return {
    deps,
    caller,
    onReplayed: () => response.setHeader('Idempotent-Replayed', 'true'),
    untilGone: () => signalOf(response),
  };
}

function signalOf(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  if (response.destroyed) gone.abort();
  return gone.signal;
}
