import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { AccountsDeps } from '../../domain/accounts/deps.js';
import { beginPasskeySession, createPasskey, passkeyCreationOptions } from '../../domain/accounts/passkeys.js';
import type { SessionCaller } from '../../domain/accounts/sessions.js';
import { type PasskeySite, passkeySite, signInOptions } from '../../domain/accounts/webauthn.js';
import type { ActivityDeps } from '../../domain/activity/deps.js';
import { ActivityNote } from '../../domain/kernel/activity-note.js';
import { DomainError } from '../../domain/kernel/errors.js';
import { checkScope } from '../../domain/kernel/scopes.js';
import { formatInstant, instantOf } from '../../domain/kernel/time.js';
import { required } from '../../std/required.js';
import { addressOf } from '../request-state.js';
import type { IsTrusted } from '../trust-proxy.js';
import type { PageSession } from './page-session.js';

export interface PasskeyApiOptions {
  deps: AccountsDeps & ActivityDeps;
  isTrusted: IsTrusted;
  sessionOf: PageSession;
  /** Rejects a client's sign-in, or its other passkey requests, if there are too many. */
  limitSignIns(request: IncomingMessage): void;
  limitOthers(request: IncomingMessage): void;
  /** Signs the browser in with the new session and responds. */
  startSession(token: string, request: Request, response: Response): Promise<void>;
}

const SIGN_IN = '/console/session/passkey';
const CREATE = '/console/session/passkeys';
const OPERATION = 'create a passkey';

/**
 * Returns the handlers of POST requests that create passkeys and sign in with them, by path. They belong to the console,
 * because only browsers have passkeys. The caller checks that the request comes from the gateway's own page.
 */
export function createPasskeyApi(options: PasskeyApiOptions): Record<string, RequestHandler> {
  const { deps, isTrusted, sessionOf, limitSignIns, limitOthers, startSession } = options;

  const offerSignIn: RequestHandler = async (request, response) => {
    limitOthers(request);
    response.json(await signInOptions(deps, siteOf(request)));
  };

  const signIn: RequestHandler = async (request, response) => {
    limitSignIns(request);
    const { credential } = bodyOf(request);
    const token = await beginPasskeySession(deps, siteOf(request), credential, addressOf(request, isTrusted));
    await startSession(token, request, response);
  };

  const offerCreation: RequestHandler = async (request, response) => {
    limitOthers(request);
    const caller = await sessionOf(request);
    const options = await recorded(caller, () => passkeyCreationOptions(deps, caller, siteOf(request)));
    response.json(options);
  };

  const create: RequestHandler = async (request, response) => {
    limitOthers(request);
    const caller = await sessionOf(request);
    const { name, credential } = bodyOf(request);
    const { id, createdAt } = await recorded(caller, (activity) =>
      createPasskey({ ...deps, activity }, caller, siteOf(request), { name, credential }),
    );
    response.status(201).json({ id, name, createdAt: formatInstant(instantOf(createdAt)) });
  };

  /** Checks the scope, and records a rejected creation. A successful one is recorded with its effect. */
  async function recorded<T>(caller: SessionCaller, work: (activity: ActivityNote) => Promise<T>): Promise<T> {
    const note = new ActivityNote(caller, 'createPasskey', []);
    try {
      checkScope(caller.scopes, OPERATION);
      return await work(note);
    } catch (error) {
      const code = error instanceof DomainError ? error.code : 'internal';
      deps.activityLog.note(note, deps.clock.now(), code);
      throw error;
    }
  }

  return {
    [SIGN_IN]: signIn,
    [`${SIGN_IN}/options`]: offerSignIn,
    [CREATE]: create,
    [`${CREATE}/options`]: offerCreation,
  };
}

/** Returns the page that sent a request, whose origin has already been found to be the gateway's own. */
function siteOf(request: IncomingMessage): PasskeySite {
  return passkeySite(required(request.headers.origin, 'origin of an own page'));
}

function bodyOf(request: IncomingMessage): { name?: unknown; credential?: unknown } {
  return (request.body ?? {}) as object;
}
