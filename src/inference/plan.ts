/** Decides which of the three ways a request takes to an endpoint, and makes its upstream body. */

import { answerIdOf } from '../core/answer-id.ts';
import type { ChatRequest, Finish, OpenPart } from '../core/chat.ts';
import type { Protocol, Target } from '../core/protocol.ts';
import { protocolOf } from '../protocols/index.ts';
import { type Call, type Endpoint, originOf, rulesOf } from './call.ts';
import type { StateMemory } from './memory.ts';
import { relayed } from './relayed-request.ts';
import { translated } from './translated-request.ts';

/**
 * `bytes`: the client's bytes with another model name. `edit`: the client's JSON, adjusted to a dialect.
 * `canonical`: decoded to the hub and encoded in another protocol.
 */
export type Path = 'bytes' | 'edit' | 'canonical';

export interface Plan {
  path: Path;
  upstream: Protocol;
  target: Target;
  body: Buffer;
  /** What the target can't carry, in the client's spelling. */
  dropped: string[];
  /** The decoded request, on the canonical path. */
  request?: ChatRequest;
  /** The client's names of tools that have another one upstream. */
  toolNames?: ReadonlyMap<string, string>;
  /** The upstream body that goes on with an answer that stopped only to be continued; on the canonical path. */
  continueWith?(parts: OpenPart[], finish: Finish): Buffer;
}

/** A change to the decoded request that needs I/O, such as fetching an image that the upstream won't. */
export type Prepare = (request: ChatRequest, endpoint: Endpoint, signal: AbortSignal) => Promise<void>;

export interface PlanOptions {
  prepare: Prepare;
  memory: StateMemory;
  /** Aborted when the client leaves. */
  signal: AbortSignal;
}

/** Throws `unsupported_*` or `invalid_request`, in the client's terms, when the endpoint cannot do what is asked. */
export async function plan(call: Call, endpoint: Endpoint, { prepare, memory, signal }: PlanOptions): Promise<Plan> {
  const upstream = protocolOf(endpoint.provider.protocol);
  const target: Target = {
    origin: originOf(endpoint),
    model: endpoint.model.upstreamId,
    rules: rulesOf(endpoint),
    answerId: answerIdOf(call.requestId),
  };
  if (upstream === call.protocol) return relayed(call, endpoint, { target, memory });
  const complete = async (request: ChatRequest): Promise<void> => {
    memory.restore(call.owner, target.origin, request.turns);
    await prepare(request, endpoint, signal);
  };
  return translated(call, endpoint, { upstream, target, complete });
}
