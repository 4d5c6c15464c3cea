import type { KernelDeps } from '../kernel/deps.js';
import type { ActivityLog } from './activity-log.js';

export interface ActivityDeps extends Pick<KernelDeps, 'db' | 'clock'> {
  /** Records changes that were rejected or that were made without a transaction. */
  readonly activityLog: ActivityLog;
}
