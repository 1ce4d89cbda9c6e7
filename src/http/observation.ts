/** Request observation: log line, metrics and trace of one request. */

import type { Logger } from 'pino';
import type { Usage } from '../core/chat.ts';
import type { Clock } from '../core/clock.ts';
import type { ErrorCode } from '../core/errors.ts';
import type { Fields } from '../core/fields.ts';
import { decimalOf } from '../core/money.ts';
import type { DispatchOutcome } from '../inference/outcome.ts';
import type { Key } from '../keys/store.ts';
import type { Attempt } from '../routing/attempt.ts';
import type { RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { AttemptFacts, CallFacts, RequestObservation, RequestObserver } from '../telemetry/observer.ts';
import { causeOf } from './errors.ts';
import type { ResponseState } from './response-state.ts';

export interface ObservationOptions {
  observer?: RequestObserver;
  log: Pick<Logger, 'info' | 'warn'>;
  clock: Pick<Clock, 'monotonic'>;
}

/** Routes that machines poll. */
const UNLOGGED_ROUTES = ['health', 'readiness', 'metrics'];

export interface ObservedRequest {
  request: { method?: string; headers: Fields };
  response: ResponseState;
  requestId: string;
  /** Id of the client's protocol. */
  protocol: string;
}

export interface Observation {
  /** Time at which it began, by the monotonic clock, in milliseconds. */
  readonly startedAt: number;
  /** Name of the route, e.g. `videos.create`. */
  route: string;
  /** Id of the client's protocol. */
  protocol: string;
  /** Id of the client's key. */
  key?: string;
  /** Error code in the response. */
  error?: ErrorCode;
  /** Called before each attempt; returns headers to add to the upstream request. */
  attempt(): Record<string, string>;
  /** Logs the outcome of the call and returns it. The observation ends after both the outcome and the response. */
  follow(call: FollowedCall, outcome: Promise<DispatchOutcome>): Promise<DispatchOutcome>;
}

export interface FollowedCall {
  call: InferenceCall;
  key: Key;
  decision: RoutingDecision;
  /** Cost in 1e-12 USD; undefined without a known price. */
  costOf(outcome: DispatchOutcome): bigint | undefined;
  /** Tokens of its usage record; undefined without any. */
  usageOf(): Usage | undefined;
}

export function observe(
  { request, response, requestId, protocol }: ObservedRequest,
  { observer, log, clock }: ObservationOptions,
): Observation {
  const startedAt = clock.monotonic();
  const { method = 'GET', headers } = request;
  const { traceparent, tracestate } = headers as Record<string, string | undefined>;
  const watched: RequestObservation | undefined = observer?.begin({ requestId, method, traceparent, tracestate });
  /** Resolves when the outcome of the call is logged. */
  let logged: Promise<DispatchOutcome> | undefined;

  async function follow(followed: FollowedCall, dispatched: Promise<DispatchOutcome>): Promise<DispatchOutcome> {
    const outcome = await dispatched;
    observation.error = outcome.error?.code;
    watched?.callEnded(factsOf(followed, outcome));
    logCall(followed, outcome, log);
    return outcome;
  }

  async function end(): Promise<void> {
    const outcome = await logged?.catch(() => undefined);
    const { route, error } = observation;
    const status = response.headersSent ? response.statusCode : undefined;
    const isGone = status === undefined || !response.writableFinished;
    const ending = outcome?.status ?? (isGone ? 'client-closed' : error === undefined ? 'complete' : 'refused');
    const milliseconds = clock.monotonic() - startedAt;
    watched?.requestEnded({ route, protocol: observation.protocol, status, outcome: ending, error, milliseconds });
    if (!outcome && !UNLOGGED_ROUTES.includes(route))
      logRequest({ ...observation, requestId, method, status, milliseconds }, log);
  }

  const observation: Observation = {
    startedAt,
    route: 'unknown',
    protocol,
    attempt: () => watched?.attemptStarting() ?? {},
    follow(followed, dispatched) {
      logged = follow(followed, dispatched);
      return logged;
    },
  };
  response.on('close', end);
  return observation;
}

interface Ended extends Pick<Observation, 'route' | 'key' | 'error'> {
  requestId: string;
  method: string;
  status: number | undefined;
  milliseconds: number;
}

function logRequest(
  { requestId, route, method, key, status, error, milliseconds }: Ended,
  log: ObservationOptions['log'],
): void {
  const line = { requestId, route, method, key, httpStatus: status, error, milliseconds: Math.round(milliseconds) };
  if (error === undefined) log.info(line, 'answered');
  else log.warn(line, 'refused');
}

function logCall(
  { call, key, decision, costOf, usageOf }: FollowedCall,
  outcome: DispatchOutcome,
  log: ObservationOptions['log'],
): void {
  const { status, path, partial, facts, error, attempts, firstByte } = outcome;
  const isRefused = status === 'refused';
  const cost = isRefused ? undefined : costOf(outcome);
  const line = {
    requestId: call.requestId,
    protocol: call.protocol.id,
    key: key.id,
    model: decision.model,
    endpoint: attempts.at(-1)?.endpoint,
    attempts: attempts.length,
    path: isRefused ? undefined : path,
    stream: isRefused ? undefined : call.stream,
    status: isRefused ? undefined : status,
    usage: isRefused ? undefined : usageOf(),
    partial,
    finish: facts?.finish,
    cost: cost && decimalOf(cost),
    error: error?.code,
    upstreamStatus: error?.upstreamStatus,
    cause: error && causeOf(error),
    firstByte: isRefused || firstByte === undefined ? undefined : Math.round(firstByte),
    milliseconds: Math.round(outcome.milliseconds),
  };
  if (isRefused) log.warn(line, 'refused');
  else log.info(line, 'answered');
}

function factsOf({ call, decision, costOf, usageOf }: FollowedCall, outcome: DispatchOutcome): CallFacts {
  const { status, facts, error, milliseconds, firstByte } = outcome;
  return {
    protocol: call.protocol.id,
    operation: call.operation.telemetryName,
    stream: call.stream,
    model: decision.model,
    status,
    usage: usageOf(),
    milliseconds,
    firstByte,
    cost: costOf(outcome),
    error: error?.code,
    attempts: outcome.attempts.map(attemptFacts),
    finish: facts?.finish,
    responseModel: facts?.model,
  };
}

function attemptFacts({ endpoint, model, status, error, firstByte, milliseconds }: Attempt): AttemptFacts {
  const slash = endpoint.indexOf('/');
  const [provider, upstreamModel] = [endpoint.slice(0, slash), endpoint.slice(slash + 1)];
  return { provider, model, upstreamModel, status, error, firstByte, milliseconds };
}
