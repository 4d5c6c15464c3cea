import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges whose names wrongly end like those of counters. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registry: Registry | undefined;

/**
 * Returns the metrics of the process, one registry for all gateways it opens. prom-client's observers live as long as
 * the process: in a gateway's registry they would keep it in memory after it closed.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  return registry;
}
