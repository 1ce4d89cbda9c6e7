/** Memory, CPU, garbage collection and event loop lag of the process. Loaded only when metrics are read. */

import { collectDefaultMetrics, Registry } from 'prom-client';

/** Gauges with the names of counters, whose values are the sums of `nodejs_active_handles` and the like. */
const MISNAMED = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total'];

export function createProcessMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  return registry;
}
