import { silentBefore } from '../rules/fleet.js';
import { formatInstant, type Instant } from '../rules/time.js';
import { SAVED_WITHIN_DAYS } from '../rules/volume-lease.js';

/** Hosts that were last heard before it hold no lease any more. `since`: when this gateway began to listen. */
export function silentText({ fleet: { since } }: { fleet: { since: Instant } }, now: Instant): string {
  return formatInstant(silentBefore(now, since));
}

/**
 * SQL: `holder` of a volume can write nothing more to it, or never could: no agent runs it, its agent never had access, has
 * erased it, is revoked or silent since `before`, or had a week to save it. `stopping` is taken as stopped.
 */
export const isOver = (before: string, stopping: string) => `
  (holder.status <> 'RUNNING' or holder.id = ${stopping}) and (lease_host_id is null or not lease_opened
    or holder.destroyed_at < ${before}::timestamptz - interval '${SAVED_WITHIN_DAYS} days'
    or exists (select from container where container.instance_id = holder.id and erased_at is not null)
    or not exists (
      select from machine_host agent join machine_heartbeat heard using (machine_id)
      where machine_id = lease_host_id and revoked_at is null and seen_at >= ${before}::timestamptz))`;
