/** The recorded request as a client of another protocol would have written it. */

import { GatewayError } from '../../src/core/errors.ts';
import { copyJson } from '../../src/core/json/copy.ts';
import type { Json } from '../../src/core/json/json.ts';
import type { ModelRules } from '../../src/core/model.ts';
import { protocolOf } from '../../src/protocols/index.ts';
import { STATE_INCLUDED } from '../../src/protocols/responses/request-fields.ts';
import { question } from '../gateway/harness.ts';
import type { Recording, UpstreamId } from './recordings.ts';

export interface ClientRequest {
  body: Json;
  /** What the other protocol has no word for, so that no client of it asks for it. */
  dropped: string[];
  /** Why there is no such request; the body is a plain question then. */
  impossible?: string;
}

/** Clients ask for whatever their protocol knows; it is the gateway that must know its models. */
const EVERYTHING: ModelRules = {
  sampling: 'always',
  bothSampling: true,
  prefill: true,
  midSystem: true,
  forcedChoice: true,
  reasoningOff: true,
  schemaWithTools: true,
  resultMedia: true,
};

export function plainRequest(client: UpstreamId, model: string): ClientRequest {
  if (client === 'responses') return { body: { model, input: 'Hello', include: [STATE_INCLUDED] }, dropped: [] };
  return { body: question(client, model, 'Hello'), dropped: [] };
}

export function ownRequest(recording: Recording, model: string): ClientRequest {
  const body = copyJson(recording.request);
  const [router = ''] = model.split('/');
  // What was said to a router upstream is, said here, meant for it. What it may fall back on is not replayed.
  if (body.provider) body.provider = { options: { [router]: { provider: body.provider } } };
  delete body.models;
  return { body: recording.protocol === 'generate' ? body : { ...body, model }, dropped: [] };
}

export function translatedRequest(recording: Recording, client: UpstreamId, model: string): ClientRequest {
  const from = protocolOf(recording.protocol);
  const to = protocolOf(client);
  try {
    const request = from.operations.complete.decodeRequest(copyJson(recording.request));
    request.stream = false;
    // Only a budget of zero says in generateContent that nothing is to be thought.
    const rules: ModelRules = client === 'generate' ? { ...EVERYTHING, reasoning: 'budget' } : EVERYTHING;
    const { body, dropped } = to.operations.complete.encodeRequest(request, { origin: 'client', model, rules });
    delete body.stream_options;
    return { body, dropped: [...request.dropped, ...dropped] };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { ...plainRequest(client, model), impossible: error.message };
  }
}

export function hidesReasoning(client: UpstreamId, body: Json): boolean {
  switch (client) {
    case 'chat':
      return body.reasoning?.exclude === true;
    case 'messages':
      return body.thinking?.display === 'omitted';
    case 'generate': {
      const thinking = body.generationConfig?.thinkingConfig;
      return thinking !== undefined && thinking.includeThoughts !== true;
    }
    case 'responses':
      return false;
  }
}
