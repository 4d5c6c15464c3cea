import type { StopReason } from './rules/lifecycle.js';

/** Events of use cases, for counters. Nothing waits for a handler, and it must not throw. */
export interface DomainEvents {
  /** A deploy has ended: `rented`, `replayed` for the kept answer of an earlier request, or why it was refused. */
  deploy(outcome: string): void;
  /** A running instance has stopped, and this is committed. */
  stopped(reason: StopReason): void;
  /**
   * An object was written to a volume: `stored`; or not: `refused` for whoever may not, `full` where the volume has all that
   * it may, `store_full`, `broken` off by the sender, or `failed`.
   */
  volumeWritten(outcome: 'stored' | 'refused' | 'full' | 'store_full' | 'broken' | 'failed'): void;
  /** The gateway has done something with the repository of a volume, or could not. */
  volumeKept(outcome: 'pruned' | 'erased' | 'copied' | 'failed'): void;
}

export const NO_EVENTS: DomainEvents = {
  deploy: () => {},
  stopped: () => {},
  volumeWritten: () => {},
  volumeKept: () => {},
};
