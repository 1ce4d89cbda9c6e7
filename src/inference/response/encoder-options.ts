/** Options of the client's response encoder. */

import type { EncoderOptions } from '../../core/operation.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { Plan } from '../request/planned-request.ts';

/** Options of a response; `now` in Unix milliseconds, and times of the options in Unix seconds. */
export function encoderOptions(
  call: InferenceCall,
  endpoint: Endpoint,
  { path, request, now }: Pick<Plan, 'path' | 'request'> & { now(): number },
): EncoderOptions {
  const { echoOf } = call.protocol.operations.complete;
  return {
    model: endpoint.model.id,
    created: Math.floor(now() / 1000),
    now: () => Math.floor(now() / 1000),
    includeUsage: call.protocol.operations.complete.streamUsage?.asked(call.body) ?? true,
    array: call.array,
    isStored: call.keeper?.isStored === true,
    ...(call.keeper && { hidden: [] }),
    hideReasoning: request?.reasoning?.visible === false,
    echo: path === 'translated' ? echoOf?.(call.asked ?? call.body, call.body) : undefined,
  };
}
