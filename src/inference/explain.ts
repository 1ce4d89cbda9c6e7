/** Explanation of a routing decision: the endpoints that a request would reach, in order and with the reasons, without sending it. */

import { readBody } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import type { Protocol } from '../core/protocol.ts';
import { type DecisionOptions, decideRouting, type RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { LatencyStatistics } from '../routing/latency-statistics.ts';
import { POLICY_HEADER } from '../routing/request-policy.ts';
import { type RoutingState, statisticsKey } from '../routing/state.ts';
import { type RoutingTrace, type TracedCandidate, traceOf } from '../routing/trace.ts';
import { inServedProtocol } from './candidate-plan.ts';
import { type DryPlan, dryPlan } from './dry-run.ts';

/** A request to explain; it is not sent. */
export interface RoutingQuestion {
  protocol: Protocol;
  model: string;
  /** JSON of its body; an example of the protocol if absent. */
  body?: Buffer;
  /** Value of the policy header. */
  policy?: string;
}

export interface ExplainOptions extends DecisionOptions {
  state: DecisionOptions['state'] & Pick<RoutingState, 'absent'>;
  /** Web search beside other tools is refused for a model without search; otherwise it is dropped. */
  refusesUnsupportedSearch: boolean;
}

/** Medians by which candidates are ranked: of streamed or of whole responses, as the request asks for. Absent ones are not known. */
interface Medians {
  first_byte_ms?: number;
  tokens_per_second?: number;
}

/** Fields of candidates that are excluded by routing have no plan. */
export type ExplainedCandidate = TracedCandidate & DryPlan & Medians;

export type Explanation = Omit<RoutingTrace, 'attempts' | 'candidates'> & { candidates: ExplainedCandidate[] };

/** Throws the error by which the request would be refused. */
export async function explain(question: RoutingQuestion, options: ExplainOptions): Promise<Explanation> {
  const call = await callOf(question);
  const decision: RoutingDecision = await decideRouting(call, question.model, options);
  const planning = { policy: decision.policy, refusesUnsupportedSearch: options.refusesUnsupportedSearch };
  const plans: DryPlan[] = [];
  for (const candidate of decision.candidates)
    plans.push(await dryPlan(call, inServedProtocol(candidate, { call, options }), planning));
  const { attempts: _attempts, candidates, ...trace } = traceOf(decision, []);
  const ids = [...decision.candidates, ...decision.excluded.map(({ candidate }) => candidate)].map(({ id }) => id);
  const mediansAt = (index: number) =>
    mediansOf(statisticsKey(ids[index] ?? '', call.stream), options.state.statistics);
  return {
    ...trace,
    candidates: candidates.map((candidate, index) => ({ ...candidate, ...mediansAt(index), ...plans[index] })),
  };
}

function mediansOf(key: string, statistics: LatencyStatistics): Medians {
  const [seconds, throughput] = [statistics.latency(key, 'p50'), statistics.throughput(key, 'p50')];
  return {
    ...(seconds !== undefined && { first_byte_ms: Math.round(seconds * 1000) }),
    ...(throughput !== undefined && { tokens_per_second: Number(throughput.toPrecision(4)) }),
  };
}

async function callOf({ protocol, model, body: given, policy }: RoutingQuestion): Promise<InferenceCall> {
  const { complete: operation } = protocol.operations;
  const bytes = given ?? Buffer.from(JSON.stringify(operation.example));
  const body: Json = await readBody(bytes, { names: operation.names });
  if (operation.requestModel.required) body.model = model;
  operation.checkLimits(body);
  const headers = policy === undefined ? {} : { [POLICY_HEADER]: policy };
  return {
    requestId: '',
    owner: '',
    protocol,
    operation,
    stream: body.stream === true,
    array: false,
    headers,
    bytes,
    body,
  };
}
