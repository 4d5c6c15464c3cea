import { randomBytes } from 'node:crypto';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server';
import { z } from 'zod';
import type { Passkey } from '../../database/generated/client/client.js';
import type { KernelDeps } from '../kernel/deps.js';
import { DomainError } from '../kernel/errors.js';
import type { Field } from '../kernel/field.js';
import { gatewaySecret } from './gateway-secret.js';
import { CHALLENGE_SECONDS, type ChallengePurpose, isChallenge, newChallenge } from './rules/passkey-challenge.js';

const SECRET_NAME = 'passkey-challenges';
const SECRET_BYTES = 32;
const TIMEOUT_MS = Number(CHALLENGE_SECONDS) * 1_000;
/** ES256, EdDSA and RS256, in COSE's numbers. Every gateway must support them, regardless of its version of Node. */
const ALGORITHMS = [-7, -8, -257];
/** Maximum size of a public key, which is that of a 4,096-bit RSA key. Larger ones would slow down each sign-in. */
const MAX_PUBLIC_KEY_BYTES = 600;

type Deps = Pick<KernelDeps, 'db' | 'clock'>;

/** The page in which a passkey is used, which its browser vouches for. */
export interface PasskeySite {
  origin: string;
  /** The page's host name, to which browsers bind passkeys (the relying party's id). */
  host: string;
}

/** Returns the site of a page. Throws invalid_request if browsers don't support passkeys there. */
export function passkeySite(origin: string): PasskeySite {
  const { protocol, hostname: host } = new URL(origin);
  const isSecure = protocol === 'https:' || host === 'localhost' || host.endsWith('.localhost');
  // Browsers accept only domain names.
  if (!isSecure || host.startsWith('[') || /^[\d.]+$/.test(host))
    throw new DomainError('invalid_request', 'passkeys need a page with a host name over HTTPS, or at localhost');
  return { origin, host };
}

const base64url = (maxLength: number) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .regex(/^[\w-]+$/);
const credentialId = base64url(1_364);
const clientDataJSON = base64url(4_096);
export const newCredentialField: Field<{
  id: string;
  response: { clientDataJSON: string; attestationObject: string };
}> = {
  schema: z.object({
    id: credentialId,
    response: z.object({ clientDataJSON, attestationObject: base64url(16_384) }),
  }),
  must: 'the JSON of a new public-key credential',
  description: 'What navigator.credentials.create returned.',
};
export const assertionField = {
  schema: z.object({
    id: credentialId,
    response: z.object({
      clientDataJSON,
      authenticatorData: base64url(4_096),
      signature: base64url(2_048),
      userHandle: base64url(128),
    }),
  }),
  must: 'the JSON of a public-key credential that signed a challenge, with its user handle',
  description: 'What navigator.credentials.get returned.',
} satisfies Field<unknown>;

interface NewPasskey {
  keyId: string;
  /** The name that the browser shows when the user chooses a passkey. */
  label: string;
  /** The session's token hash. */
  session: Buffer;
  /** Passkeys of the same key, which an authenticator doesn't replace. */
  existing: readonly Pick<Passkey, 'credentialId'>[];
}

/** Returns the options with which the browser creates a passkey. */
export async function creationOptions(
  deps: Deps,
  { host }: PasskeySite,
  { keyId, label, session, existing }: NewPasskey,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const challenge = await challengeFor(deps, { addIn: session });
  const { generateRegistrationOptions } = await library();
  return generateRegistrationOptions({
    rpName: host,
    rpID: host,
    userID: new Uint8Array(userHandleOf(keyId)),
    userName: label,
    userDisplayName: label,
    challenge,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: existing.map(({ credentialId: id }) => ({ id: Buffer.from(id).toString('base64url') })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: ALGORITHMS,
  });
}

/** Returns the options with which the browser lets the user choose a passkey. */
export async function signInOptions(deps: Deps, { host }: PasskeySite): Promise<PublicKeyCredentialRequestOptionsJSON> {
  const challenge = await challengeFor(deps, 'sign-in');
  const { generateAuthenticationOptions } = await library();
  return generateAuthenticationOptions({ rpID: host, challenge, timeout: TIMEOUT_MS, userVerification: 'required' });
}

/** Returns the new credential and the challenge that it responds to, or null if it isn't valid. */
export async function verifyRegistration(
  deps: Deps,
  session: Buffer,
  site: PasskeySite,
  { id, response }: z.infer<typeof newCredentialField.schema>,
) {
  const { passes, passed } = await challengeCheck(deps, { addIn: session });
  const { verifyRegistrationResponse } = await library();
  return orNull(async () => {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...publicKey(id),
        response: { ...response, attestationObject: await withoutStatement(response.attestationObject) },
      },
      expectedChallenge: passes,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified || registrationInfo.credential.id !== id) return null;
    const { credential } = registrationInfo;
    return credential.publicKey.length > MAX_PUBLIC_KEY_BYTES ? null : { credential, challenge: passed() };
  });
}

/**
 * Removes the authenticator's statement about its make, which the service doesn't need. Checking one would fetch URLs
 * that its certificates name.
 */
async function withoutStatement(attestationObject: string): Promise<string> {
  const { decodeAttestationObject, isoCBOR } = await import('@simplewebauthn/server/helpers');
  const authData = decodeAttestationObject(new Uint8Array(Buffer.from(attestationObject, 'base64url'))).get('authData');
  const plain = new Map<string, string | Uint8Array | Map<string, string>>([
    ['fmt', 'none'],
    ['attStmt', new Map<string, string>()],
    ['authData', authData],
  ]);
  return Buffer.from(isoCBOR.encode(plain)).toString('base64url');
}

/** Returns the challenge that a passkey signed, and its count of signatures. Returns null if the signature isn't valid. */
export async function verifyAssertion(
  deps: Deps,
  site: PasskeySite,
  passkey: Passkey,
  { id, response }: z.infer<typeof assertionField.schema>,
) {
  if (!Buffer.from(response.userHandle, 'base64url').equals(userHandleOf(passkey.keyId))) return null;
  const { passes, passed } = await challengeCheck(deps, 'sign-in');
  const { verifyAuthenticationResponse } = await library();
  return orNull(async () => {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: { ...publicKey(id), response },
      expectedChallenge: passes,
      expectedOrigin: site.origin,
      expectedRPID: site.host,
      requireUserVerification: true,
      // The count is compared under a lock later.
      credential: { id, publicKey: new Uint8Array(passkey.publicKey), counter: 0 },
    });
    return verified ? { challenge: passed(), count: BigInt(authenticationInfo.newCounter) } : null;
  });
}

/** Resolves to null if the work throws, because the library throws for any kind of invalid response. */
async function orNull<T>(work: () => Promise<T | null>): Promise<T | null> {
  try {
    return await work();
  } catch {
    return null;
  }
}

function publicKey(id: string) {
  return { id, rawId: id, type: 'public-key' as const, clientExtensionResults: {} };
}

/**
 * Returns the handle under which authenticators keep a key's passkeys. They keep one per handle and host, so a browser
 * can have passkeys of several keys.
 */
function userHandleOf(keyId: string): Buffer {
  return Buffer.from(keyId);
}

/** Loads the library on first use, because it would slow down every start of the gateway. */
function library() {
  return import('@simplewebauthn/server');
}

async function challengeFor(deps: Deps, purpose: ChallengePurpose): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(newChallenge(await secretOf(deps), purpose, deps.clock.now()));
}

function secretOf(deps: Deps): Promise<string> {
  return gatewaySecret(deps, SECRET_NAME, () => randomBytes(SECRET_BYTES).toString('hex'));
}

/** Returns a check for the challenge in a response, and the challenge that passed it. */
async function challengeCheck(deps: Deps, purpose: ChallengePurpose) {
  const secret = await secretOf(deps);
  let challenge = Buffer.alloc(0);
  // The library passes on any member of the response. For an object, Buffer.from would allocate its `length`.
  const passes = (text: unknown): boolean => {
    if (typeof text !== 'string') return false;
    challenge = Buffer.from(text, 'base64url');
    return isChallenge(secret, purpose, challenge, deps.clock.now());
  };
  return { passes, passed: () => challenge };
}
