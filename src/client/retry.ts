import { type GpuError, GpuRefusal } from './errors.js';

export interface RetryPolicy {
  /** Maximum attempts per request. 1 disables retries. */
  maxAttempts: number;
  /** Time limit for all attempts and the waits between them. A wait that would exceed it isn't started. */
  totalMs: number;
  /** Wait before the second attempt. It doubles before each subsequent attempt. */
  baseDelayMs: number;
  /** Maximum wait, except for one that the service requests with Retry-After. */
  maxDelayMs: number;
}

const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 5, totalMs: 90_000, baseDelayMs: 250, maxDelayMs: 8_000 };

const RETRIED_CODES: readonly string[] = [
  'no_connection',
  'timed_out',
  'rate_limited',
  'unavailable',
  'idempotency_in_progress',
];
/** Statuses sent by proxies if the service did not respond. */
const GATEWAY_STATUSES: readonly (number | null)[] = [502, 503, 504];

/** Returns the policy with defaults for any limits that are undefined. */
export function policyOf(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_RETRY, ...Object.fromEntries(set) };
}

/**
 * Whether to repeat a request after this error. Reads and writes can both be repeated, because each write has an
 * idempotency key.
 */
export function isRetried(error: GpuError): boolean {
  if (error instanceof GpuRefusal) return RETRIED_CODES.includes(error.code);
  return RETRIED_CODES.includes(error.code) || GATEWAY_STATUSES.includes(error.status);
}

/**
 * Returns the wait after an attempt, counted from 1. The wait grows exponentially, half of it is random, and it is
 * never shorter than the service requests.
 */
export function delayMs(policy: RetryPolicy, attempt: number, retryAfter: number | null): number {
  const full = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  const delay = full * (0.5 + Math.random() / 2);
  if (retryAfter === null) return delay;
  // Spreads out clients that received the same Retry-After.
  return Math.max(delay, retryAfter * 1_000 + Math.random() * policy.baseDelayMs);
}
