import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../../domain/accounts/api-keys.js';
import type { AccountsDeps } from '../../domain/accounts/deps.js';
import { authenticateSession, type SessionCaller } from '../../domain/accounts/sessions.js';
import { DomainError } from '../../domain/kernel/errors.js';
import type { KeyUses } from '../key-uses.js';
import { addressOf } from '../request-state.js';
import type { IsTrusted } from '../trust-proxy.js';
import { createOwnOrigin, isCrossSite } from './own-origin.js';
import { readSessionCookie } from './session-cookie.js';

export interface PageSessionOptions {
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
}

/** Returns the caller identified by a console request's session cookie. Rejects any other request with unauthorized. */
export type PageSession = (request: IncomingMessage) => Promise<SessionCaller>;

/**
 * Checks sessions for routes outside GraphQL. Reads must not come from another site, and writes must name the gateway's
 * own origin.
 */
export function createPageSession({ deps, keyUses, isTrusted }: PageSessionOptions): PageSession {
  const { isOwn, isSecure } = createOwnOrigin(deps.settings.publicUrl, isTrusted);
  return async (request) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead ? isCrossSite(request) : !isOwn(request))
      throw new DomainError(
        'unauthorized',
        "only pages served from the gateway's own origin may send this request; see Origin",
      );
    const token = readSessionCookie(request, isSecure(request));
    if (token === null) throw unauthorized(null);
    const { caller, fault } = await authenticateSession(deps, token, addressOf(request, isTrusted));
    if (caller === null) throw unauthorized(fault);
    keyUses.record(caller);
    request.state.accountId = caller.accountId;
    return caller;
  };
}
