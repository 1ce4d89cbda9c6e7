/** The operation `embed`: converts texts to vectors. */

import type { Usage } from '../../core/chat.ts';
import type { EmbeddingRequest, EmbeddingResponse } from '../../core/embedding.ts';
import { GatewayError } from '../../core/errors.ts';
import { writeBody, yieldIfLarge } from '../../core/json/body.ts';
import { copyJson } from '../../core/json/copy.ts';
import type { Json } from '../../core/json/json.ts';
import { withEdits } from '../../core/json/spans.ts';
import type { Cost } from '../../core/operation.ts';
import type { Protocol, UpstreamProtocol } from '../../core/protocol.ts';
import { addOptions } from '../../routing/provider-options.ts';
import { costOf } from '../response/cost.ts';
import { relayEdits } from '../response/whole.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { textUsage, tokensOfLength } from '../tokens/expected-usage.ts';
import type { OperationHandler } from './handler.ts';
import { inputReserved } from './reservations.ts';

/** Text in each answer with vectors, of any provider. */
const VECTOR_MARK = '"embedding';

export const embed: OperationHandler = {
  free: false,
  isTiered: false,
  hasOutput: false,
  expectedUsage: ({ protocol, body, bytes }) => textUsage(inputTokens(protocol, body, bytes)),
  reservation: inputReserved,

  async translate(call, endpoint, { upstream, target }) {
    const client = embedOf(call.protocol);
    const wire = embedOf(upstream);
    client.check(call.body);
    const request = client.decodeRequest(copyJson(call.body));
    await yieldIfLarge(call.bytes.length);
    const { body: encoded, dropped } = wire.encodeRequest(request, target);
    const { embeddings } = endpoint.dialect;
    const body = embeddings ? embeddings.request(encoded, target.model) : encoded;
    addOptions(body, endpoint);
    const names = dropped.map((name) => call.protocol.parameterName(name));
    return {
      path: 'translated',
      upstream,
      operation: embeddings ? { ...wire, upstreamPath: embeddings.path } : wire,
      target,
      body: await writeBody(body, call.bytes.length),
      dropped: [...new Set([...request.dropped, ...names])],
    };
  },

  readWhole(response, context) {
    const { bytes } = response;
    const { call, planned, endpoint } = context;
    const json = endpoint.dialect.embeddings?.response(response.json) ?? response.json;
    const client = embedOf(call.protocol);
    const wire = embedOf(planned.upstream);
    const reported = wire.usageOf(json);
    // Some servers count nothing, and report zero.
    const counted = reported?.input ? reported : { ...reported, estimated: true };
    const input = counted.input || inputTokens(call.protocol, call.body, call.bytes);
    const usage: Usage = { ...counted, input, output: 0 };
    const facts = wire.factsOf(json);
    const { model } = context.options;
    const charged = (counted: Usage): Cost | undefined => costOf(counted, facts.finish, context);
    const decoded = wire.decodeResponse(json);
    assertComplete(decoded, client.decodeRequest(call.body));
    const cost = { operation: client, usage, costOf: charged };
    const asIs = planned.path !== 'translated' && client.isAsAsked(json, call.body);
    const body = asIs
      ? withEdits(bytes, relayEdits(response, { operation: client, model, counted: reported && cost }))
      : Buffer.from(JSON.stringify(client.encodeResponse({ ...decoded, usage }, call.body, model)));
    return { body, usage, facts };
  },

  /** Providers bill the input of an answer with vectors, also of one that lacks some or broke off. */
  failedUsage({ bytes, json }, { endpoint, planned }) {
    const reported = json && embedOf(planned.upstream).usageOf(endpoint.dialect.embeddings?.response(json) ?? json);
    if (reported?.input) return reported;
    if (reported?.reportedCost === undefined && !bytes.includes(VECTOR_MARK)) return undefined;
    return { ...reported, estimated: true };
  },
};

function embedOf<Of extends UpstreamProtocol>({ id, operations }: Of): NonNullable<Of['operations']['embed']> {
  if (operations.embed) return operations.embed;
  throw new GatewayError('invalid_request', `The protocol ${id} of this provider has no embeddings.`, {
    param: 'model',
  });
}

/** Missing vectors would shift the others to the wrong texts. */
function assertComplete({ vectors }: EmbeddingResponse, { inputs }: EmbeddingRequest): void {
  if (vectors.length === inputs.length && Object.keys(vectors).length === inputs.length) return;
  throw new GatewayError(
    'upstream_error',
    `The upstream sent ${Object.keys(vectors).length} embeddings for ${inputs.length} inputs.`,
  );
}

function inputTokens(protocol: Protocol, body: Json, bytes: Buffer): number {
  try {
    const { inputs } = embedOf(protocol).decodeRequest(body);
    return inputs.reduce(
      (sum, input) => sum + (input.type === 'text' ? estimateOutput(input.text) : input.tokens.length),
      0,
    );
  } catch {
    return tokensOfLength(bytes.length);
  }
}
