import { DomainError } from '../rules/errors.js';

/** Refusal of a write to a repository that has reached its maximum. */
export class VolumeFull extends DomainError {
  constructor(message: string) {
    super('action_failed', message);
  }
}
