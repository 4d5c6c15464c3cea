import { randomBytes } from 'node:crypto';

/** Length of an id in hexadecimal digits. It contains 128 random bits, like a UUID. */
const LENGTH = 32;
/** Number of ids generated at once, because requesting random bytes costs more than the rest of an id. */
const BATCH = 256;

/** Generates request ids of 32 random hexadecimal digits. */
export type RequestIds = () => string;

export function createRequestIds(): RequestIds {
  let digits = '';
  let used = 0;
  return () => {
    if (used === digits.length) {
      digits = randomBytes((BATCH * LENGTH) / 2).toString('hex');
      used = 0;
    }
    used += LENGTH;
    return digits.slice(used - LENGTH, used);
  };
}
