import type { StopReason } from './lifecycle.js';

/** Events emitted by use cases, used for counters. Handlers are not awaited and must not throw. */
export interface DomainEvents {
  /**
   * A deploy ended. The outcome is `rented`, `replayed` if the stored response to an earlier request was returned, or
   * the reason why the deploy was rejected.
   */
  deploy(outcome: string): void;
  /** A running instance has stopped, and the stop is committed. */
  stopped(reason: StopReason): void;
  /**
   * A write to a volume ended. The outcome is `stored`, `refused` if the sender lacks permission, `full` if the volume
   * is at its limit, `store_full`, `broken` if the sender aborted the write, or `failed`.
   */
  volumeWritten(outcome: 'stored' | 'refused' | 'full' | 'store_full' | 'broken' | 'failed'): void;
  /** The gateway did maintenance on a volume's repository, or failed to. */
  volumeMaintained(outcome: 'pruned' | 'erased' | 'copied' | 'failed'): void;
}

export const NO_EVENTS: DomainEvents = {
  deploy: () => {},
  stopped: () => {},
  volumeWritten: () => {},
  volumeMaintained: () => {},
};
