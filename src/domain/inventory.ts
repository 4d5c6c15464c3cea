import { MIN_OFFERED_DISK_GB } from './rules/lifecycle.js';

/**
 * SQL for the machines that are offered, with `disk_left_gb` and `preemptible`: listed, with enough disk left, and
 * nothing on them, or only an interruptible instance (then `preemptible`, and no offer unless asked for).
 */
export const OFFERED_MACHINES = `
  select machine.*, machine.disk_gb - coalesce(live.disk_gb, 0) as disk_left_gb, coalesce(live.running, false) as preemptible
  from machine left join (
    select machine_id, sum(disk_gb)::int as disk_gb, bool_or(status = 'RUNNING') as running,
      bool_or(status = 'RUNNING' and mode <> 'INTERRUPTIBLE') as firmly_held
    from instance where status <> 'DESTROYED' group by machine_id
  ) live on live.machine_id = machine.id
  where machine.state = 'LISTED' and not coalesce(live.firmly_held, false)
    and machine.disk_gb - coalesce(live.disk_gb, 0) >= ${MIN_OFFERED_DISK_GB}`;
