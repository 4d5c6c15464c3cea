/** Returns 32 random hex characters. Browsers don't provide `crypto.randomUUID` to pages without TLS. */
export function newIdempotencyKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
