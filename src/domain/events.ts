import type { StopReason } from './rules/lifecycle.js';

/** What use cases tell of themselves, for whoever counts it. Nothing waits for it, and it must not throw. */
export interface DomainEvents {
  /** A deploy has ended: `rented`, `replayed` for the kept answer of an earlier request, or why it was refused. */
  deploy(outcome: string): void;
  /** An instance that ran has stopped, and that is committed. */
  stopped(reason: StopReason): void;
}

export const NO_EVENTS: DomainEvents = { deploy: () => {}, stopped: () => {} };
