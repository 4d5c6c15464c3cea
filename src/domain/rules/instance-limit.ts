import { DomainError } from './errors.js';

/** Undestroyed instances an account may hold. */
export const MAX_LIVE_INSTANCES = 1_000;

/** Refuses one more with deploy_failed. */
export function checkInstanceLimit({ liveInstances }: { liveInstances: number }): void {
  if (liveInstances < MAX_LIVE_INSTANCES) return;
  throw new DomainError('deploy_failed', `an account holds at most ${MAX_LIVE_INSTANCES} undestroyed instances`, {
    reason: 'instance_limit',
  });
}
