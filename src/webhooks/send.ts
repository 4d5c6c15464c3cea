import type { LookupAddress } from 'node:dns';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { SendWebhook } from '../domain/webhooks/receiver.js';
import { type Attempt, mayConnect } from '../domain/webhooks/rules/webhook.js';
import { createNameLookup, type LookupAll } from '../std/name-lookup.js';

/** Time limit for the whole exchange, including the DNS lookup and connecting. */
const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 64_000;
const MAX_ERROR = 200;

export interface SenderOptions {
  /** Networks that may be connected to even though they are not public. */
  allowed: readonly string[];
  /**
   * Defaults to the hosts file and DNS. The system's resolver is never used, because lookups of host names chosen by
   * renters could occupy its threads.
   */
  lookup?: LookupAll;
}

/**
 * Returns a function that sends one event. The address is checked in the same lookup that the connection uses, so a
 * name whose address changes can't bypass the check. Redirects are not followed and count like any other response.
 */
export function createSender({ allowed, lookup = createNameLookup() }: SenderOptions): SendWebhook {
  const guarded: LookupFunction = (host, options, done) => {
    lookup(host, { all: true }, (error, found) => {
      if (error !== null) return done(error, '', 4);
      const addresses = found.filter(({ address }) => mayConnect(address, allowed));
      const [first] = addresses;
      if (first === undefined) return done(notPublic(host), '', 4);
      // Node requests all addresses if it tries both address families.
      if (options.all === true) (done as (error: null, all: LookupAddress[]) => void)(null, addresses);
      else done(null, first.address, first.family);
    });
  };
  return (url, headers, body) =>
    exchange(url, headers, body, guarded, allowed).catch((error: Error) => ({
      status: null,
      error: (error.message || 'no connection').slice(0, MAX_ERROR),
    }));
}

function notPublic(host: string): Error {
  return new Error(`${host} is not a public address`);
}

function exchange(
  url: string,
  headers: Record<string, string>,
  body: string,
  lookup: LookupFunction,
  allowed: readonly string[],
): Promise<Attempt> {
  const { protocol, hostname } = new URL(url);
  // Node connects to IP addresses without a lookup.
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0 && !mayConnect(host, allowed)) return Promise.reject(notPublic(host));
  const send = protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const length = String(Buffer.byteLength(body));
    const outgoing = send(url, {
      method: 'POST',
      agent: false,
      lookup,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': length, 'user-agent': 'gpu-rental' },
    });
    const late = setTimeout(
      () => outgoing.destroy(new Error(`no response within ${TIMEOUT_MS / 1_000} s`)),
      TIMEOUT_MS,
    );
    outgoing.once('close', () => {
      clearTimeout(late);
      reject(new Error('the connection was closed'));
    });
    outgoing.once('error', reject);
    outgoing.once('response', (answer) => {
      readAnswer(answer).then(
        () => resolve({ status: answer.statusCode!, error: null, retryAfter: answer.headers['retry-after'] }),
        (error) => reject(error),
      );
    });
    outgoing.end(body);
  });
}

/** Reads the body up to the limit and discards the rest, because only the status matters. */
async function readAnswer(answer: IncomingMessage): Promise<void> {
  let bytes = 0;
  for await (const part of answer) {
    bytes += (part as Buffer).length;
    if (bytes > MAX_ANSWER_BYTES) break;
  }
  answer.destroy();
}
