/** Events of endpoints that are put into cooldown. */

import type { OpenCircuit } from '../routing/circuit-breaker.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';

/** The label names the endpoint without its credential. */
export function countCooldown({ metrics }: Pick<Telemetry, 'metrics'>, { id }: OpenCircuit): void {
  const [endpoint = ''] = id.split('#');
  metrics.events.endpointCooledDown(endpoint.slice(0, endpoint.indexOf('/')), endpoint);
}
