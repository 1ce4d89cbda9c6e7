/** Operation handler: the part of an operation that is the same for all protocols. */

import type { ChatRequest } from '../../core/chat.ts';
import type { Json } from '../../core/json/json.ts';
import type { Target } from '../../core/operation.ts';
import type { Protocol } from '../../core/protocol.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseContext } from '../response/context.ts';
import type { WholeAnswer } from '../response/whole.ts';
import type { ExpectedUsage } from '../tokens/expected-usage.ts';
import type { Reservation } from '../tokens/reservation.ts';

export interface OperationHandler {
  /** Nothing is reserved or charged for it. */
  readonly free: boolean;
  /** The most that a call may use, as far as can be told before it is sent. */
  expectedUsage(call: InferenceCall): ExpectedUsage;
  /** The part of a key's limits and budgets that a call needs. */
  reservation(call: InferenceCall, route: Pick<RoutingDecision, 'candidates'>, expected: ExpectedUsage): Reservation;
  /** The request for an upstream of another protocol. Throws `unsupported_*` and `invalid_request` in the client's terms. */
  translate(call: InferenceCall, endpoint: Endpoint, translation: Translation): Promise<Plan>;
  /** A whole answer for the client; undefined when the upstream only paused and was asked to go on. */
  readWhole(answer: ReadAnswer, context: ResponseContext): WholeAnswer | undefined;
}

export interface Translation {
  upstream: Protocol;
  target: Target;
  /** Gives the decoded request what it needs beyond what the client sent. */
  complete(request: ChatRequest): Promise<void>;
}

export interface ReadAnswer {
  bytes: Buffer;
  /** What the bytes hold: an object, and no error. */
  json: Json;
}
