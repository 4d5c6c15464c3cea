import { randomBytes } from 'node:crypto';

/** Of hexadecimal digits: 128 bits, as many as in a UUID. */
const LENGTH = 32;
/** Ids that are drawn at once: asking for random bytes takes longer than all else about an id. */
const DRAWN = 256;

let drawn = '';
let used = 0;

/** A name for a request, of 32 random hexadecimal digits. */
export function createRequestId(): string {
  if (used === drawn.length) {
    drawn = randomBytes((DRAWN * LENGTH) / 2).toString('hex');
    used = 0;
  }
  used += LENGTH;
  return drawn.slice(used - LENGTH, used);
}
