/** Token counts for models whose upstream cannot count. */

import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { estimateTokens } from './estimate.ts';
import { expectedUsageOf } from './expected-usage.ts';

/**
 * Estimated input tokens of a call at an endpoint; see `estimateTokens` for the error. A request that would be relayed is
 * counted by its length where the hub cannot represent it; throws for one that could not be translated.
 */
export function countByEstimate(call: InferenceCall, { dialect }: Pick<Endpoint, 'dialect'>): number {
  if (dialect.protocol === call.protocol.id) return expectedUsageOf(call).input;
  call.operation.check(call.body);
  return estimateTokens(call.protocol.operations.complete.decodeRequest(call.body));
}
