import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import proxyAddr from 'proxy-addr';
import { accountState } from '../../domain/accounts/accounts.js';
import { findApiKey, NO_CALLER } from '../../domain/accounts/api-keys.js';
import type { AccountsDeps } from '../../domain/accounts/deps.js';
import { passkeyOf } from '../../domain/accounts/passkeys.js';
import { authenticateSession, beginSession, endSession, SESSION_SECONDS } from '../../domain/accounts/sessions.js';
import { signUp } from '../../domain/accounts/sign-up.js';
import type { ActivityDeps } from '../../domain/activity/deps.js';
import { clientNetworkOf } from '../../domain/kernel/client-network.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { formatInstant } from '../../domain/kernel/time.js';
import type { KeyUses } from '../key-uses.js';
import { createJsonReader } from '../read-json.js';
import { addressOf, type IdentifySession } from '../request-state.js';
import { named, refuseOtherMethods } from '../routing.js';
import { createTokenBuckets, type TokenBuckets } from '../token-buckets.js';
import type { IsTrusted } from '../trust-proxy.js';
import { createOwnOrigin, isCrossSite } from './own-origin.js';
import { createPageSession } from './page-session.js';
import { createPasskeyApi } from './passkey-api.js';
import { readSessionCookie, sessionCookie } from './session-cookie.js';

export interface ConsoleOptions {
  deps: AccountsDeps & ActivityDeps;
  keyUses: KeyUses;
  isTrusted: IsTrusted;
  signup: 'open' | 'closed';
}

/** Signs browsers in and identifies the callers of their requests to /graphql. */
export interface ConsoleApi {
  router: Router;
  /**
   * Returns the caller that the session cookie identifies, or nothing if the cookie is missing or the request doesn't
   * come from a page of this origin.
   */
  identify: IdentifySession;
}

const SESSION_PATH = '/console/session';
const ACCOUNT_PATH = '/console/account';

/** Sign-in limits per client address. They only limit the load, because a key can't be guessed. */
const SIGN_INS = { size: 20, everySeconds: 3 };
const SIGN_UPS = { size: 3, everySeconds: 3_600 };

export function createConsoleApi({ deps, keyUses, isTrusted, signup }: ConsoleOptions): ConsoleApi {
  const { isOwn, isSecure } = createOwnOrigin(deps.settings.publicUrl, isTrusted);
  const signIns = attemptsOf('sign-in attempts', SIGN_INS);
  const passkeyRequests = attemptsOf('passkey requests', SIGN_INS);
  const signUps = attemptsOf('new accounts', SIGN_UPS);
  // The page reads them before anyone signs in.
  const service = { signup, contact: deps.settings.operatorContact, ssh: deps.settings.ssh !== null };
  const tokenOf = (request: IncomingMessage) => readSessionCookie(request, isSecure(request));
  const senderOf = (request: IncomingMessage): string => clientNetworkOf(proxyAddr(request, isTrusted));

  const fromOwnPage: RequestHandler = (request, _response, next) => {
    if (!isOwn(request))
      throw new DomainError(
        'unauthorized',
        "only pages served from the gateway's own origin may send this request; see Origin",
      );
    next();
  };

  const show: RequestHandler = async (request, response) => {
    const token = isCrossSite(request) ? null : tokenOf(request);
    const { caller } =
      token === null ? NO_CALLER : await authenticateSession(deps, token, addressOf(request, isTrusted));
    if (caller === null) return send(response, 200, { signedIn: false, ...service });
    const { accountId, keyId, expiresAt } = caller;
    const [account, key, passkey] = await Promise.all([
      accountState(deps, accountId),
      findApiKey(deps, accountId, keyId),
      passkeyOf(deps, caller),
    ]);
    send(response, 200, {
      signedIn: true,
      ...service,
      account: { id: accountId, name: account.name },
      key: { id: keyId, name: key!.name, prefix: key!.prefix, lastFour: key!.lastFour },
      passkey: passkey && { id: passkey.id, name: passkey.name },
      expiresAt: formatInstant(expiresAt),
    });
  };

  const begin: RequestHandler = async (request, response) => {
    signIns.take(senderOf(request));
    const { key } = (request.body ?? {}) as { key?: unknown };
    if (typeof key !== 'string') throw new DomainError('invalid_request', 'key must be an API key', { field: 'key' });
    await startSession(await beginSession(deps, key.trim(), addressOf(request, isTrusted)), request, response);
  };

  async function startSession(token: string, request: Request, response: Response): Promise<void> {
    await endOwn(request);
    const { caller } = await authenticateSession(deps, token, addressOf(request, isTrusted));
    const { accountId, expiresAt } = caller ?? {};
    request.state.accountId = accountId ?? null;
    response.setHeader('Set-Cookie', sessionCookie(token, SESSION_SECONDS, isSecure(request)));
    send(response, 201, { signedIn: true, signup, ...(expiresAt && { expiresAt: formatInstant(expiresAt) }) });
  }

  const end: RequestHandler = async (request, response) => {
    await endOwn(request);
    response.setHeader('Set-Cookie', sessionCookie('', 0n, isSecure(request)));
    response.status(204).end();
  };

  /** Ends the browser's previous session, so that signing in again leaves none behind. */
  async function endOwn(request: IncomingMessage): Promise<void> {
    const token = tokenOf(request);
    if (token !== null) await endSession(deps, token);
  }

  const create: RequestHandler = async (request, response) => {
    if (signup === 'closed') throw new DomainError('no_route', `no such endpoint: POST ${ACCOUNT_PATH}`);
    signUps.take(senderOf(request));
    const { accountId, keyId, key } = await signUp(deps);
    request.state.accountId = accountId;
    send(response, 201, { account: { id: accountId }, keyId, key });
  };

  const passkeys = createPasskeyApi({
    deps,
    isTrusted,
    sessionOf: createPageSession({ deps, keyUses, isTrusted }),
    limitSignIns: (request) => signIns.take(senderOf(request)),
    limitOthers: (request) => passkeyRequests.take(senderOf(request)),
    startSession,
  });
  const router = express.Router({ strict: true, caseSensitive: true });
  const readJson = createJsonReader();
  for (const path of [SESSION_PATH, ACCOUNT_PATH, ...Object.keys(passkeys)]) router.all(path, named(path), unkept);
  router.get(SESSION_PATH, show);
  router.post(SESSION_PATH, fromOwnPage, readJson, begin);
  router.delete(SESSION_PATH, fromOwnPage, end);
  router.all(SESSION_PATH, refuseOtherMethods('GET, HEAD, POST, DELETE, OPTIONS'));
  router.post(ACCOUNT_PATH, fromOwnPage, create);
  for (const [path, handler] of Object.entries(passkeys)) router.post(path, fromOwnPage, readJson, handler);
  for (const path of [ACCOUNT_PATH, ...Object.keys(passkeys)]) router.all(path, refuseOtherMethods('POST, OPTIONS'));

  return {
    router,
    identify: async (request, address) => {
      // Browsers send an Origin header with every POST. If it is missing or names another origin, the request may be
      // forged.
      if (request.method !== 'POST' || request.headers.cookie === undefined || !isOwn(request)) return NO_CALLER;
      const token = tokenOf(request);
      return token === null ? NO_CALLER : authenticateSession(deps, token, address);
    },
  };
}

function attemptsOf(what: string, bounds: { size: number; everySeconds: number }): TokenBuckets {
  const refusal = (seconds: number) => `too many ${what} from this address; try again in ${seconds} s`;
  return createTokenBuckets({ ...bounds, refusal });
}

const unkept: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store');
  next();
};

function send(response: Response | ServerResponse, status: number, body: object): void {
  (response as Response).status(status).json(body);
}
