import { DomainError } from './errors.js';

/** Maximum undestroyed instances of an account. */
export const MAX_LIVE_INSTANCES = 1_000;

/** Refuses one more instance with deploy_failed. */
export function checkInstanceLimit({ liveInstances }: { liveInstances: number }): void {
  if (liveInstances < MAX_LIVE_INSTANCES) return;
  throw new DomainError(
    'deploy_failed',
    `the account has ${MAX_LIVE_INSTANCES} undestroyed instances, the maximum; destroy one first`,
    {
      reason: 'instance_limit',
    },
  );
}
