/** Options of the client's response encoder. */

import type { EncoderOptions } from '../../core/operation.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';

/** Options of a response; `now` in Unix milliseconds, and times of the options in Unix seconds. */
export function encoderOptions(
  call: InferenceCall,
  endpoint: Endpoint,
  { now, hideReasoning, echo }: Pick<EncoderOptions, 'hideReasoning' | 'echo'> & { now(): number },
): EncoderOptions {
  return {
    model: endpoint.model.id,
    created: Math.floor(now() / 1000),
    now: () => Math.floor(now() / 1000),
    includeUsage: call.protocol.operations.complete.streamUsage?.asked(call.body) ?? true,
    array: call.array,
    isStored: call.keeper?.isStored === true,
    ...(call.keeper && { hidden: [] }),
    hideReasoning,
    echo,
  };
}
