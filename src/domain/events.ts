import type { StopReason } from './rules/lifecycle.js';

/** Events of use cases, for counters. Nothing waits for a handler, and it must not throw. */
export interface DomainEvents {
  /** A deploy ended: `rented`, `replayed` for the stored response of an earlier request, or why it was refused. */
  deploy(outcome: string): void;
  /** A running instance stopped, and this is committed. */
  stopped(reason: StopReason): void;
  /**
   * Outcome of a write to a volume: `stored`, `refused` without permission, `full` if the volume is at its limit,
   * `store_full`, `broken` if the sender aborted it, or `failed`.
   */
  volumeWritten(outcome: 'stored' | 'refused' | 'full' | 'store_full' | 'broken' | 'failed'): void;
  /** The gateway maintained a volume's repository, or failed to. */
  volumeMaintained(outcome: 'pruned' | 'erased' | 'copied' | 'failed'): void;
}

export const NO_EVENTS: DomainEvents = {
  deploy: () => {},
  stopped: () => {},
  volumeWritten: () => {},
  volumeMaintained: () => {},
};
