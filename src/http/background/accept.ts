/** Acceptance of a background response: checked like other requests, stored, and answered before it is run. */

import { GatewayError } from '../../core/errors.ts';
import type { Fields } from '../../core/fields.ts';
import type { Protocol } from '../../core/protocol.ts';
import { noEndpointError, type RoutingDecision } from '../../routing/decision.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { REQUEST_HEADERS } from '../../routing/traced-headers.ts';
import type { AppOptions } from '../app-options.ts';
import type { Exchange } from '../exchange.ts';
import { keyOf } from '../request-context.ts';
import { openBackgroundStream, STREAM_HEADERS, type StreamOptions } from './stream.ts';

/** Fields of the gateway, and names of conversations. */
const OWN_HEADERS = /^x-(?:polygate-|(?:litellm-|claude-code-)?session-id$)/;

/** Throws `unsupported_parameter`, `rate_limit_exceeded`, `insufficient_quota` and the other errors that refuse a request. */
export async function acceptInBackground(
  exchange: Exchange,
  { call, decision }: { call: InferenceCall; decision: RoutingDecision },
  { admission, background, ...options }: Pick<AppOptions, 'admission' | 'background'> & StreamOptions,
): Promise<void> {
  const { stored } = options;
  const key = keyOf(exchange);
  const [first] = decision.candidates;
  if (!first) throw noEndpointError(decision);
  if (!stored.isOn(key.settings.storeResponses))
    throw refusal('the gateway stores no responses, so that none could be fetched later');
  const { headers, withdraw } = await admission.open(call, key, decision);
  try {
    exchange.headers.setRateLimit(() => headers);
    const kept = keptHeaders(call.headers, call.protocol);
    const { id: provider } = first.endpoint.provider;
    const body = await background.accept(call, { model: decision.model, provider, headers: kept });
    if (!call.stream) return exchange.send({ body });
    // The memory of the request is still reserved.
    const found = await stored.find({ owner: key.id, reserve() {} }, String(body.id));
    const events = await openBackgroundStream(found, 0, options);
    if (!events) throw new GatewayError('internal_error', 'The stream is not there.');
    exchange.hold.release();
    exchange.send({ headers: STREAM_HEADERS, body: events });
  } finally {
    // It is admitted again when it is run.
    withdraw();
  }
}

function refusal(reason: string): GatewayError {
  return new GatewayError('unsupported_parameter', `background is not possible here: ${reason}.`, {
    param: 'background',
  });
}

/** Fields that count when the request is run: those of the gateway, those that are forwarded, and those of its trace. */
function keptHeaders(headers: Fields, { forwardedHeaders }: Protocol): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const isTraced = name === 'conversation_id' || REQUEST_HEADERS.includes(name);
    const isKept = isTraced || OWN_HEADERS.test(name) || Object.hasOwn(forwardedHeaders, name);
    if (isKept && typeof value === 'string') kept[name] = value;
  }
  return kept;
}
