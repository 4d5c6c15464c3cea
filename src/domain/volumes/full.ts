import { DomainError } from '../rules/errors.js';

/** A repository has reached its maximum: it accepts nothing more for now. */
export class VolumeFull extends DomainError {
  constructor(message: string) {
    super('action_failed', message);
  }
}
