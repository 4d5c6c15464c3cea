import { createHmac } from 'node:crypto';
import { holds, isPublic, networkList } from '../../../std/networks.js';
import { required } from '../../../std/required.js';
import { earliest, type Instant, instantOf, latest, SECONDS_PER_DAY, SECONDS_PER_HOUR } from '../../kernel/time.js';

export const MAX_WEBHOOKS = 10;
/** Maximum number of deliveries that can be waiting per webhook. If there are more, the webhook is paused. */
export const MAX_QUEUE = 10_000;
/** Number of seconds to keep retrying an event's delivery. */
const TRY_SECONDS = 3n * SECONDS_PER_DAY;
/** Number of seconds to keep signing with a replaced secret as well. */
export const OLD_SECRET_SECONDS = SECONDS_PER_DAY;
export const SECRET_BYTES = 24;
const SECRET_PREFIX = 'whsec_';
/** Number of seconds between attempts. The last value is repeated. */
const PAUSES = [5n, 30n, 120n, 600n, 1_800n, 3_600n, 7_200n, 14_400n, 28_800n, 43_200n];
/** Maximum pause, in seconds, for a receiver that isn't responding to any event. */
const MAX_WAIT_SECONDS = 300n;
const GONE = 410;
/** Maximum Retry-After delay that is respected. A receiver must not be able to hold back events for days. */
const MAX_RETRY_AFTER_SECONDS = SECONDS_PER_HOUR;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Whether an address is public or in the operator's list. */
export function mayConnect(address: string, allowed: readonly string[]): boolean {
  return holds(networkList(allowed), address) || isPublic(address);
}

/** Whether the text is an http or https URL with a host but without credentials or a fragment. */
export function isWebhookUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash, hostname } = new URL(text);
  return ['http:', 'https:'].includes(protocol) && username === '' && password === '' && hash === '' && hostname !== '';
}

export function formatSecret(random: Buffer): string {
  return SECRET_PREFIX + random.toString('base64');
}

/** Returns the headers defined by Standard Webhooks, with one signature for each valid secret, newest first. */
export function signedHeaders(
  { id, at, body }: { id: string; at: Instant; body: string },
  secrets: readonly string[],
): Record<string, string> {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': String(at), 'webhook-signature': signatures.join(' ') };
}

/** The outcome of an attempt: the response status, or why there was no response. */
export interface Attempt {
  status: number | null;
  error: string | null;
  /** Whether the receiver permanently rejects all deliveries. */
  isFinal?: boolean;
  /** The response's Retry-After header, exactly as received. */
  retryAfter?: string | undefined;
}

export function isAccepted({ status }: Attempt): boolean {
  return status !== null && status >= 200 && status < 300;
}

/** Returns when to retry a failed delivery. Returns null if it isn't retried, in which case its webhook is paused. */
export function nextAttemptAt(attempts: number, firstAt: Instant, now: Instant, outcome: Attempt): Instant | null {
  const pause = required(PAUSES[Math.min(attempts, PAUSES.length) - 1], 'pause after an attempt');
  const [next, end] = [now + pause, firstAt + TRY_SECONDS];
  if (outcome.isFinal === true || outcome.status === GONE || next > end) return null;
  return latest(next, earliest(now + retryAfterOf(outcome, now), end));
}

/**
 * Returns how many seconds a receiver that didn't accept an event asks to wait, up to one hour. Returns 0 if it doesn't
 * ask to wait.
 */
export function retryAfterOf(outcome: Attempt, now: Instant): bigint {
  const { retryAfter = '' } = outcome;
  if (isAccepted(outcome)) return 0n;
  const seconds = /^\d{1,9}$/.test(retryAfter)
    ? BigInt(retryAfter)
    : HTTP_DATE.test(retryAfter) && !Number.isNaN(Date.parse(retryAfter))
      ? instantOf(new Date(retryAfter)) - now
      : 0n;
  return latest(0n, earliest(seconds, MAX_RETRY_AFTER_SECONDS));
}

/** Returns how long to pause deliveries to a receiver after this many consecutive failed rounds. */
export function pauseOf(failures: number): bigint {
  const pause = failures === 0 ? 0n : 1n << BigInt(Math.min(failures, 9));
  return pause < MAX_WAIT_SECONDS ? pause : MAX_WAIT_SECONDS;
}

/** Lead times for notices that something is about to end, in seconds. */
const LEADS = [600n, SECONDS_PER_HOUR];

/** Returns the lead time of the notice to send now, in seconds. Returns null if no notice is due. */
export function leadAt(endsAt: Instant, now: Instant): bigint | null {
  if (endsAt <= now) return null;
  return LEADS.find((lead) => endsAt - now <= lead) ?? null;
}
export const LONGEST_LEAD = SECONDS_PER_HOUR;
