import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges whose names misleadingly end like counter names. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registry: Registry | undefined;

/**
 * Returns the registry for process metrics, shared by all gateways in the process. prom-client's observers live as long
 * as the process, so in a gateway's own registry they would keep the gateway in memory after it is closed.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  return registry;
}
