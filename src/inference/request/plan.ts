/** Request plan: chooses the request path to an endpoint (passthrough, patched or translated) and builds the upstream body. */

import { answerIdOf } from '../../core/answer-id.ts';
import type { Cancellation } from '../../core/cancellation.ts';
import type { ChatRequest } from '../../core/chat.ts';
import type { Target } from '../../core/operation.ts';
import { upstreamProtocolOf } from '../../protocols/index.ts';
import { type Endpoint, originOf, rulesOf } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { handlerOf } from '../operations/index.ts';
import type { StateMemory } from '../state/memory.ts';
import { planPassthrough } from './passthrough.ts';
import type { Plan } from './planned-request.ts';

/** A change to the decoded request that needs I/O, e.g. fetching an image for an upstream that fetches no URLs. */
export type Prepare = (request: ChatRequest, endpoint: Endpoint, client: Cancellation) => Promise<void>;

export interface PlanOptions {
  prepare: Prepare;
  memory: StateMemory;
  /** Cancelled when the client disconnects. */
  client: Cancellation;
}

/**
 * Returns a promise only if it must wait. Throws or rejects with `unsupported_*` or `invalid_request`, with the client's field
 * names, if the endpoint cannot handle the request.
 */
export function plan(
  call: InferenceCall,
  endpoint: Endpoint,
  { prepare, memory, client }: PlanOptions,
): Plan | Promise<Plan> {
  const upstream = upstreamProtocolOf(endpoint.dialect.protocol);
  const target: Target = {
    origin: originOf(endpoint),
    model: endpoint.model.upstreamId,
    rules: rulesOf(endpoint),
    answerId: answerIdOf(call.requestId),
  };
  const isReshaped = call.operation.name === 'embed' && endpoint.dialect.embeddings !== undefined;
  if (upstream === call.protocol && !isReshaped) return planPassthrough(call, endpoint, { target, memory });
  const enrich = async (request: ChatRequest): Promise<void> => {
    memory.restore(call.owner, target.origin, request.turns);
    await prepare(request, endpoint, client);
  };
  const translated = () => handlerOf(call.operation).translate(call, endpoint, { upstream, target, enrich });
  return upstream.load ? upstream.load().then(translated) : translated();
}
