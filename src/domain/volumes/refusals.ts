import { DomainError } from '../rules/errors.js';

/** Another account's volume looks exactly like one that does not exist. */
export function noVolume(): DomainError {
  return new DomainError('not_found', 'no such volume');
}

export function volumeInUse(volumeId: string, instanceId: string): DomainError {
  return new DomainError('action_failed', `volume ${volumeId} is in use by instance ${instanceId}`);
}
