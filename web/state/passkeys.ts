import { Refusal } from '../graph/send.js';
import { texts } from '../texts/en/passkeys.js';
import { ExplainedError } from './explain.js';
import { enter, write } from './session.js';

const SIGN_IN_PATH = '/console/session/passkey';
const CREATE_PATH = '/console/session/passkeys';

/** Matches IP addresses, which browsers don't accept as a passkey's host. */
const IP_ADDRESS = /^\[|^[\d.]+$/;

/** Whether the browser supports passkeys on this page, which requires HTTPS or localhost. */
export const supportsPasskeys =
  isSecureContext && typeof PublicKeyCredential === 'function' && !IP_ADDRESS.test(location.hostname);

interface CredentialId {
  id: string;
  type: 'public-key';
}

type CreationOptions = Omit<PublicKeyCredentialCreationOptions, 'challenge' | 'user' | 'excludeCredentials'> & {
  challenge: string;
  user: { id: string; name: string; displayName: string };
  excludeCredentials: CredentialId[];
};

/** Creates a passkey for this session's key on a device that the user chooses. */
export async function createPasskey(name: string): Promise<void> {
  const { challenge, user, excludeCredentials, ...options } = await write<CreationOptions>(
    `${CREATE_PATH}/options`,
    'POST',
    {},
  );
  const publicKey = {
    ...options,
    challenge: bytesOf(challenge),
    user: { ...user, id: bytesOf(user.id) },
    excludeCredentials: excludeCredentials.map((each) => ({ ...each, id: bytesOf(each.id) })),
  };
  const { id, response } = await chosen(navigator.credentials.create({ publicKey }), texts.notCreated);
  const { clientDataJSON, attestationObject } = response as AuthenticatorAttestationResponse;
  const credential = {
    id,
    response: { clientDataJSON: textOf(clientDataJSON), attestationObject: textOf(attestationObject) },
  };
  await write(CREATE_PATH, 'POST', { name, credential });
}

/** Creates a session with a passkey that the user chooses. */
export async function signInWithPasskey(): Promise<void> {
  const { challenge, rpId, timeout, userVerification } = await write<{
    challenge: string;
    rpId: string;
    timeout: number;
    userVerification: UserVerificationRequirement;
  }>(`${SIGN_IN_PATH}/options`, 'POST', {});
  const publicKey = { challenge: bytesOf(challenge), rpId, timeout, userVerification };
  const { id, response } = await chosen(navigator.credentials.get({ publicKey }), texts.notUsed);
  const { clientDataJSON, authenticatorData, signature, userHandle } = response as AuthenticatorAssertionResponse;
  const credential = {
    id,
    response: {
      clientDataJSON: textOf(clientDataJSON),
      authenticatorData: textOf(authenticatorData),
      signature: textOf(signature),
      userHandle: textOf(userHandle ?? new ArrayBuffer(0)),
    },
  };
  try {
    await write(SIGN_IN_PATH, 'POST', { credential });
  } catch (error) {
    // There was no session, so the message about an ended session would be wrong.
    const isRefused = error instanceof Refusal && error.code !== 'rate_limited';
    throw isRefused ? new ExplainedError(texts.notAccepted) : error;
  }
  enter();
}

/** Resolves to the credential that the user chose. Browsers don't say whether the user cancelled or has none. */
async function chosen(choice: Promise<Credential | null>, cancelled: string): Promise<PublicKeyCredential> {
  try {
    return (await choice) as PublicKeyCredential;
  } catch (error) {
    const { name } = error as DOMException;
    throw new ExplainedError(name === 'InvalidStateError' ? texts.alreadyHere : cancelled);
  }
}

function bytesOf(base64url: string): Uint8Array<ArrayBuffer> {
  const binary = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function textOf(bytes: ArrayBuffer): string {
  const binary = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
