import { effect, signal } from '@preact/signals';
import { bodyOf, fetchAnswer, Refusal } from '../graph/send.js';
import { texts } from '../texts/en/errors.js';

/** Whether the browser has a session cookie that is accepted. The page can't read the cookie and stores no key. */
export type Session = 'unknown' | 'out' | 'in';

export const session = signal<Session>('unknown');
/** Why the page's session ended. The reason is shown once. */
export const endedBecause = signal<string | null>(null);
/** Whether a new account can be created here. */
export const signupOpen = signal(false);
/** URL at which renters ask the operator for credit, with the scheme mailto or https. Null if none is set. */
export const operatorContact = signal<string | null>(null);
/** Whether the service offers SSH to instances. */
export const hasSsh = signal(true);

/**
 * Storage key that only records that there was a session, so that the page's frame can be shown before the service has
 * responded.
 */
const HINT = 'signed-in';

export function isExpectedIn(): boolean {
  try {
    return localStorage.getItem(HINT) !== null;
  } catch {
    // The browser may not allow storage.
    return false;
  }
}

effect(() => {
  try {
    if (session.value === 'in') localStorage.setItem(HINT, '1');
    else if (session.value === 'out') localStorage.removeItem(HINT);
  } catch {
    // The browser may not allow storage.
  }
});

const SESSION_PATH = '/console/session';
const ACCOUNT_PATH = '/console/account';

interface ErrorBody {
  error?: { code: string; message: string };
}

/** Looks up the session. Throws Unreachable if the service can't be reached. */
export async function lookUpSession(): Promise<void> {
  const response = await fetchAnswer(SESSION_PATH, { method: 'GET' });
  const body = await bodyOf<{ signedIn?: boolean; signup?: string; contact?: string | null; ssh?: boolean }>(response);
  signupOpen.value = body.signup === 'open';
  const { contact = null } = body;
  operatorContact.value = contact !== null && /^(mailto|https):/.test(contact) ? contact : null;
  hasSsh.value = body.ssh !== false;
  session.value = response.ok && body.signedIn !== false ? 'in' : 'out';
}

/** Creates a session with a key. Throws a Refusal if the key isn't accepted. */
export async function signIn(key: string): Promise<void> {
  await write(SESSION_PATH, 'POST', { key });
  enter();
}

/** Shows the signed-in page, once there is a session. */
export function enter(): void {
  endedBecause.value = null;
  session.value = 'in';
}

export async function signOut(): Promise<void> {
  await write(SESSION_PATH, 'DELETE');
  endedBecause.value = null;
  session.value = 'out';
}

/** Creates an account. Resolves to its key, which is shown only once. */
export async function createAccount(): Promise<string> {
  const { key } = await write<{ key: string }>(ACCOUNT_PATH, 'POST', {});
  return key;
}

/**
 * Ends the page's session once the service no longer accepts it, because its key was revoked, the account was
 * suspended, or twelve hours have passed.
 */
export function sessionIsOver(): void {
  if (session.value !== 'in') return;
  endedBecause.value = texts.sessionOver;
  session.value = 'out';
}

/** Sends a write to the session's routes. Throws a Refusal if it is refused. */
export async function write<Body>(path: string, method: string, body?: object): Promise<Body> {
  const response = await fetchAnswer(path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as Body;
  const answer = await bodyOf<Body & ErrorBody>(response);
  if (response.ok) return answer;
  const { code = 'internal', message = 'refused' } = answer.error ?? {};
  const seconds = response.headers.get('retry-after');
  throw new Refusal(code, message, seconds === null ? null : Number(seconds));
}
