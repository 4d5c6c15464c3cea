import { DomainError } from '../kernel/errors.js';

/** Thrown when a write would exceed the repository's maximum size. */
export class VolumeFull extends DomainError {
  constructor(message: string) {
    super('action_failed', message);
  }
}
