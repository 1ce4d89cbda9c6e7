/** Request encoder of the messages protocol. */

import type { ChatRequest, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { createSchemaBudget } from '../../core/json/schema-budget.ts';
import { unsupportedTurnDetails } from '../../core/losses.ts';
import type { ModelRules } from '../../core/model.ts';
import type { EncodedRequest, Target } from '../../core/operation.ts';
import { encodePart } from './block-encoder.ts';
import { limitMarks } from './cache.ts';
import { encodeReasoning } from './reasoning.ts';
import { DEFAULT_MAX_TOKENS, NEWEST } from './rules.ts';
import { encodeFormat, encodeTools } from './tool-encoder.ts';
import { encodeTurns } from './turn-encoder.ts';

/** Parameters that this protocol does not support. */
const UNSUPPORTED_PARAMETERS = [
  'frequencyPenalty',
  'presencePenalty',
  'seed',
  'logprobs',
  'logitBias',
  'verbosity',
  'cacheKey',
  'metadata',
  'audio',
] as const satisfies readonly (keyof ChatRequest)[];

const DOCUMENT_DETAILS = ['title', 'context', 'cite'] as const;
const SUPPORTED_DETAILS = {
  protocol: 'messages',
  names: false,
  media: { document: DOCUMENT_DETAILS, text: DOCUMENT_DETAILS },
};

/** Throws `unsupported_*` for output modalities other than text. */
export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  refuseOtherKinds(request);
  const { rules, model } = target;
  const [leading, conversation] = splitSystem(request.turns);
  const { messages, foreignLoop, dropped: unshown } = encodeTurns(conversation, target);
  const schemas = createSchemaBudget();
  const tools = encodeTools(request, rules, schemas);
  const format = encodeFormat(request, rules, schemas);
  const maxTokens = request.maxTokens ?? rules.maxOutput ?? DEFAULT_MAX_TOKENS;
  const reasoning = encodeReasoning(request, rules, { maxTokens, loop: foreignLoop });
  const forced = ['any', 'tool'].includes(tools.fields.tool_choice?.type);
  const crowdedOut = forced && thinks(reasoning.thinking);
  const thinking = crowdedOut ? undefined : reasoning.thinking;

  const dropped = [...tools.dropped, ...format.dropped, ...unshown];
  if (reasoning.dropped || crowdedOut) dropped.push('reasoning');
  const body: Json = { model, max_tokens: maxTokens };
  const system = encodeSystem(leading, [...tools.instructions, ...format.instructions], target);
  if (system.length > 0) body.system = system;
  body.messages = messages;
  Object.assign(body, tools.fields);
  if (thinking) body.thinking = thinking;
  const outputConfig = { ...(reasoning.effort && { effort: reasoning.effort }), ...format.fields };
  if (Object.keys(outputConfig).length > 0) body.output_config = outputConfig;
  dropped.push(...encodeSampling(request, rules, { body, thinking: thinks(thinking) }));
  dropped.push(...encodeAccount(request, body));
  dropped.push(
    ...UNSUPPORTED_PARAMETERS.filter((parameter) => request[parameter] !== undefined),
    ...unsupportedTurnDetails(request.turns, SUPPORTED_DETAILS),
  );
  if (request.stream) body.stream = true;
  limitMarks(body);
  return { body, dropped };
}

function refuseOtherKinds(request: ChatRequest): void {
  if ((request.candidates ?? 1) > 1) {
    throw new GatewayError('unsupported_parameter', 'The model gives one answer at a time; ask for one.', {
      param: 'candidates',
    });
  }
  const other = request.modalities?.find((modality) => modality !== 'text');
  if (other) {
    throw new GatewayError('unsupported_modality', `The model answers with text only, not with ${other}.`, {
      param: 'modalities',
    });
  }
}

/** The system turns before the conversation, and the conversation. */
function splitSystem(turns: Turn[]): [Turn[], Turn[]] {
  const start = turns.findIndex((turn) => turn.role !== 'system');
  const count = start < 0 ? turns.length : start;
  return [turns.slice(0, count), turns.slice(count)];
}

function encodeSystem(turns: Turn[], instructions: string[], target: Target): Json[] {
  const parts = turns.flatMap((turn) => turn.parts).filter((part) => part.type === 'text');
  const blocks = parts.flatMap((part) => encodePart(part, target));
  return [...blocks, ...instructions.map((text) => ({ type: 'text', text }))];
}

function thinks(thinking: Json): boolean {
  return thinking !== undefined && thinking.type !== 'disabled';
}

const SAMPLING = ['temperature', 'topP', 'topK'] as const;

/** Writes sampling parameters into the body; returns the names of unsupported ones. */
function encodeSampling(
  request: ChatRequest,
  rules: ModelRules,
  { body, thinking }: { body: Json; thinking: boolean },
): string[] {
  const dropped: string[] = [];
  const asked = request.stop ?? [];
  const stop = (rules.stop ?? NEWEST.stop) ? asked.filter((text) => text.trim() !== '') : [];
  if (stop.length > 0) body.stop_sequences = stop;
  if (stop.length < asked.length) dropped.push('stop');
  if ((rules.sampling ?? NEWEST.sampling) === 'never' || thinking) {
    return [...dropped, ...SAMPLING.filter((parameter) => request[parameter] !== undefined)];
  }
  if (request.temperature !== undefined) body.temperature = Math.min(request.temperature, 1);
  if (request.topK !== undefined) body.top_k = request.topK;
  if (request.topP === undefined) return dropped;
  if (request.temperature !== undefined && !(rules.bothSampling ?? NEWEST.bothSampling)) return [...dropped, 'topP'];
  body.top_p = request.topP;
  return dropped;
}

const MAX_USER_CHARACTERS = 256;

/** User id and service tier. An id longer than the field keeps its end, which usually identifies the user. */
function encodeAccount(request: ChatRequest, body: Json): string[] {
  if (request.user !== undefined) body.metadata = { user_id: request.user.slice(-MAX_USER_CHARACTERS) };
  switch (request.tier) {
    case undefined:
      return [];
    case 'auto':
    case 'priority':
      body.service_tier = 'auto';
      return [];
    case 'default':
      body.service_tier = 'standard_only';
      return [];
    case 'flex':
    case 'ultrafast':
      return ['tier'];
  }
}

/** Members of a token count body. */
const COUNT_FIELDS = [
  'model',
  'system',
  'messages',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'cache_control',
];

/** The body of a token count for an encoded request. */
export function countBody(body: Json): Json {
  return Object.fromEntries(
    COUNT_FIELDS.filter((field) => body[field] !== undefined).map((field) => [field, body[field]]),
  );
}
