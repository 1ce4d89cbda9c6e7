/** Plans of a candidate: the body for its endpoint, and another one after a refusal that it avoids. */

import type { Cancellation } from '../core/cancellation.ts';
import { GatewayError, toGatewayError } from '../core/errors.ts';
import { readBody, writeBody, yieldIfLarge } from '../core/json/body.ts';
import { bytesOf } from '../core/platform.ts';
import { endpointName } from '../routing/candidate.ts';
import type { RoutingDecision, RunnableCandidate } from '../routing/decision.ts';
import { inOtherProtocol } from '../routing/endpoint.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { RoutingState } from '../routing/state.ts';
import { type PlanOptions, plan } from './request/plan.ts';
import type { Plan } from './request/planned-request.ts';

export interface Planning {
  call: InferenceCall;
  decision: Pick<RoutingDecision, 'policy'>;
  options: Pick<PlanOptions, 'memory' | 'prepare'> & { state: Pick<RoutingState, 'absent'> };
  client: Cancellation;
}

/** A candidate with the plan for its endpoint. */
export interface CandidatePlan {
  candidate: RunnableCandidate;
  planned: Plan;
}

/** Plans the body for one endpoint from the client's body; returns the error if the endpoint cannot handle it. */
export function planFor(
  { call, decision, options, client }: Planning,
  candidate: RunnableCandidate,
): Plan | GatewayError | Promise<Plan | GatewayError> {
  const { memory, prepare } = options;
  const checked = (planned: Plan): Plan | GatewayError =>
    decision.policy.requireParameters ? (refusalOfLoss(planned, candidate) ?? planned) : planned;
  const planNow = () => plan(call, candidate.endpoint, { prepare, memory, client });
  try {
    const pause = yieldIfLarge(call.bytes.length);
    const planned = pause ? pause.then(planNow) : planNow();
    return planned instanceof Promise ? planned.then(checked).catch(toGatewayError) : checked(planned);
  } catch (error) {
    return toGatewayError(error);
  }
}

/** The error for a plan that drops request fields. */
export function refusalOfLoss({ dropped }: Plan, candidate: RunnableCandidate): GatewayError | undefined {
  const [param] = dropped;
  if (param === undefined) return undefined;
  const message = `${dropped.join(', ')} cannot be sent to ${endpointName(candidate)}, and provider.require_parameters is set.`;
  return new GatewayError('unsupported_parameter', message, { param });
}

/** The candidate, in another protocol if its server turned out not to serve the usual one. */
export function inServedProtocol(
  candidate: RunnableCandidate,
  { call, options }: Pick<Planning, 'call'> & { options: { state: Pick<RoutingState, 'absent'> } },
): RunnableCandidate {
  const { provider, dialect } = candidate.endpoint;
  if (!options.state.absent.has(provider.id, dialect.protocol)) return candidate;
  const endpoint = inOtherProtocol(candidate.endpoint, call.operation);
  return endpoint ? { ...candidate, endpoint } : candidate;
}

/** Changed plan for the same endpoint after it refused with `error`; undefined if no change would help. */
export async function revise(
  planning: Planning,
  refused: CandidatePlan,
  error: GatewayError,
): Promise<CandidatePlan | undefined> {
  if (refused.planned.operation.name !== 'complete') return undefined;
  return isMissing(error) ? leaveProtocol(planning, refused) : repaired(refused, error);
}

/** Things that a server may not find although it serves the path. */
const MISSING_THING = /\b(model|item|response|conversation|prompt|deployment|id)\b/i;

/** Whether the server has no such path. */
export function isMissing({ upstreamStatus, message }: GatewayError): boolean {
  return upstreamStatus === 405 || (upstreamStatus === 404 && !MISSING_THING.test(message));
}

/** Marks the protocol as absent, and plans the request in another one. */
async function leaveProtocol(planning: Planning, { candidate }: CandidatePlan): Promise<CandidatePlan | undefined> {
  const { provider, dialect } = candidate.endpoint;
  const endpoint = inOtherProtocol(candidate.endpoint, planning.call.operation);
  if (!endpoint) return undefined;
  planning.options.state.absent.mark(provider.id, dialect.protocol);
  const other = { ...candidate, endpoint };
  const planned = await planFor(planning, other);
  return planned instanceof GatewayError ? undefined : { candidate: other, planned };
}

async function repaired(
  { candidate, planned }: CandidatePlan,
  error: GatewayError,
): Promise<CandidatePlan | undefined> {
  const { repair } = planned.upstream.operations.complete;
  if (!repair || error.upstreamStatus === undefined) return undefined;
  const sent = bytesOf(planned.body);
  const body = await readBody(sent);
  const name = repair(body, error, planned.path === 'translated');
  if (name === undefined) return undefined;
  const bytes = await writeBody(body, sent.length);
  const path = planned.path === 'translated' ? planned.path : 'patched';
  const dropped = [...new Set([...planned.dropped, name])];
  const note = `without ${name}, which the server refused`;
  return { candidate, planned: { ...planned, path, body: bytes, dropped, note } };
}
