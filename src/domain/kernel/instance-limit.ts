import { DomainError } from './errors.js';

/** Maximum number of instances per account, excluding destroyed ones. */
export const MAX_LIVE_INSTANCES = 1_000;

/** Throws deploy_failed if the account already has the maximum number of instances. */
export function checkInstanceLimit({ liveInstances }: { liveInstances: number }): void {
  if (liveInstances < MAX_LIVE_INSTANCES) return;
  throw new DomainError(
    'deploy_failed',
    `the account has ${MAX_LIVE_INSTANCES} active instances, the maximum; destroy one first`,
    {
      reason: 'instance_limit',
    },
  );
}
