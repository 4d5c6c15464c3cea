import { type GpuError, GpuRefusal } from './errors.js';

export interface RetryPolicy {
  /** How often a request is sent at most; 1 turns retries off. */
  maxAttempts: number;
  /** All attempts and the waits between them; a wait that would go beyond it is not begun. */
  totalMs: number;
  /** Before the second attempt; doubled before each further one. */
  baseDelayMs: number;
  /** The longest wait, but for one that the service asks for by Retry-After. */
  maxDelayMs: number;
}

const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 5, totalMs: 90_000, baseDelayMs: 250, maxDelayMs: 8_000 };

const WORTH_ANOTHER_TRY: readonly string[] = [
  'no_connection',
  'timed_out',
  'rate_limited',
  'unavailable',
  'idempotency_in_progress',
];
/** Of proxies, when the service behind them did not answer. */
const GATEWAY_STATUSES: readonly (number | null)[] = [502, 503, 504];

/** A bound that is left undefined is the default's: a retry is never without one. */
export function policyOf(given: Partial<RetryPolicy> = {}): RetryPolicy {
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...DEFAULT_RETRY, ...Object.fromEntries(set) };
}

/** Reads may be repeated, and writes too: each carries an idempotency key. */
export function isWorthAnotherTry(error: GpuError): boolean {
  if (error instanceof GpuRefusal) return WORTH_ANOTHER_TRY.includes(error.code);
  return WORTH_ANOTHER_TRY.includes(error.code) || GATEWAY_STATUSES.includes(error.status);
}

/** The wait after an attempt, counted from 1: exponential, a random half of it; never less than the service asks for. */
export function delayMs(policy: RetryPolicy, attempt: number, retryAfter: number | null): number {
  const full = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  const own = full * (0.5 + Math.random() / 2);
  if (retryAfter === null) return own;
  // Those who were told the same second should not come in the same millisecond.
  return Math.max(own, retryAfter * 1_000 + Math.random() * policy.baseDelayMs);
}
