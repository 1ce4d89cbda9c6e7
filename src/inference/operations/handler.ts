/** Operation handler: the part of an operation that is the same for all protocols. */

import type { ChatRequest, Usage } from '../../core/chat.ts';
import type { Target } from '../../core/operation.ts';
import type { UpstreamProtocol } from '../../core/protocol.ts';
import type { RoutingDecision } from '../../routing/decision.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import type { Plan } from '../request/planned-request.ts';
import type { ResponseAssembler } from '../response/assembler.ts';
import type { ResponseContext } from '../response/context.ts';
import type { FailedResponse, ParsedResponse, WholeResponse } from '../response/whole.ts';
import type { ExpectedUsage } from '../tokens/expected-usage.ts';
import type { Reservation } from '../tokens/reservation.ts';

export interface OperationHandler {
  /** No reservation and no charge. */
  readonly free: boolean;
  /** Providers process it in service tiers, each at its price. */
  readonly isTiered: boolean;
  /** Answers have tokens of their own; where they have none, an answer is charged by its input alone. */
  readonly hasOutput: boolean;
  /** Expected maximum usage of a call. */
  expectedUsage(call: InferenceCall, decision: Pick<RoutingDecision, 'candidates'>): ExpectedUsage;
  /** Reservation of a call from the limits and budgets of its key. */
  reservation(call: InferenceCall, decision: Pick<RoutingDecision, 'candidates'>, expected: ExpectedUsage): Reservation;
  /** The request for an upstream of another protocol. Throws `unsupported_*` and `invalid_request` in the client's terms. */
  translate(call: InferenceCall, endpoint: Endpoint, translation: Translation): Promise<Plan>;
  /** A whole response for the client; undefined if the upstream paused and a continuation was requested. */
  readWhole(response: ParsedResponse, context: ResponseContext): WholeResponse | undefined;
  /** The same, of a response that came as a stream; absent if the operation has no streams. */
  readAssembled?(assembler: ResponseAssembler, context: ResponseContext): WholeResponse | undefined;
  /** Usage of a response that failed on its way to the client; undefined if nothing was generated. */
  failedUsage(response: FailedResponse, context: ResponseContext): Partial<Usage> | undefined;
}

export interface Translation {
  upstream: UpstreamProtocol;
  target: Target;
  /** Adds what the decoded request lacks: state of the provider from earlier turns, and fetched media. */
  enrich(request: ChatRequest): Promise<void>;
}
