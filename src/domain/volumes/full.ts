import { DomainError } from '../rules/errors.js';

/** A repository has all that it may: for now nothing more is taken. */
export class VolumeFull extends DomainError {
  constructor(message: string) {
    super('action_failed', message);
  }
}
