/**
 * SQL for the condition of a `machine`: a listed one whose host agent sends no heartbeats is unreachable. Machines
 * without an agent have no heartbeat.
 */
export const MACHINE_CONDITION = `
  case when machine.state = 'LISTED' and (select not reachable from machine_heartbeat where machine_id = machine.id)
    then 'UNREACHABLE' else machine.state::text end`;
