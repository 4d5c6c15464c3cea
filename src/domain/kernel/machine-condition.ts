/**
 * SQL for a `machine`'s condition. A listed machine is unreachable if its host agent sends no heartbeats. Machines
 * without an agent have no heartbeat.
 */
export const MACHINE_CONDITION = `
  case when machine.state = 'LISTED' and (select not reachable from machine_heartbeat where machine_id = machine.id)
    then 'UNREACHABLE' else machine.state::text end`;

/** SQL for whether `machine` has a host agent. If it has none, renting the machine runs no container. */
export const HAS_AGENT = 'exists (select from machine_heartbeat where machine_id = machine.id)';

/** SQL for whether `machine`'s host agent is too old for launches. False if there is no agent. */
export const HAS_OLD_AGENT = 'exists (select from machine_host where machine_id = machine.id and not launches)';

/** SQL for whether `machine`'s host agent reports how busy instances are. False if there is no agent. */
export const REPORTS_LOAD = 'exists (select from machine_host where machine_id = machine.id and loads)';

/**
 * SQL for whether `machine`'s host agent can mount volumes. True if there is no agent, because volumes are then only
 * records.
 */
export const SUPPORTS_VOLUMES = 'not exists (select from machine_host where machine_id = machine.id and not volumes)';

/**
 * SQL for whether `machine`'s host agent can start containers as the user a launch specifies. True if there is no
 * agent, because launches are then only records.
 */
export const SUPPORTS_USERS = 'not exists (select from machine_host where machine_id = machine.id and not users)';

/** SQL for whether containers on `machine` may mount FUSE file systems, according to its host agent's last report. */
export const ALLOWS_FUSE = 'exists (select from machine_host where machine_id = machine.id and fuse)';

/**
 * SQL that joins a `machine` with its `host`, the host's agent and the agent's heartbeat. The last two are null if
 * there is no agent.
 */
export const MACHINE_ON_HOST = `
  machine join machine host on host.id = machine.host_id
    left join machine_host agent on agent.machine_id = host.id
    left join machine_heartbeat heartbeat on heartbeat.machine_id = host.id`;

/** Columns of MACHINE_ON_HOST needed by the rules. A machine with a missing GPU counts as drained. */
export const MACHINE_FOR_ADMISSION = `
  machine.id, host.id as "hostId", machine.first_gpu as "firstGpu", machine.gpu, machine.num_gpus as "numGpus", host.region,
  machine.disk_gb as "diskGb", host.disk_gb as "hostDiskGb", machine.sold as "isSold",
  case when host.state <> 'LISTED' then host.state::text
    when not heartbeat.reachable then 'UNREACHABLE'
    when agent.missing <> '{}' and agent.missing && array(
      select generate_series(machine.first_gpu, machine.first_gpu + machine.num_gpus - 1)) then 'DRAINED'
    else 'LISTED' end as state,
  coalesce(not agent.launches, false) as "hasOldAgent", coalesce(agent.loads, false) as "reportsLoad",
  coalesce(agent.volumes, true) as "supportsVolumes", coalesce(agent.users, true) as "supportsUsers"`;

/** SQL for whether two machines on the same host share a GPU. Either one may also be an instance. */
export function overlapping(one: string, other: string): string {
  return `(${one}.first_gpu < ${other}.first_gpu + ${other}.num_gpus and ${other}.first_gpu < ${one}.first_gpu + ${one}.num_gpus)`;
}

/** SQL for the host disk space, in GB, that an `instance` occupies until it is destroyed. */
export const USED_GB = '(instance.disk_gb + instance.volume_gb)';

/** SQL condition that an `instance` shares a host with the machine whose id matches `is`. */
export function onHostOf(is: string): string {
  return `machine_id in (select id from machine where host_id in (select host_id from machine where id ${is}))`;
}
