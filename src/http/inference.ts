/** Inference requests: body, routing decision, admission, dispatch and response. */

import { GatewayError } from '../core/errors.ts';
import { type BodyFacts, readBody, yieldIfLarge } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import { ANY_LONG_TEXT, withStandIns } from '../core/json/long-text.ts';
import type { Operation, RouteMatch } from '../core/operation.ts';
import { dispatch } from '../inference/dispatch.ts';
import { handlerOf } from '../inference/operations/index.ts';
import { type DispatchOutcome, servedBy } from '../inference/outcome.ts';
import type { Reply } from '../inference/response/reply.ts';
import { routingHeadersOf } from '../inference/routing-headers.ts';
import { MEDIA_MEMBER, soughtNames } from '../inference/sought-names.ts';
import { countByEstimate } from '../inference/tokens/expected-usage.ts';
import { type DecisionOptions, decideRouting, type RoutingDecision } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { AppOptions } from './app-options.ts';
import { noRoom } from './body.ts';
import { namingReply } from './conversation-reply.ts';
import { errorResponse } from './errors.ts';
import type { Exchange } from './exchange.ts';
import { keyOf, NO_BODY, type RequestContext } from './request-context.ts';

/** Call that an exchange asks for. */
export interface AskedCall {
  call: InferenceCall;
  match: RouteMatch;
  /** Called before the request is sent to an upstream. Rejects if it must not be sent. */
  onAdmitted?(): Promise<void>;
  /** Answers a refusal otherwise; undefined leaves it as it is. */
  onRefused?(error: GatewayError): Promise<void> | undefined;
  /** Stands between the response and the client. */
  wrapReply?(reply: Reply): Reply;
}

const ESTIMATED = { 'x-polygate-estimated': 'true' };

export function handleInference(
  context: RequestContext,
  { operation, match }: { operation: Operation; match: RouteMatch },
  options: AppOptions,
): Promise<void> {
  const { headers } = context.request;
  checkContentType(headers['content-type'], headers['content-encoding']);
  const read = readCall(context, { operation, match });
  return read instanceof Promise
    ? read.then((call) => handleCall(context, { call, match }, options))
    : handleCall(context, { call: read, match }, options);
}

export async function handleCall(exchange: Exchange, asked: AskedCall, options: AppOptions): Promise<void> {
  const { headers, observation } = exchange;
  const { call, match, onAdmitted, onRefused, wrapReply } = asked;
  const { operation } = call;
  const key = keyOf(exchange);
  const dispatching = options.dispatch();
  const decided = decideCall(exchange, { call, match, state: dispatching.state }, options);
  const decision = decided instanceof Promise ? await decided : decided;
  const [first] = decision.candidates;
  if (operation.name === 'count-tokens' && first && !first.endpoint.dialect.countsTokens) {
    exchange.send({ headers: ESTIMATED, body: operation.encodeCount(countByEstimate(call, first.endpoint)) });
    return;
  }
  headers.setRateLimit(() => options.admission.rateLimitHeaders(key, decision.model));
  if (operation.name === 'complete' && operation.stored?.inBackground(call.body)) {
    const { acceptInBackground } = await import('./background/accept.ts');
    return acceptInBackground(exchange, { call, decision }, options);
  }
  const pauseBeforeAdmission = yieldIfLarge(call.bytes.length);
  if (pauseBeforeAdmission) await pauseBeforeAdmission;
  const admission = options.admission.open(call, key, decision, exchange.hold.release);
  const admitted = admission instanceof Promise ? await admission : admission;
  const { meter, limitOf } = admitted;
  headers.setRateLimit(() => admitted.headers);
  if (!handlerOf(operation).free) headers.setGenerationId(call.requestId);
  if (limitOf) call.limitOf = limitOf;
  if (onAdmitted) {
    await onAdmitted().catch((error) => {
      admitted.withdraw();
      throw error;
    });
  }
  const created = exchange.createReply();
  const reply = namingReply(wrapReply?.(created) ?? created, call);
  const outcome = await observation.follow(
    { call, key, decision, costOf: (ended) => costOf(meter, ended), usageOf: () => meter.counted },
    dispatch(call, decision, reply, {
      ...dispatching,
      meter,
      admitModel: admitted.admitModel,
      admitRound: admitted.admitRound,
      onEnded: admitted.discard,
    }),
  );
  const { status, error, attempts } = outcome;
  if (status !== 'refused' || !error || exchange.isGone) return;
  return onRefused?.(error) ?? sendRefusal(reply, call, { decision, attempts, error });
}

/** Sends the error of a refused call, or an estimate where a provider counts, but not at this address or for this model. */
function sendRefusal(
  reply: Reply,
  call: InferenceCall,
  { decision, attempts, error }: Pick<DispatchOutcome, 'attempts'> & { decision: RoutingDecision; error: GatewayError },
): void {
  const { operation } = call;
  const [first] = decision.candidates;
  const explained = routingHeadersOf(call, { decision, attempts });
  if (operation.name === 'count-tokens' && first && error.upstreamStatus === 404) {
    const body = Buffer.from(JSON.stringify(operation.encodeCount(countByEstimate(call, first.endpoint))));
    sendWhole(reply, 200, { ...ESTIMATED, ...explained, 'content-type': 'application/json' }, body);
  } else {
    const { status, headers, body } = errorResponse(error, call.protocol, call.requestId);
    sendWhole(reply, status, { ...headers, ...explained }, body);
  }
}

function sendWhole(reply: Reply, status: number, headers: Record<string, string>, body: Buffer): void {
  reply.head(status, { ...headers, 'content-length': String(body.length) });
  reply.end(body);
}

/** Checks a call, resolves its references, and decides its routing; synchronous, unless it is large or has references. */
export function decideCall(
  exchange: Pick<Exchange, 'key' | 'hold'>,
  { call, match, state }: AskedCall & Pick<DecisionOptions, 'state'>,
  options: AppOptions,
): Promise<RoutingDecision> | RoutingDecision {
  const key = keyOf(exchange);
  const models = options.models();
  const model = modelOf(call, match, models.routes.defaultModel);

  function reserve(bytes: number): void {
    const reservation = options.bodyBudget.open(key.id, bytes);
    if (!reservation) throw noRoom();
    exchange.hold.keep(reservation.release);
  }

  function prepare(): Promise<void> | undefined {
    // Of such a text, type and length are checked.
    withStandIns(
      () => ANY_LONG_TEXT,
      () => call.operation.checkLimits(call.body),
    );
    const { storeResponses: mayStore } = key.settings;
    const beforeReads = () => options.admission.checkMinute(call, key);
    return options.stored.prepare(call, { mayStore, beforeReads, reserve, onEnd: exchange.hold.keep });
  }

  // Keys with limited models or budgets may not send members that let an upstream choose another model.
  const needsPrices = options.admission.hasBudget(key);
  const decide = () =>
    decideRouting(call, model, {
      models,
      state,
      allows: key.allows,
      isRestricted: key.settings.models !== undefined || needsPrices,
      needsPrices,
    });
  const pause = yieldIfLarge(call.bytes.length);
  const preparing = pause ? pause.then(prepare) : prepare();
  return preparing ? preparing.then(() => yieldIfLarge(call.bytes.length)).then(decide) : decide();
}

function costOf(meter: UsageMeter, { endpoint, usage, abandoned, facts }: DispatchOutcome): bigint | undefined {
  if (!endpoint || !(usage || abandoned)) return undefined;
  return meter.charge(servedBy(endpoint), { usage, finish: facts?.finish, abandoned });
}

/** The token estimate of a request with media reads all of its body; that of another one may need its length alone. */
function defersTexts({ found }: BodyFacts): boolean {
  return (found & MEDIA_MEMBER) === 0;
}

/** The body is dropped from the context, and stays out of the caller's variables, which live as long as the response. */
export function readCall(
  context: RequestContext,
  asked: { operation: Operation; match: RouteMatch },
): Promise<InferenceCall> | InferenceCall {
  const { names } = asked.operation;
  context.capture?.asked(context.body);
  const facts: BodyFacts = { found: 0 };
  const reading = readBody(context.body, { names, sought: soughtNames(asked.operation), facts, defersTexts });
  return reading instanceof Promise ? reading.then(callWith) : callWith(reading);

  function callWith(body: Json): InferenceCall {
    const call = callOf(context, { body, facts }, asked);
    context.body = NO_BODY;
    return call;
  }
}

export function callOf(
  { protocol, request, body: bytes, requestId, key, observation, capture }: Exchange,
  { body, facts }: { body: Json; facts?: BodyFacts },
  { operation, match }: { operation: Operation; match: RouteMatch },
): InferenceCall {
  return {
    requestId,
    owner: key?.id ?? '',
    protocol,
    operation,
    stream: operation.name === 'complete' && (match.stream ?? body.stream === true),
    array: match.array === true,
    headers: request.headers,
    bytes,
    body,
    scanned: facts && { bytes, found: facts.found },
    limitOf: undefined,
    arrivedAt: observation.startedAt,
    onAttempt: observation.attempt,
    watcher: capture,
  };
}

/** Name of the requested model; also sets it in a body that omits it. */
function modelOf({ body }: InferenceCall, match: RouteMatch, defaultModel: string | undefined): string {
  if (match.model !== undefined) return match.model;
  body.model ??= firstOf(body.models) ?? defaultModel;
  if (typeof body.model === 'string') return body.model;
  throw new GatewayError('invalid_request', 'model is required: a string of the form <provider>/<model_id>.', {
    param: 'model',
  });
}

/** The first entry of `models`, which can replace `model`. */
function firstOf(models: Json): string | undefined {
  return Array.isArray(models) && typeof models[0] === 'string' ? models[0] : undefined;
}

/** Throws `unsupported_media_type` for a compressed body, or a type other than JSON. A missing type counts as JSON. */
export function checkContentType(type: string | undefined, encoding: string | undefined): void {
  if (encoding !== undefined && encoding !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Encoding "${encoding}" is not accepted; send the body uncompressed.`,
    );
  }
  if (type === undefined || type === 'application/json' || /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new GatewayError('unsupported_media_type', `Content-Type "${type}" is not accepted; send application/json.`);
}
