/** Dispatch: tries the endpoints of a call in order until one answers, while nothing was written to the client. */

import { Cancellation } from '../core/cancellation.ts';
import { GatewayError, toGatewayError, withRetryAfter } from '../core/errors.ts';
import { refersToFiles } from '../routing/account-state.ts';
import type { Attempt } from '../routing/attempt.ts';
import { hasChoice, noEndpointError, type RoutingDecision, type RunnableCandidate } from '../routing/decision.ts';
import { isOurs, mayFallBack, refusesAccount, refusesModel } from '../routing/fallback.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { cooldownReason } from '../routing/ranking.ts';
import { type RoutingState, statisticsKey } from '../routing/state.ts';
import { storedTraceOf, type TraceChoice } from '../routing/stored-trace.ts';
import type { RequestEnding, UsageMeter } from '../usage/meter.ts';
import { type AttemptedCall, type AttemptOptions, RunningAttempt } from './attempt.ts';
import { type CandidatePlan, inServedProtocol, planFor, revise } from './candidate-plan.ts';
import { type DispatchOutcome, endingOf, servedBy, withVainOutput } from './outcome.ts';
import type { Plan } from './request/planned-request.ts';
import type { AttemptResult } from './response/context.ts';
import type { Reply } from './response/reply.ts';

export interface DispatchOptions extends AttemptOptions {
  state: RoutingState;
  /** Deadline of all attempts together, in milliseconds from the begin of the call. */
  totalMs: number;
  /** Meter of the usage of attempts; absent if usage is not recorded. */
  meter?: UsageMeter;
  /** Requests whose routing trace is stored; none if absent. */
  trace?: TraceChoice;
  /** Reserves what a model needs that is tried; absent if nothing limits it. Rejects with `rate_limit_exceeded`. */
  admitModel?: ((model: string) => Promise<void>) | undefined;
  /** Reserves what a further request costs that continues the answer; absent without a budget. Rejects with `insufficient_quota`. */
  admitRound?: (() => Promise<void>) | undefined;
  /** Called once at the end, also if the call fails. */
  onEnded?(): void;
}

/** A call in progress: its attempts, and the facts for response headers. */
interface DispatchState extends AttemptedCall {
  options: DispatchOptions;
  /** Cancelled when the client disconnects. */
  client: Cancellation;
  started: number;
  /** Beginnings of the attempts, in milliseconds after that. */
  begins: number[];
}

/** Maximum attempts per call: more would delay the error when every endpoint is down. */
const MAX_ATTEMPTS = 8;
/** Errors that another endpoint may not have. */
const UNSUPPORTED = ['unsupported_parameter', 'unsupported_modality', 'unsupported_tool'];

/**
 * Never rejects for an upstream failure, which is part of the outcome. Nothing is sent before its accounting is
 * ensured, and the last bytes of a response wait until it is recorded.
 */
export async function dispatch(
  call: InferenceCall,
  decision: RoutingDecision,
  reply: Reply,
  options: DispatchOptions,
): Promise<DispatchOutcome> {
  const client = new Cancellation();
  reply.onClose(() => client.cancel());
  const started = options.timer.now();
  const { meter, admitRound } = options;
  const attempted: AttemptedCall = { call, decision, reply, meter, admitRound, attempts: [] };
  const state: DispatchState = { ...attempted, options, client, started, begins: [] };
  options.state.retries.deposit();
  try {
    const ended = await tryCandidates(state);
    const outcome = outcomeOf(state, ended);
    const kept = ended.keep?.();
    await meter?.close(endingOf(outcome, traceEncoder(state, outcome)));
    if (kept) await kept;
    ended.finish?.();
    return outcome;
  } finally {
    options.onEnded?.();
  }
}

/** Returns a function that encodes the trace. The meter calls it when it knows the cost, whose lines the trace has. */
function traceEncoder(
  { call, decision, attempts, begins, started, options: { trace } }: DispatchState,
  { status }: DispatchOutcome,
): RequestEnding['trace'] {
  if (trace === undefined || trace === 'none') return undefined;
  const checked = call.arrivedAt === undefined ? undefined : started - call.arrivedAt;
  const isComplete = status === 'complete';
  return (charge) => storedTraceOf({ call, decision, attempts, begins, checked, isComplete, charge }, trace);
}

function outcomeOf(
  { attempts, started, client, options }: DispatchState,
  { status, endpoint, usage, facts, partial, abandoned, error }: CandidatesResult,
): DispatchOutcome {
  const last = attempts.at(-1);
  let before = 0;
  for (const attempt of attempts) if (attempt !== last) before += attempt.milliseconds;
  return {
    status: client.isCancelled ? 'client-closed' : status,
    attempts,
    endpoint,
    path: last?.path,
    milliseconds: options.timer.now() - started,
    firstByte: last?.firstByte === undefined ? undefined : before + last.firstByte,
    facts,
    usage,
    partial,
    abandoned,
    error: client.isCancelled ? undefined : error,
  };
}

type CandidatesResult = Pick<
  DispatchOutcome,
  'status' | 'usage' | 'facts' | 'partial' | 'abandoned' | 'error' | 'endpoint'
> &
  Partial<Pick<AttemptResult, 'keep' | 'finish'>> & {
    /** Whether the credential was refused and is renewed, so that the same request may be accepted. */
    isRenewed?: boolean;
  };

type Refused = CandidatesResult & { error: GatewayError };

function isRefused(ended: CandidatesResult): ended is Refused {
  return ended.status === 'refused' && ended.error !== undefined;
}

async function tryCandidates(state: DispatchState): Promise<CandidatesResult> {
  const { decision, options, client, attempts } = state;
  let unable: GatewayError | undefined;
  let limited: GatewayError | undefined;
  let refusal: { error: GatewayError; candidate: RunnableCandidate } | undefined;
  let soonest: number | undefined;
  /** Candidates in cooldown: the first one that entered it after the routing decision comes first. */
  let { inCooldown } = decision;
  /** The first attempt that was abandoned or reported usage. */
  let charged: CandidatesResult | undefined;
  for (const routed of decision.candidates) {
    const candidate = inServedProtocol(routed, state);
    const plans = planFor(state, candidate);
    const planned = plans instanceof Promise ? await plans : plans;
    if (client.isCancelled) break;
    if (planned instanceof GatewayError) {
      if (!UNSUPPORTED.includes(planned.code)) return { status: 'refused', error: planned };
      unable ??= planned;
      decision.excluded.push({ candidate, reason: planned.message });
      continue;
    }
    const cooldown = decision.candidates.length > 1 ? options.state.breaker.cooldown(candidate.id) : undefined;
    if (cooldown) {
      if (inCooldown === decision.inCooldown) inCooldown = [candidate, ...inCooldown];
      decision.excluded.push({ candidate, reason: cooldownReason(cooldown) });
      continue;
    }
    const beyond = options.admitModel && (await refusalOfLimit(state, candidate));
    if (beyond) {
      limited ??= beyond;
      continue;
    }
    if (attempts.length > 0 && (!mayTryAgain(state) || !options.state.retries.tryWithdraw())) break;
    const first = await attempt(state, candidate, planned);
    const ended = isRefused(first) ? await attemptRevised(state, { candidate, planned }, first) : first;
    if (!isRefused(ended)) return ended;
    if (ended.abandoned || ended.usage) charged ??= ended;
    const { retryAfter } = ended.error;
    if (retryAfter !== undefined) soonest = Math.min(retryAfter, soonest ?? retryAfter);
    refusal = { error: ended.error, candidate };
    if (client.isCancelled || !decision.policy.allowFallbacks || isOurs(ended.error) || !mayFallBack(ended.error))
      break;
  }
  // If all endpoints that can serve the request are in cooldown, one is tried anyway.
  const last = refusal || client.isCancelled ? undefined : await firstAble(state, inCooldown);
  if (last && !client.isCancelled) return attempt(state, last.candidate, last.planned);
  if (limited && !refusal) return { status: 'refused', error: limited };
  const error = refusal?.error ?? unable ?? noEndpointError(decision);
  const { endpoint = refusal?.candidate.endpoint, usage, abandoned = false }: Partial<CandidatesResult> = charged ?? {};
  return { status: 'refused', error: withRetryAfter(error, soonest), endpoint, usage, abandoned };
}

/** The best endpoint in cooldown that can serve the request. */
async function firstAble(
  state: DispatchState,
  inCooldown: readonly RunnableCandidate[],
): Promise<CandidatePlan | undefined> {
  for (const routed of inCooldown) {
    const candidate = inServedProtocol(routed, state);
    const planned = await planFor(state, candidate);
    if (!(planned instanceof GatewayError || (await refusalOfLimit(state, candidate)))) return { candidate, planned };
  }
  return undefined;
}

/** The error for a model that the limits of the key do not admit. */
async function refusalOfLimit(
  { decision, options }: DispatchState,
  candidate: RunnableCandidate,
): Promise<GatewayError | undefined> {
  try {
    await options.admitModel?.(candidate.model);
    return undefined;
  } catch (error) {
    const refusal = toGatewayError(error);
    decision.excluded.push({ candidate, reason: refusal.message });
    return refusal;
  }
}

function mayTryAgain(state: DispatchState): boolean {
  return state.attempts.length < MAX_ATTEMPTS && !isTimeUp(state);
}

function isTimeUp({ started, options }: DispatchState): boolean {
  return options.timer.now() - started >= options.totalMs;
}

/** Whether the error says nothing of the endpoint: it was answering when the time of all attempts was up, or got only the rest of it. */
function isBlameless(state: DispatchState, error: GatewayError, isAnswering: boolean): boolean {
  if (isOurs(error)) return true;
  const isLocalTimeout = error.code === 'timeout' && error.upstreamStatus === undefined;
  return isLocalTimeout && isTimeUp(state) && (isAnswering || state.attempts.length > 1);
}

/** Another attempt at the same endpoint, if the refusal of the first one can be avoided. */
async function attemptRevised(state: DispatchState, refused: CandidatePlan, ended: Refused): Promise<CandidatesResult> {
  if (state.client.isCancelled || !mayTryAgain(state)) return ended;
  const revised = ended.isRenewed ? refused : await revise(state, refused, ended.error);
  return revised && !state.client.isCancelled ? attempt(state, revised.candidate, revised.planned) : ended;
}

async function attempt(state: DispatchState, candidate: RunnableCandidate, planned: Plan): Promise<CandidatesResult> {
  const { options, client, started } = state;
  const { endpoint } = candidate;
  // Before the first await, so that concurrent decisions see the probe.
  const tracked = options.state.breaker.begin(candidate.id);
  if (hasChoice(state.decision)) options.state.statistics.expect(statisticsKey(candidate.id, state.call.stream));
  try {
    await options.meter?.begin(servedBy(endpoint));
  } catch (error) {
    tracked.abandoned();
    throw error;
  }
  if (client.isCancelled) {
    tracked.abandoned();
    return { status: 'refused', error: new GatewayError('client_closed', 'The client left.') };
  }
  state.begins.push(options.timer.now() - started);
  const running = new RunningAttempt(state, candidate, planned, options);
  running.onAnswer = tracked.answers;
  const { record } = running;
  try {
    const result = await running.run({ client, until: started + options.totalMs });
    running.elapse();
    record.error = result.error?.code;
    if (client.isCancelled || (result.error && isBlameless(state, result.error, true))) tracked.abandoned();
    else if (result.error && mayFallBack(result.error)) record.cooldownMs = tracked.failed(result.error);
    else tracked.succeeded();
    if (!client.isCancelled && !result.error) learn(state, candidate, { record, result });
    const { status, usage, facts, partial, error, keep, finish } = result;
    return { status, usage, facts, partial, error, keep, finish, endpoint, abandoned: running.isAbandoned };
  } catch (thrown) {
    running.elapse();
    const error = toGatewayError(thrown);
    record.error = error.code;
    record.note = withVainOutput(record.note, running.refusedUsage);
    const isRenewed = refusesAccount(error) && endpoint.credential.failed(error, running.authorizedAt);
    if (client.isCancelled || isRenewed || isBlameless(state, error, false)) tracked.abandoned();
    else if (mayFallBack(error) || (refusesModel(error) && !refersToFiles(state.call.body)))
      record.cooldownMs = tracked.failed(error);
    else tracked.succeeded();
    return {
      status: 'refused',
      error,
      endpoint,
      usage: running.refusedUsage,
      abandoned: running.isAbandoned,
      isRenewed,
    };
  }
}

function learn(
  { call, decision, options }: DispatchState,
  { id, endpoint: { provider, dialect } }: RunnableCandidate,
  { record, result }: { record: Attempt; result: AttemptResult },
): void {
  const { statistics, bindings, absent } = options.state;
  if (call.operation.name === 'complete') absent.answered(provider.id, dialect.protocol);
  const { firstByte = record.milliseconds, milliseconds } = record;
  const sample = { firstByte, total: milliseconds, tokens: result.usage?.output, isStreamed: call.stream };
  statistics.record(statisticsKey(id, call.stream), sample);
  if (!hasChoice(decision)) return;
  bindings.bind(decision.conversation.key, id);
  const answer = result.facts?.id;
  const next = answer === undefined ? undefined : decision.conversation.keyBehind(answer);
  if (next !== undefined) bindings.bind(next, id);
}
