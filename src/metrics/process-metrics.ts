import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges whose names end as counters do. */
const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

let registry: Registry | undefined;

/**
 * Returns the metrics of the process, one registry however many gateways it opens. prom-client's observers last as long as the
 * process: in the registry of a gateway they would keep it in memory after it closed.
 */
export function processMetrics(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
    for (const name of MISNAMED) registry.removeSingleMetric(name);
  }
  return registry;
}
