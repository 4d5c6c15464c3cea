import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Instant } from '../../kernel/time.js';

/** Time to answer a challenge, in seconds. */
export const CHALLENGE_SECONDS = 300n;
const NONCE_BYTES = 16;
const END_BYTES = 8;
const PAYLOAD_BYTES = NONCE_BYTES + END_BYTES;
const MAC_BYTES = 32;

/**
 * The purpose of a challenge: signing in, or adding a passkey in the session with this token hash. A response can't be
 * used for another purpose.
 */
export type ChallengePurpose = 'sign-in' | { addIn: Buffer };

/**
 * Returns a new challenge: a nonce, the second in which it expires, and their signature. It isn't stored, so requesting
 * any number of them takes no space, and every gateway that knows the secret can check it.
 */
export function newChallenge(secret: string, purpose: ChallengePurpose, now: Instant): Buffer {
  const payload = Buffer.alloc(PAYLOAD_BYTES);
  randomBytes(NONCE_BYTES).copy(payload);
  payload.writeBigInt64BE(now + CHALLENGE_SECONDS, NONCE_BYTES);
  return Buffer.concat([payload, macOf(secret, purpose, payload)]);
}

/** Whether the gateway issued this challenge for this purpose and it hasn't expired. Whether it was used isn't checked. */
export function isChallenge(secret: string, purpose: ChallengePurpose, challenge: Buffer, now: Instant): boolean {
  if (challenge.length !== PAYLOAD_BYTES + MAC_BYTES) return false;
  const payload = challenge.subarray(0, PAYLOAD_BYTES);
  const isOurs = timingSafeEqual(challenge.subarray(PAYLOAD_BYTES), macOf(secret, purpose, payload));
  return isOurs && now < payload.readBigInt64BE(NONCE_BYTES);
}

function macOf(secret: string, purpose: ChallengePurpose, payload: Buffer): Buffer {
  const text = purpose === 'sign-in' ? purpose : `add ${purpose.addIn.toString('hex')}`;
  return createHmac('sha256', secret).update(`${text}|`).update(payload).digest();
}
