import type { StopReason } from './rules/lifecycle.js';

/** Events of use cases, for counters. Nothing waits for a handler, and it must not throw. */
export interface DomainEvents {
  /** A deploy has ended: `rented`, `replayed` for the kept answer of an earlier request, or why it was refused. */
  deploy(outcome: string): void;
  /** A running instance has stopped, and this is committed. */
  stopped(reason: StopReason): void;
}

export const NO_EVENTS: DomainEvents = { deploy: () => {}, stopped: () => {} };
