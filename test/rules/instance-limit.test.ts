import { expect, it } from 'vitest';
import { DomainError } from '../../src/domain/kernel/errors.js';
import { checkInstanceLimit } from '../../src/domain/kernel/instance-limit.js';

it('an account can deploy up to 1,000 instances', () => {
  expect(() => checkInstanceLimit({ liveInstances: 999 })).not.toThrow();
  for (const liveInstances of [1_000, 1_001]) {
    expect(() => checkInstanceLimit({ liveInstances })).toThrow(
      new DomainError('deploy_failed', 'the account has 1000 active instances, the maximum; destroy one first', {
        reason: 'instance_limit',
      }),
    );
  }
});
