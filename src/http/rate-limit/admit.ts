import type { ServerResponse } from 'node:http';
import type { Caller } from '../../domain/accounts/api-keys.js';
import { DomainError } from '../../domain/kernel/errors.js';
import type { RateLimiter } from './rate-limit.js';

/**
 * Takes `cost` requests from the account's limit, either all or none of them, and sets the RateLimit headers. Throws
 * rate_limited, or invalid_request if the cost exceeds the whole limit.
 */
export async function admit(
  limiter: RateLimiter,
  caller: Caller,
  cost: number,
  response: ServerResponse,
): Promise<void> {
  const limit = caller.requestsPerMinute;
  if (limit === 0 || cost === 0) return;
  if (cost > limit) {
    throw new DomainError(
      'invalid_request',
      `this request counts as ${cost} requests, more than the limit of ${limit} in 60 s`,
    );
  }
  const admission = await limiter.admit(caller.accountId, cost, limit);
  response.setHeader('RateLimit-Limit', admission.limit);
  response.setHeader('RateLimit-Remaining', admission.remaining);
  response.setHeader('RateLimit-Reset', admission.resetSeconds);
  if (admission.admitted) return;
  const { retryAfterSeconds } = admission;
  throw new DomainError('rate_limited', `more than ${limit} requests in 60 s; try again in ${retryAfterSeconds} s`, {
    retryAfterSeconds,
  });
}
