import type { IncomingMessage } from 'node:http';
import type { Caller } from '../../domain/accounts/api-keys.js';
import type { AccountsDeps } from '../../domain/accounts/deps.js';
import { authenticateSession } from '../../domain/accounts/sessions.js';
import { DomainError } from '../../domain/kernel/errors.js';
import type { KeyUses } from '../key-uses.js';
import { addressOf } from '../request-state.js';
import { createTokenBuckets } from '../token-buckets.js';
import type { IsTrusted } from '../trust-proxy.js';
import { createOwnOrigin } from './own-origin.js';
import { readSessionCookie } from './session-cookie.js';

/** Limit per account and gateway process, because a disconnected page reconnects automatically. */
const OPENINGS = { size: 60, everySeconds: 2 };

export interface TerminalAuthOptions {
  deps: Pick<AccountsDeps, 'db' | 'clock' | 'settings' | 'apiKeyCache'>;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
}

/**
 * Identifies the caller for a terminal's WebSocket. Browsers let any page open a WebSocket to any URL, with cookies. It
 * is therefore accepted only from a page on the gateway's own origin with a session, and never with a key. Fails with
 * forbidden, unauthorized or rate_limited.
 */
export function createTerminalAuth({ deps, keyUses, isTrusted }: TerminalAuthOptions) {
  const { isOwn, isSecure } = createOwnOrigin(deps.settings.publicUrl, isTrusted);
  const refusal = (seconds: number) => `too many terminals were opened; try again in ${seconds} s`;
  const openings = createTokenBuckets({ ...OPENINGS, refusal });
  return async (request: IncomingMessage): Promise<Caller> => {
    if (!isOwn(request))
      throw new DomainError('forbidden', "only pages served from the gateway's own origin may open terminals");
    const token = readSessionCookie(request, isSecure(request));
    const address = addressOf(request, isTrusted);
    const caller = token === null ? null : (await authenticateSession(deps, token, address)).caller;
    if (caller === null) throw new DomainError('unauthorized', 'sign in first');
    openings.take(caller.accountId);
    keyUses.record(caller);
    return caller;
  };
}
