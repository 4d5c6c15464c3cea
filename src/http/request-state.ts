import type { Request, Response } from 'express';
import { authenticate, type Caller } from '../domain/api-keys.js';
import type { Deps } from '../domain/deps.js';
import type { GatewayContext } from '../schema/context.js';
import type { KeyUses } from './key-uses.js';

const BEARER = /^Bearer +([^\s]+) *$/i;

/** The caller that a request's key belongs to, looked up once a request; null without a valid key. */
export function createIdentify(
  deps: Deps,
  keyUses: KeyUses,
): (request: Request, response: Response) => Promise<Caller | null> {
  return (request, response) => {
    response.locals.caller ??= lookUp(request);
    return response.locals.caller as Promise<Caller | null>;
  };

  async function lookUp(request: Request): Promise<Caller | null> {
    const key = BEARER.exec(request.headers.authorization ?? '')?.[1];
    const caller = key === undefined ? null : await authenticate(deps, key);
    if (caller !== null) keyUses.note(caller.keyId);
    return caller;
  }
}

export function resolverContext(deps: Deps, caller: Caller | null, response: Response): GatewayContext {
  return { deps, caller, onReplayed: () => response.setHeader('Idempotent-Replayed', 'true') };
}
