import type { IncomingMessage } from 'node:http';

/** Of these Node keeps the first and drops the rest, a proxy may do otherwise: who was meant would be anyone's guess. */
const GIVEN_ONCE = ['authorization', 'content-type', 'host'];
const LENGTHS = new Set(GIVEN_ONCE.map((name) => name.length));

/** Why a head is refused that Node's parser lets pass but that says nothing certain; null when it is sound. */
export function headFault(request: IncomingMessage): string | null {
  return repeated(request.rawHeaders) ?? addressFault(request);
}

/** Names and values of the headers stand in turn. */
function repeated(rawHeaders: readonly string[]): string | null {
  const seen: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index]!;
    if (!LENGTHS.has(given.length)) continue;
    const name = given.toLowerCase();
    if (!GIVEN_ONCE.includes(name)) continue;
    if (seen.includes(name)) return `the header ${name} may be given once`;
    seen.push(name);
  }
  return null;
}

/** The address is made into a URL further on. */
function addressFault({ headers: { host }, httpVersion }: IncomingMessage): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'the header host is required' : null;
  // Mostly the one that was asked for last.
  if (host === lastSound) return null;
  if (!URL.canParse(`http://${host}/`)) return 'the header host names no host';
  lastSound = host;
  return null;
}

let lastSound: string | undefined;
