/** Carries a call to one endpoint after the other until one answers, as long as nothing was written to the client. */

import { GatewayError, toGatewayError } from '../core/errors.ts';
import { yieldIfLarge } from '../core/json/body.ts';
import type { Attempt } from '../routing/attempt.ts';
import { endpointName } from '../routing/candidate.ts';
import { noEndpointError, type RoutingDecision, type RunnableCandidate } from '../routing/decision.ts';
import { mayFallBack } from '../routing/fallback.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import { cooldownReason } from '../routing/ranking.ts';
import { type RoutingState, statisticsKey } from '../routing/state.ts';
import { encodeTrace, traceOf } from '../routing/trace.ts';
import type { UsageMeter } from '../usage/meter.ts';
import { type AttemptContext, type AttemptOptions, runAttempt } from './attempt.ts';
import { type DispatchOutcome, endingOf, servedBy } from './outcome.ts';
import { plan } from './request/plan.ts';
import type { Plan } from './request/planned-request.ts';
import type { AttemptResult } from './response/context.ts';
import type { Reply } from './response/reply.ts';

export interface DispatchOptions extends AttemptOptions {
  state: RoutingState;
  /** Milliseconds for all attempts together. */
  total: number;
  /** Where what it uses is written down; absent where nobody asks for it. */
  account?: UsageMeter;
}

/** A call on its way: what was tried so far, and what answers say about it. */
interface DispatchState {
  call: InferenceCall;
  route: RoutingDecision;
  reply: Reply;
  options: DispatchOptions;
  /** Aborted when the client leaves. */
  client: AbortSignal;
  started: number;
  attempts: Attempt[];
}

/** More would keep a client waiting for what is down everywhere. */
const MOST_ATTEMPTS = 8;
/** What the upstream says of the gateway's account, which holds for every model there. */
const ACCOUNT_STATUSES = [401, 402, 403];
/** What another endpoint may be able to do. */
const UNSUPPORTED = ['unsupported_parameter', 'unsupported_modality', 'unsupported_tool'];

/**
 * Never rejects for what an upstream does: the outcome says it. Nothing is sent before it is known that it will be
 * accounted for, and an answer's last bytes wait until that is done.
 */
export async function dispatch(
  call: InferenceCall,
  route: RoutingDecision,
  reply: Reply,
  options: DispatchOptions,
): Promise<DispatchOutcome> {
  const client = new AbortController();
  reply.onClose(() => client.abort());
  const started = options.timer.now();
  const journey: DispatchState = { call, route, reply, options, client: client.signal, started, attempts: [] };
  options.state.retries.deposit();
  const { finish, ...ended } = await tryCandidates(journey);
  const outcome = outcomeOf(journey, ended);
  await options.account?.close(endingOf(outcome));
  finish?.();
  return outcome;
}

function outcomeOf(
  { attempts, started, client, options }: DispatchState,
  ended: Omit<CandidatesResult, 'finish'>,
): DispatchOutcome {
  const last = attempts.at(-1);
  const before = attempts.slice(0, -1).reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return {
    ...ended,
    attempts,
    path: last?.path,
    milliseconds: options.timer.now() - started,
    ...(last?.firstByte !== undefined && { firstByte: before + last.firstByte }),
    ...(client.aborted && { status: 'client-closed' as const, error: undefined }),
  };
}

type CandidatesResult = Pick<
  DispatchOutcome,
  'status' | 'usage' | 'facts' | 'partial' | 'abandoned' | 'error' | 'endpoint'
> &
  Partial<Pick<AttemptResult, 'finish'>>;

async function tryCandidates(journey: DispatchState): Promise<CandidatesResult> {
  const { route, options, client, attempts } = journey;
  let unable: GatewayError | undefined;
  let refusal: { error: GatewayError; place?: RunnableCandidate } | undefined;
  let soonest: number | undefined;
  /** The first one that rests since the route was made. */
  let rested: { place: RunnableCandidate; planned: Plan } | undefined;
  /** What was hung up on first. */
  let abandoned: CandidatesResult | undefined;
  for (const place of route.candidates) {
    const planned = await planFor(journey, place);
    if (client.aborted) break;
    if (planned instanceof GatewayError) {
      if (!UNSUPPORTED.includes(planned.code)) return { status: 'refused', error: planned };
      unable ??= planned;
      route.excluded.push({ candidate: place, reason: planned.message });
      continue;
    }
    const resting = route.candidates.length > 1 ? options.state.breaker.cooldown(place.id) : undefined;
    if (resting) {
      rested ??= { place, planned };
      route.excluded.push({ candidate: place, reason: cooldownReason(resting) });
      continue;
    }
    if (attempts.length > 0 && (!mayTryAgain(journey) || !options.state.retries.tryWithdraw())) break;
    const ended = await attempt(journey, place, planned);
    if (ended.status !== 'refused' || !ended.error) return ended;
    if (ended.abandoned) abandoned ??= ended;
    const { retryAfter } = ended.error;
    if (retryAfter !== undefined) soonest = Math.min(retryAfter, soonest ?? retryAfter);
    refusal = { error: ended.error, place };
    if (client.aborted || !route.policy.allowFallbacks || isOurs(ended.error) || !mayFallBack(ended.error)) break;
  }
  // Where all rest, asking is better than refusing.
  if (rested && !refusal && !unable && !client.aborted) return attempt(journey, rested.place, rested.planned);
  const error = refusal?.error ?? unable ?? noEndpointError(route);
  const { endpoint } = abandoned ?? refusal?.place ?? {};
  return { status: 'refused', error: withRetryAfter(error, soonest), endpoint, abandoned: abandoned !== undefined };
}

/** The gateway itself could not go on, whatever the upstream did. */
function isOurs({ code, upstreamStatus }: GatewayError): boolean {
  return upstreamStatus === undefined && (code === 'internal_error' || code === 'unavailable');
}

function mayTryAgain({ attempts, started, options }: DispatchState): boolean {
  return attempts.length < MOST_ATTEMPTS && options.timer.now() - started < options.total;
}

function withRetryAfter(error: GatewayError, retryAfter: number | undefined): GatewayError {
  if (retryAfter === error.retryAfter) return error;
  return new GatewayError(error.code, error.message, { ...error, cause: error.cause, retryAfter });
}

/** The body for one endpoint, made anew from the client's; or why that endpoint cannot do it. */
async function planFor(
  { call, route, options, client }: DispatchState,
  place: RunnableCandidate,
): Promise<Plan | GatewayError> {
  const { memory, prepare } = options;
  try {
    await yieldIfLarge(call.bytes.length);
    const planned = await plan(call, place.endpoint, { prepare, memory, signal: client });
    return route.policy.requireParameters ? (refusalOfLoss(planned, place) ?? planned) : planned;
  } catch (error) {
    return toGatewayError(error);
  }
}

/** The refusal of a plan that leaves out what the request says. */
export function refusalOfLoss({ dropped }: Plan, place: RunnableCandidate): GatewayError | undefined {
  const [param] = dropped;
  if (param === undefined) return undefined;
  const message = `${dropped.join(', ')} cannot be told to ${endpointName(place)}, and provider.require_parameters is set.`;
  return new GatewayError('unsupported_parameter', message, { param });
}

async function attempt(journey: DispatchState, place: RunnableCandidate, planned: Plan): Promise<CandidatesResult> {
  const { options, client, started } = journey;
  const { endpoint } = place;
  // Before anything is awaited: whoever decides meanwhile sees the probe.
  const trial = options.state.breaker.begin(place.id);
  try {
    await options.account?.begin(servedBy(endpoint));
  } catch (error) {
    trial.abandoned();
    throw error;
  }
  if (client.aborted) {
    trial.abandoned();
    return { status: 'refused', error: new GatewayError('client_closed', 'The client left.') };
  }
  const { record, carried, elapse, isAbandoned } = begin(journey, place, planned);
  try {
    const relayed = await runAttempt(carried, options, { client, until: started + options.total });
    elapse();
    record.error = relayed.error?.code;
    if (client.aborted || (relayed.error && isOurs(relayed.error))) trial.abandoned();
    else if (relayed.error) trial.failed(relayed.error);
    else {
      trial.succeeded();
      learn(journey, place, { record, relayed });
    }
    return { ...relayed, endpoint, abandoned: isAbandoned() };
  } catch (thrown) {
    elapse();
    const error = toGatewayError(thrown);
    record.error = error.code;
    if (client.aborted || isOurs(error)) trial.abandoned();
    else if (mayFallBack(error)) trial.failed(error);
    else trial.succeeded();
    if (ACCOUNT_STATUSES.includes(error.upstreamStatus ?? 0)) endpoint.credential.failed(error);
    return { status: 'refused', error, endpoint, abandoned: isAbandoned() };
  }
}

interface Begun {
  record: Attempt;
  carried: AttemptContext;
  /** Sets how long the attempt has taken by now. */
  elapse(): void;
  /** Whether the gateway hung up on the upstream after the request was sent. */
  isAbandoned(): boolean;
}

/** Opens the record of an attempt, which the answer fills in as it comes. */
function begin(
  { call, route, reply, options, attempts }: DispatchState,
  place: RunnableCandidate,
  planned: Plan,
): Begun {
  const { endpoint, model, credential } = place;
  const { path, dropped } = planned;
  const record: Attempt = { endpoint: endpointName(place), model, credential, path, milliseconds: 0, dropped };
  attempts.push(record);
  const began = options.timer.now();
  const { account } = options;
  const served = servedBy(endpoint);
  let sent = false;
  let abandoned = false;
  const elapse = (): void => {
    record.milliseconds = options.timer.now() - began;
  };
  const carried: AttemptContext = {
    ...{ call, endpoint, planned, reply },
    routingHeaders() {
      elapse();
      return routingHeadersOf(call, { route, attempts });
    },
    charge: (consumption) => account?.charge(served, { ...consumption, abandoned }),
    onSent() {
      sent = true;
      account?.sent();
    },
    onHangUp() {
      abandoned = sent;
    },
    onStatus(status) {
      record.status = status;
    },
    onFirstByte() {
      record.firstByte = options.timer.now() - began;
    },
  };
  return { record, carried, elapse, isAbandoned: () => abandoned };
}

function learn(
  { call, route, options }: DispatchState,
  { id }: RunnableCandidate,
  { record, relayed }: { record: Attempt; relayed: AttemptResult },
): void {
  const { statistics, bindings } = options.state;
  const { firstByte = record.milliseconds, milliseconds } = record;
  statistics.record(statisticsKey(id, call.stream), { firstByte, total: milliseconds, tokens: relayed.usage?.output });
  if (route.candidates.length + route.excluded.length > 1) bindings.bind(route.conversation, id);
}

/** Headers that say who answers, if anyone does, and how it came to that. */
export function routingHeadersOf(
  { headers }: InferenceCall,
  { route, attempts }: { route: RoutingDecision; attempts: readonly Attempt[] },
): Record<string, string> {
  const last = attempts.at(-1);
  const wanted = String(headers['x-polygate-trace'] ?? '').toLowerCase() === 'true';
  return {
    ...(last && { 'x-polygate-endpoint': asciiName(last.endpoint) }),
    'x-polygate-attempts': String(attempts.length),
    ...(wanted && { 'x-polygate-trace': encodeTrace(traceOf(route, attempts)) }),
  };
}

function asciiName(name: string): string {
  return name.replace(/[^\x21-\x7e]/g, '?').slice(0, 300);
}
