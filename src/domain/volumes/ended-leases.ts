import { formatInstant, type Instant } from '../kernel/time.js';
import { SAVED_WITHIN_DAYS, silentBefore } from '../kernel/volume-lease.js';

/**
 * Returns the time since which a host must have sent a heartbeat to keep its leases. `since` is when this gateway
 * started listening.
 */
export function silentText({ fleet: { since } }: { fleet: { since: Instant } }, now: Instant): string {
  return formatInstant(silentBefore(now, since));
}

/**
 * SQL for whether `holder` can no longer write to the volume, or never could. This is the case if no agent runs the
 * instance, or if its agent never had access, has erased the instance, is revoked, has been silent since `before`, or
 * has had a week to save the volume. An instance that is `stopping` counts as stopped.
 */
export const isOver = (before: string, stopping: string) => `
  (holder.status <> 'RUNNING' or holder.id = ${stopping}) and (lease_host_id is null or not lease_opened
    or holder.destroyed_at < ${before}::timestamptz - interval '${SAVED_WITHIN_DAYS} days'
    or exists (select from container where container.instance_id = holder.id and erased_at is not null)
    or not exists (
      select from machine_host agent join machine_heartbeat heartbeat using (machine_id)
      where machine_id = lease_host_id and revoked_at is null and seen_at >= ${before}::timestamptz))`;
