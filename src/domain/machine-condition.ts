/**
 * SQL for the condition of a `machine`: a listed one whose host agent sends no heartbeats is unreachable. Machines
 * without an agent have no heartbeat.
 */
export const MACHINE_CONDITION = `
  case when machine.state = 'LISTED' and (select not reachable from machine_heartbeat where machine_id = machine.id)
    then 'UNREACHABLE' else machine.state::text end`;

/** Whether `machine` has a host agent: on one that has none, a rental runs nothing. */
export const HAS_AGENT = 'exists (select from machine_heartbeat where machine_id = machine.id)';

/** Whether the host agent of `machine` is of a version before launches; false without an agent. */
export const HAS_OLD_AGENT = 'exists (select from machine_host where machine_id = machine.id and not launches)';

/** Whether the host agent of `machine` says how busy instances are; false without an agent. */
export const WATCHES_LOAD = 'exists (select from machine_host where machine_id = machine.id and loads)';
