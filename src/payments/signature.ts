import { createHmac, timingSafeEqual } from 'node:crypto';

const HEX_SHA256 = /^[0-9a-f]{64}$/i;

/** Whether `hex` is the HMAC-SHA256 of these parts, compared in constant time. */
export function isSignedBy(secret: string, parts: readonly (string | Buffer)[], hex: string): boolean {
  if (!HEX_SHA256.test(hex)) return false;
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return timingSafeEqual(hmac.digest(), Buffer.from(hex, 'hex'));
}
