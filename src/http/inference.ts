/** A request for a model: credential, body, checks, relay. */

import { GatewayError, toGatewayError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { readBody } from '../core/json-body.ts';
import type { Action } from '../core/protocol.ts';
import type { Call } from '../inference/call.ts';
import { countByEstimate } from '../inference/count.ts';
import { endpointOf } from '../inference/models.ts';
import { relay } from '../inference/relay.ts';
import type { Key } from '../keys/store.ts';
import type { AppOptions, Exchange } from './app.ts';
import { causeOf, errorAnswer } from './errors.ts';
import { createReply } from './reply.ts';

type InferenceAction = Extract<Action, { type: 'generate' | 'count' }>;

export async function answerInference(
  exchange: Exchange,
  { action, key }: { action: InferenceAction; key: Key },
  options: AppOptions,
): Promise<unknown> {
  const { call, model } = await readCall(exchange, action, key.id);
  const endpoint = await endpointOf(options.models(), model, call.protocol.conversation(call.body, call.headers));
  if (!key.allows(endpoint.model.id)) {
    throw new GatewayError('permission_denied', `This key may not use the model "${endpoint.model.id}".`, {
      param: 'model',
    });
  }
  const { reply, common } = exchange;
  if (call.action === 'count' && !endpoint.provider.countsTokens) {
    const tokens = countByEstimate(call);
    return reply.headers({ ...common, 'x-polygate-estimated': 'true' }).send(call.protocol.encodeCount(tokens));
  }
  reply.hijack();
  const started = performance.now();
  const log = options.log.child({ requestId: call.requestId, protocol: call.protocol.id, model: endpoint.model.id });
  try {
    const outcome = await relay(call, endpoint, createReply(reply.raw, common), options.relay());
    const { error, ...facts } = outcome;
    const milliseconds = Math.round(performance.now() - started);
    log.info({ ...facts, error: error?.code, cause: error && causeOf(error), milliseconds }, 'answered');
  } catch (thrown) {
    const error = toGatewayError(thrown);
    endpoint.credential.failed(error);
    log.warn({ error: error.code, upstreamStatus: error.upstreamStatus, cause: causeOf(error) }, 'refused');
    const { status, headers, body } = errorAnswer(error, call.protocol, call.requestId);
    if (reply.raw.destroyed) return undefined;
    reply.raw.writeHead(status, { ...common, ...headers, 'content-length': String(body.length) }).end(body);
  }
  return undefined;
}

/** The key that a request's head presents. Throws `invalid_api_key`, and `invalid_request` for headers of the protocol. */
export async function authenticate({ protocol, request, query }: Exchange, keys: AppOptions['keys']): Promise<Key> {
  const presented = protocol.credential(request.headers, query);
  if (presented === undefined) throw new GatewayError('invalid_api_key', 'An API key is required.');
  const key = await keys.authenticate(presented);
  // Some clients know a wrong key by these words.
  if (!key) throw new GatewayError('invalid_api_key', 'Incorrect API key provided.');
  protocol.checkHeaders?.(request.headers);
  return key;
}

async function readCall(
  { protocol, request, requestId }: Exchange,
  action: InferenceAction,
  owner: string,
): Promise<{ call: Call; model: string }> {
  checkContentType(request.headers['content-type'], request.headers['content-encoding']);
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  const body: Json = await readBody(bytes);
  if (action.model === undefined && typeof body.model !== 'string') {
    throw new GatewayError('invalid_request', 'model is required: a string of the form <provider>/<model_id>.', {
      param: 'model',
    });
  }
  protocol.check(body, action.type);
  const stream = action.type === 'generate' && (action.stream ?? body.stream === true);
  const array = action.type === 'generate' && action.array === true;
  const call: Call = {
    requestId,
    owner,
    protocol,
    action: action.type,
    stream,
    array,
    headers: request.headers,
    bytes,
    body,
  };
  return { call, model: action.model ?? body.model };
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
