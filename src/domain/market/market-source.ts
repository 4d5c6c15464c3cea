import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { deadline } from '../../std/deadline.js';
import { fetchFault } from '../../std/fetch-fault.js';

/**
 * Thrown if the market source can't be reached or used. The one-line message gives the reason and never contains the
 * source's URL.
 */
export class SourceFault extends Error {}

export interface SourceLimits {
  /** Time limit for the whole transfer, from the first connection to the last byte. */
  timeoutMs: number;
  /** Maximum size of the decompressed content. */
  maxBytes: number;
}

export const SOURCE_LIMITS: SourceLimits = { timeoutMs: 120_000, maxBytes: 64 * 1024 * 1024 };

const MAX_REDIRECTS = 5;
const REDIRECTS = [301, 302, 303, 307, 308];
const WEB = ['http:', 'https:'];

/** Whether the source is an http or https URL rather than a file path. */
export function isAddress(source: string): boolean {
  return URL.canParse(source) && WEB.includes(new URL(source).protocol);
}

/**
 * Yields the content of a file or URL. Throws SourceFault if it can't be read, exceeds a limit or is aborted by
 * `signal`.
 */
export async function* readSource(
  source: string,
  signal: AbortSignal,
  { timeoutMs, maxBytes }: SourceLimits,
): AsyncGenerator<Uint8Array> {
  const limit = deadline(timeoutMs, signal);
  let bytes = 0;
  try {
    const chunks = isAddress(source)
      ? download(new URL(source), limit.signal)
      : createReadStream(source, { signal: limit.signal });
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new SourceFault(`the source is larger than ${maxBytes} bytes`);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof SourceFault) throw error;
    throw new SourceFault(
      limit.isOver
        ? `the source was not read within ${timeoutMs / 1000} s`
        : `the source can't be read: ${fetchFault(error)}`,
    );
  } finally {
    limit.clear();
  }
}

async function* download(address: URL, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let [url, authorization] = withoutCredentials(address);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const headers = { accept: 'text/csv, */*;q=0.5', ...(authorization !== null && { authorization }) };
    const response = await fetch(url, { signal, headers, redirect: 'manual' });
    if (response.ok) {
      if (response.body !== null) yield* Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
      return;
    }
    await response.body?.cancel();
    const next = response.headers.get('location');
    if (!REDIRECTS.includes(response.status) || next === null)
      throw new SourceFault(`the source responded with status ${response.status}`);
    const target = URL.canParse(next, url.href) ? new URL(next, url) : null;
    if (target === null || !WEB.includes(target.protocol))
      throw new SourceFault("the source redirects to a URL that isn't http or https");
    // Credentials must not be forwarded to another origin.
    if (target.origin !== url.origin) authorization = null;
    url = target;
  }
  throw new SourceFault(`the source redirects more than ${MAX_REDIRECTS} times`);
}

/** Moves credentials from the URL to a header, because `fetch` rejects URLs with credentials. */
function withoutCredentials(address: URL): [url: URL, authorization: string | null] {
  const { username, password } = address;
  if (username === '' && password === '') return [address, null];
  const url = new URL(address);
  url.username = '';
  url.password = '';
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return [url, `Basic ${Buffer.from(pair).toString('base64')}`];
}
