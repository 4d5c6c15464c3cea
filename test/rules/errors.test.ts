import { expect, it } from 'vitest';
import { DomainError, refusedBy, STATUS_OF } from '../../src/domain/kernel/errors.js';
import { GPU_TIERS, gpuTierOfSlug } from '../../src/domain/kernel/gpu-tier.js';

it('a refusal has the status and details for its code', () => {
  expect(STATUS_OF).toEqual({
    ...{ invalid_json: 400, unauthorized: 401, forbidden: 403, not_found: 404, no_route: 404, method_not_allowed: 405 },
    ...{ deploy_failed: 409, action_failed: 409, idempotency_in_progress: 409, payload_too_large: 413 },
    ...{ invalid_request: 422, missing_machine: 422, bad_action: 422, idempotency_mismatch: 422 },
    ...{ rate_limited: 429, internal: 500, unavailable: 503 },
  });
  const plain = new DomainError('not_found', 'gone');
  expect(plain).toMatchObject({ name: 'DomainError', message: 'gone', code: 'not_found', reason: undefined });
  expect(Object.keys(plain.extensions)).toEqual(['code', 'status']);
  expect(plain.extensions).toEqual({ code: 'not_found', status: 404 });
  const full = new DomainError('rate_limited', 'wait', { field: 'id', retryAfterSeconds: 0, reason: 'taken' });
  expect(full.extensions).toEqual({ code: 'rate_limited', status: 429, field: 'id', retryAfterSeconds: 0 });
  expect(full.reason).toBe('taken');
});

it('a refusal can be returned as a value, but any other error is thrown', () => {
  const refuse = (error: Error) => () => {
    throw error;
  };
  expect(refusedBy(() => {})).toBeNull();
  expect(refusedBy(refuse(new DomainError('deploy_failed', 'taken')))).toEqual({
    code: 'deploy_failed',
    message: 'taken',
  });
  expect(() => refusedBy(refuse(new TypeError('a fault')))).toThrow(new TypeError('a fault'));
});

it("each GPU tier's slug maps to its enum value", () => {
  expect(GPU_TIERS).toEqual(['FLAGSHIP', 'DATACENTER', 'CONSUMER_FLAGSHIP', 'CONSUMER']);
  expect((['flagship', 'datacenter', 'consumer-flagship', 'consumer'] as const).map(gpuTierOfSlug)).toEqual(GPU_TIERS);
});
