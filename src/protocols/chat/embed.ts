/** The operation `embed` of OpenAI's API: `POST /v1/embeddings`. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import type { Usage } from '../../core/chat.ts';
import {
  EMBEDDING_PURPOSES,
  type EmbeddingInput,
  type EmbeddingPurpose,
  type EmbeddingRequest,
  type EmbeddingResponse,
  normalized,
  type Vector,
  vectorFromBase64,
  vectorFromNumbers,
  vectorToBase64,
  vectorToNumbers,
} from '../../core/embedding.ts';
import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { knownNames } from '../../core/json/names.ts';
import type { EmbedOperation } from '../../core/operation.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { GATEWAY_FIELDS } from './request-decoder.ts';
import { addCost, usageOf } from './usage.ts';

const PATH = '/v1/embeddings';
/** OpenAI's own limit. */
const MAX_INPUTS = 2048;
/** Floats of a response that are converted from base64; a response of numbers has a bound of its own. */
const MAX_BASE64_FLOATS = 1_000_000;

const optional = (schema: TSchema) => Type.Optional(schema);
const TokenIds = Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 });
const Body = Type.Object({
  model: Type.String(),
  input: Type.Union([
    Type.String({ minLength: 1 }),
    TokenIds,
    Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: MAX_INPUTS }),
    Type.Array(TokenIds, { minItems: 1, maxItems: MAX_INPUTS }),
  ]),
  dimensions: optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
  encoding_format: optional(Type.Union([Type.Literal('float'), Type.Literal('base64')])),
  input_type: optional(Type.String()),
  user: optional(Type.String()),
  provider: optional(Type.Unknown()),
});

/** `input_type` as Cohere, Voyage and OpenRouter spell it, beside the gateway's own words. */
const PURPOSES: Record<string, EmbeddingPurpose> = {
  ...Object.fromEntries(EMBEDDING_PURPOSES.map((purpose) => [purpose, purpose])),
  search_query: 'query',
  search_document: 'document',
};

const FIELDS = new Set(['model', 'input', 'dimensions', 'encoding_format', 'input_type', 'user', ...GATEWAY_FIELDS]);

export const embed: EmbedOperation = {
  name: 'embed',
  summary: 'Embed texts',
  telemetryName: 'embeddings',

  routes: () => [
    { method: 'POST', path: PATH, match: (rest) => (rest.length === 0 ? {} : undefined), templates: [{ path: PATH }] },
  ],
  schema: Body,
  example: { input: 'Hello' },
  names: knownNames([Body]),
  checkLimits: check,
  check,
  conversation: ({ user }) => String(user ?? ''),
  decodeRequest,
  encodeResponse,

  upstreamPath: () => '/embeddings',
  gatewayFields: GATEWAY_FIELDS,
  requestModel: { paths: [['model']], required: true, spell: (model) => model },
  encodeRequest: (request, target) => ({
    body: {
      model: target.model,
      input: request.inputs.map((input) => (input.type === 'text' ? input.text : input.tokens)),
      ...(request.dimensions !== undefined && { dimensions: request.dimensions }),
      encoding_format: 'float',
    },
    dropped: [...(request.purpose ? ['purpose'] : []), ...(request.title === undefined ? [] : ['title'])],
  }),
  decodeResponse,
  isAsAsked: ({ data }, { encoding_format = 'float' }) =>
    Array.isArray(data) &&
    data.every((item) =>
      encoding_format === 'base64' ? typeof item?.embedding === 'string' : Array.isArray(item?.embedding),
    ),
  adjust(body, { rules }) {
    if (hasTokens(body.input) && !rules.embeddingTokens) throw tokensRefused();
    if (rules.embeddingFormat !== 'float' || body.encoding_format === undefined) return false;
    delete body.encoding_format;
    return true;
  },

  modelPaths: [['model']],
  usageOf: embeddingUsage,
  factsOf: ({ id, model }) => ({ id: textOf(id), model: textOf(model), finish: 'stop' }),
  cost: { paths: [['usage']], members: addCost },
};

function check(body: Json): void {
  assertValid(Body, body);
}

function hasTokens(input: Json): boolean {
  return Array.isArray(input) && typeof input[0] !== 'string';
}

function tokensRefused(): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    "input: token ids are of OpenAI's tokenizer, and this model has another; send text (LangChain: check_embedding_ctx_length=False).",
    { param: 'input' },
  );
}

function decodeRequest(body: Json): EmbeddingRequest {
  const { input, dimensions, input_type, user } = body;
  const purpose = input_type === undefined ? undefined : lookUp(PURPOSES, input_type);
  return {
    inputs: inputsOf(input),
    ...(dimensions !== undefined && { dimensions }),
    ...(purpose && { purpose }),
    dropped: [
      ...Object.keys(body).filter((name) => !FIELDS.has(name)),
      ...(input_type !== undefined && !purpose ? ['input_type'] : []),
      ...(user === undefined ? [] : ['user']),
    ],
  };
}

function inputsOf(input: Json): EmbeddingInput[] {
  if (typeof input === 'string') return [{ type: 'text', text: input }];
  if (typeof input[0] === 'number') return [{ type: 'tokens', tokens: input }];
  return input.map(
    (item: Json): EmbeddingInput =>
      typeof item === 'string' ? { type: 'text', text: item } : { type: 'tokens', tokens: item },
  );
}

function encodeResponse({ vectors, usage }: EmbeddingResponse, request: Json, model: string): Json {
  const tokens = usage?.input ?? 0;
  const encode = request.encoding_format === 'base64' ? vectorToBase64 : vectorToNumbers;
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(normalized(vector)) })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
}

function decodeResponse({ data, usage }: Json): EmbeddingResponse {
  if (!Array.isArray(data)) throw broken('data');
  const vectors: Vector[] = [];
  let floats = 0;
  for (const [position, item] of data.entries()) {
    const index = Number.isInteger(item?.index) ? item.index : position;
    const { embedding } = item ?? {};
    const vector = typeof embedding === 'string' ? vectorFromBase64(embedding) : vectorFromNumbers(embedding);
    if (vector instanceof Float32Array) floats += vector.length;
    if (
      !vector ||
      floats > MAX_BASE64_FLOATS ||
      (vector instanceof Float32Array && vector.some(Number.isNaN)) ||
      index < 0 ||
      index >= data.length ||
      vectors[index]
    )
      throw broken(`data[${position}]`);
    vectors[index] = vector;
  }
  const counted = isObject(usage) ? embeddingUsage({ usage }) : undefined;
  return { vectors, ...(counted?.input !== undefined && { usage: { ...counted, input: counted.input } }) };
}

/** Some servers count all tokens together. */
function embeddingUsage(body: Json): Usage | undefined {
  const total = body?.usage?.total_tokens;
  return usageOf(body) ?? (Number.isInteger(total) ? { input: total, output: 0 } : undefined);
}

function broken(where: string): GatewayError {
  return new GatewayError('upstream_error', `The upstream sent embeddings whose ${where} is not readable.`);
}
