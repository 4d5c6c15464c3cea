import { randomBytes } from 'node:crypto';

/** Hexadecimal digits of an id: 128 random bits, as in a UUID. */
const LENGTH = 32;
/** Ids generated in one call: a call for random bytes costs more than the rest of an id. */
const BATCH = 256;

/** Gives each request an id of 32 random hexadecimal digits. */
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
