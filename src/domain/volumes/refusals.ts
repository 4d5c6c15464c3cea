import { DomainError } from '../kernel/errors.js';

/** Returns the same error whether the volume belongs to another account or doesn't exist. */
export function noVolume(): DomainError {
  return new DomainError('not_found', 'no such volume');
}

export function volumeInUse(volumeId: string, instanceId: string): DomainError {
  return new DomainError('action_failed', `volume ${volumeId} is in use by instance ${instanceId}`);
}
