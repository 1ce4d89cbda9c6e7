/** Translated request: decodes the body to the hub form, adds what it lacks, and encodes it for another protocol. */

import type { ChatRequest, Finish, OpenPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { checkTexts, writeBody, yieldIfLarge } from '../../core/json/body.ts';
import { copyJson } from '../../core/json/copy.ts';
import { TEXT_VALUES } from '../../core/json/scan.ts';
import type { EncodedRequest } from '../../core/operation.ts';
import { settleResults } from '../../core/results.ts';
import type { Endpoint } from '../../routing/endpoint.ts';
import type { InferenceCall } from '../../routing/inference-call.ts';
import { addOptions } from '../../routing/provider-options.ts';
import type { Translation } from '../operations/handler.ts';
import { textOfParts } from '../response/assembler.ts';
import { wrappedFormat } from '../response/wrapped-answer.ts';
import { estimateOutput } from '../tokens/estimate.ts';
import { keepWithin } from './output-limit.ts';
import type { Plan } from './planned-request.ts';
import { renameTools } from './tool-names.ts';

/** Throws errors of the target's encoder with the client's field names. */
export async function planTranslation(
  call: InferenceCall,
  endpoint: Endpoint,
  { upstream, target, enrich }: Translation,
): Promise<Plan> {
  const { complete: client } = call.protocol.operations;
  const { complete: wire, 'count-tokens': counting } = upstream.operations;
  const counts = call.operation.name === 'count-tokens';
  call.operation.check(call.body);
  const own = copyJson(call.body);
  await yieldIfLarge(call.bytes.length);
  const request = client.decodeRequest(own);
  request.stream = call.stream;
  const limit = call.limitOf?.(endpoint);
  if (limit?.isExplicit) request.maxTokens ??= limit.tokens;
  const asClient = request.tools.map((tool) => ({ ...tool }));
  const toolNames = renameTools(request, wire.toolName);

  const wrapped = wire.answersAreObjects ? wrappedFormat(request.format) : undefined;

  function encode(asked: ChatRequest): EncodedRequest {
    const encoded = wire.encodeRequest(wrapped ? { ...asked, format: wrapped } : asked, target);
    addOptions(encoded.body, endpoint);
    const { dialect } = endpoint;
    const adapted = (dialect.adaptTranslated ?? dialect.adapt)?.(encoded.body, target.rules);
    if (limit) keepWithin(encoded.body, limit, { operation: wire, rules: target.rules });
    const body = counts ? counting?.countBody(encoded.body, target) : encoded.body;
    if (counts) dialect.adaptCount?.(body, target.model);
    return { body, dropped: [...encoded.dropped, ...(adapted?.dropped ?? [])] };
  }

  try {
    await checkTexts(argumentsIn(request), tooManyValues);
    const settled = settleResults(request.turns, { counted: counts });
    request.turns = settled.turns;
    await enrich(request);
    await yieldIfLarge(call.bytes.length);
    const { body: encoded, dropped } = encode(request);
    await yieldIfLarge(call.bytes.length);
    const body = await writeBody(encoded, call.bytes.length);
    const names = [...settled.dropped, ...dropped].map((name) => call.protocol.parameterName(name));
    const continueWith = (parts: OpenPart[], finish: Finish, counted: number) => {
      // All rounds share one output limit.
      const used = Math.max(counted, estimateOutput(textOfParts(parts)));
      const rest = limit && Math.max(1, limit.tokens - used);
      return Buffer.from(JSON.stringify(encode(continued(request, parts, finish, rest)).body));
    };
    const all = [...new Set([...request.dropped, ...names])];
    return {
      path: 'translated',
      upstream,
      operation: (counts && counting) || wire,
      target,
      body,
      dropped: all,
      request: { ...request, tools: asClient },
      toolNames,
      wrapsAnswer: wrapped !== undefined,
      continueWith,
    };
  } catch (error) {
    if (!(error instanceof GatewayError) || error.param === undefined) throw error;
    throw new GatewayError(error.code, error.message, {
      ...error,
      param: call.protocol.parameterName(error.param),
      cause: error,
    });
  }
}

/** The request that continues an answer: with its continuation token, or with the partial answer as the last turn. */
function continued(request: ChatRequest, parts: OpenPart[], { token }: Finish, maxTokens?: number): ChatRequest {
  const limit = maxTokens === undefined ? {} : { maxTokens };
  if (token !== undefined) return { ...request, ...limit, continuation: token };
  return { ...request, ...limit, turns: [...request.turns, { role: 'assistant', parts }] };
}

/** Arguments of earlier calls, which encoders read. */
function argumentsIn({ turns }: ChatRequest): string[] {
  return turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' && !part.custom ? part.args : [])));
}

function tooManyValues(): GatewayError {
  const message = `The arguments of the calls in the conversation have more than ${TEXT_VALUES} values together.`;
  return new GatewayError('invalid_request', message, { param: 'turns.parts.arguments' });
}
