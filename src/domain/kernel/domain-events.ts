import type { StopReason } from './lifecycle.js';

/** Events emitted by use cases to feed counters. Handlers are not awaited and must not throw. */
export interface DomainEvents {
  /**
   * A deploy ended. The outcome is `rented`, `replayed` if the response stored for an earlier request was returned, or
   * the reason for the rejection.
   */
  deploy(outcome: string): void;
  /** A running instance has stopped and the stop has been committed. */
  stopped(reason: StopReason): void;
  /**
   * A write to a volume ended. The outcome is `stored`, `refused` if the sender lacks permission, `full` if the volume
   * is at its limit, `store_full`, `broken` if the sender aborted the write, or `failed`.
   */
  volumeWritten(outcome: 'stored' | 'refused' | 'full' | 'store_full' | 'broken' | 'failed'): void;
  /** The gateway performed maintenance on a volume's repository or failed to. */
  volumeMaintained(outcome: 'pruned' | 'erased' | 'copied' | 'failed'): void;
}

export const NO_EVENTS: DomainEvents = {
  deploy: () => {},
  stopped: () => {},
  volumeWritten: () => {},
  volumeMaintained: () => {},
};
