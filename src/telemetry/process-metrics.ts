/** Memory, CPU, garbage collection and event loop lag of the process. Loaded only when metrics are read. */

import { collectDefaultMetrics, Registry } from 'prom-client';

export function createProcessMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
