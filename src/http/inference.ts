/** Inference requests: body, routing decision, admission, dispatch and response. */

import { GatewayError } from '../core/errors.ts';
import { readBody, yieldIfLarge } from '../core/json/body.ts';
import type { Json } from '../core/json/json.ts';
import type { Operation, RouteMatch } from '../core/operation.ts';
import { dispatch, routingHeadersOf } from '../inference/dispatch.ts';
import { handlerOf } from '../inference/operations/index.ts';
import { type DispatchOutcome, servedBy } from '../inference/outcome.ts';
import { countByEstimate } from '../inference/tokens/count.ts';
import type { Key } from '../keys/store.ts';
import { decideRouting } from '../routing/decision.ts';
import type { InferenceCall } from '../routing/inference-call.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { AppOptions } from './app-options.ts';
import { errorResponse } from './errors.ts';
import { createReply } from './reply.ts';
import { keyOf, type RequestContext } from './request-context.ts';

export async function answerInference(
  context: RequestContext,
  { operation, match }: { operation: Operation; match: RouteMatch },
  options: AppOptions,
): Promise<unknown> {
  const { response, headers, observation } = context;
  const key = keyOf(context);
  const models = options.models();
  const { call, model } = await readCall(context, {
    operation,
    match,
    owner: key.id,
    defaultModel: models.routes.defaultModel,
  });
  const dispatching = options.dispatch();
  const route = await decideRouting(call, model, {
    models,
    state: dispatching.state,
    allows: key.allows,
    isRestricted: isRestricted(key),
  });
  const [first] = route.candidates;
  if (operation.name === 'count-tokens' && first && !first.endpoint.dialect.countsTokens) {
    const tokens = countByEstimate(call);
    return context.send({ headers: { 'x-polygate-estimated': 'true' }, body: operation.encodeCount(tokens) });
  }
  headers.setRateLimit(options.admission.rateLimitHeaders(key, route.model));
  await yieldIfLarge(call.bytes.length);
  const admitted = await options.admission.open(call, key, route, context.hold.release);
  const { meter, limitOf, discard } = admitted;
  headers.setRateLimit(admitted.headers);
  if (!handlerOf(operation).free) headers.setGenerationId(call.requestId);
  context.isAnswered = true;
  const bounded: InferenceCall = limitOf ? { ...call, limitOf } : call;
  const answer = createReply(response, headers);
  const carried = dispatch(bounded, route, answer, { ...dispatching, meter }).finally(discard);
  const outcome = await observation.follow({ call, key, route, costOf: (ended) => costOf(meter, ended) }, carried);
  if (outcome.status === 'refused' && outcome.error && !response.destroyed) {
    const refusal = errorResponse(outcome.error, call.protocol, call.requestId);
    const explained = routingHeadersOf(call, { route, attempts: outcome.attempts });
    const length = { 'content-length': String(refusal.body.length) };
    answer.head(refusal.status, { ...refusal.headers, ...explained, ...length });
    answer.end(refusal.body);
  }
  return undefined;
}

/** Keys with limited models or budgets may not send members that let an upstream choose another model. */
function isRestricted({ settings: { models, budgets = {} } }: Key): boolean {
  return models !== undefined || Object.keys(budgets).length > 0;
}

function costOf(meter: UsageMeter, { endpoint, usage, abandoned, facts }: DispatchOutcome): bigint | undefined {
  if (!endpoint || !(usage || abandoned)) return undefined;
  return meter.charge(servedBy(endpoint), { usage, finish: facts?.finish, abandoned });
}

interface Reading {
  operation: Operation;
  match: RouteMatch;
  owner: string;
  defaultModel: string | undefined;
}

async function readCall(
  { protocol, request, body: bytes, requestId, observation }: RequestContext,
  { operation, match, owner, defaultModel }: Reading,
): Promise<{ call: InferenceCall; model: string }> {
  checkContentType(request.headers['content-type'], request.headers['content-encoding']);
  const body: Json = await readBody(bytes, { names: operation.names });
  await yieldIfLarge(bytes.length);
  if (match.model === undefined) body.model ??= firstOf(body.models) ?? defaultModel;
  if (match.model === undefined && typeof body.model !== 'string') {
    throw new GatewayError('invalid_request', 'model is required: a string of the form <provider>/<model_id>.', {
      param: 'model',
    });
  }
  operation.checkLimits(body);
  await yieldIfLarge(bytes.length);
  const stream = operation.name === 'complete' && (match.stream ?? body.stream === true);
  const call: InferenceCall = {
    requestId,
    owner,
    protocol,
    operation,
    stream,
    array: match.array === true,
    headers: request.headers,
    bytes,
    body,
    onAttempt: observation.attempt,
  };
  return { call, model: match.model ?? body.model };
}

/** The first entry of `models`, which can replace `model`. */
function firstOf(models: Json): string | undefined {
  return Array.isArray(models) && typeof models[0] === 'string' ? models[0] : undefined;
}

function checkContentType(type: string | undefined, encoding: string | undefined): void {
  if (encoding !== undefined && encoding !== 'identity') {
    throw new GatewayError(
      'unsupported_media_type',
      `Content-Encoding "${encoding}" is not accepted; send the body uncompressed.`,
    );
  }
  if (type === undefined || /^application\/([\w.-]+\+)?json\s*(;|$)/i.test(type)) return;
  throw new GatewayError('unsupported_media_type', `Content-Type "${type}" is not accepted; send application/json.`);
}
