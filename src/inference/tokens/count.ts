/** Token counts for models whose upstream cannot count. */

import type { InferenceCall } from '../../routing/inference-call.ts';
import { estimateTokens } from './estimate.ts';

/** Estimated input tokens of a call; see `estimateTokens` for the error. */
export function countByEstimate(call: InferenceCall): number {
  call.operation.check(call.body);
  return estimateTokens(call.protocol.operations.complete.decodeRequest(call.body));
}
