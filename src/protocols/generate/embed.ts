/** The operation `embed` of Gemini's API: `embedContent` for one text, `batchEmbedContents` for several. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import {
  type EmbeddingPurpose,
  type EmbeddingRequest,
  type EmbeddingResponse,
  vectorFromNumbers,
  vectorToNumbers,
} from '../../core/embedding.ts';
import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { knownNames } from '../../core/json/names.ts';
import { unreadFields } from '../../core/losses.ts';
import type { EmbedOperation, Target } from '../../core/operation.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { methodRoutes, modelPath } from './routes.ts';
import { camelCased, spellings } from './spelling.ts';

const MAX_REQUESTS = 2048;

const optional = (schema: TSchema) => Type.Optional(schema);
const Part = Type.Object({ text: optional(Type.String()) });
const Content = Type.Object({ parts: Type.Array(Part, { minItems: 1 }), role: optional(Type.String()) });
const Single = Type.Object({
  model: optional(Type.String()),
  content: Content,
  taskType: optional(Type.String()),
  title: optional(Type.String()),
  outputDimensionality: optional(Type.Integer({ minimum: 1, maximum: 65_536 })),
});
const Batch = Type.Object({ requests: Type.Array(Single, { minItems: 1, maxItems: MAX_REQUESTS }) });

const TASK_TYPES: Record<string, EmbeddingPurpose> = {
  RETRIEVAL_QUERY: 'query',
  RETRIEVAL_DOCUMENT: 'document',
  SEMANTIC_SIMILARITY: 'similarity',
  CLASSIFICATION: 'classification',
  CLUSTERING: 'clustering',
  QUESTION_ANSWERING: 'question-answering',
  FACT_VERIFICATION: 'fact-verification',
  CODE_RETRIEVAL_QUERY: 'code-query',
};

const FIELDS = new Set(['model', 'content', 'taskType', 'title', 'outputDimensionality']);
const PART_FIELDS = new Set(['text']);

export const embed: EmbedOperation = {
  name: 'embed',
  summary: 'Embed texts',
  telemetryName: 'embeddings',

  routes: (prefixes) =>
    methodRoutes(prefixes, { embedContent: { match: () => ({}) }, batchEmbedContents: { match: () => ({}) } }),
  schema: Type.Union([Single, Batch]),
  example: { content: { parts: [{ text: 'Hello' }] } },
  names: knownNames([Single, Batch], spellings),
  checkLimits: check,
  check,
  conversation: () => '',
  decodeRequest,
  encodeResponse({ vectors, usage }, request) {
    const embeddings = vectors.map((vector) => ({ values: vectorToNumbers(vector) }));
    const usageMetadata = usage && { promptTokenCount: usage.input };
    return isBatch(request)
      ? { embeddings, ...(usageMetadata && { usageMetadata }) }
      : { embedding: embeddings[0], ...(usageMetadata && { usageMetadata }) };
  },

  upstreamPath: (model, _stream, body) =>
    modelPath(model, body === undefined || isBatch(body) ? 'batchEmbedContents' : 'embedContent'),
  gatewayFields: [],
  requestModel: { paths: [['model']], required: false, spell },
  encodeRequest,
  decodeResponse,
  isAsAsked: () => true,
  adjust: (body, target) => renameRequests(body, target),

  modelPaths: [],
  usageOf: ({ usageMetadata }) =>
    Number.isInteger(usageMetadata?.promptTokenCount)
      ? { input: usageMetadata.promptTokenCount, output: 0 }
      : undefined,
  factsOf: () => ({ finish: 'stop' }),
};

function spell(model: string): string {
  return `models/${model}`;
}

function isBatch(body: Json): boolean {
  return Array.isArray(body?.requests);
}

function check(body: Json): void {
  const request = camelCased(body);
  assertValid(isBatch(request) ? Batch : Single, request);
}

/** Each request of a batch names the model again; the path alone counts. */
function renameRequests(body: Json, { model }: Target): boolean {
  if (!isBatch(body)) return false;
  for (const request of body.requests) request.model = spell(model);
  return true;
}

/** All texts of a batch are asked for in one way. */
function decodeRequest(body: Json): EmbeddingRequest {
  const request = camelCased(body);
  const requests: Json[] = isBatch(request) ? request.requests : [request];
  const [first = {}] = requests;
  for (const name of ['taskType', 'title', 'outputDimensionality']) {
    const at = requests.findIndex((one) => one[name] !== first[name]);
    if (at < 0) continue;
    throw new GatewayError(
      'unsupported_parameter',
      `requests[${at}].${name} must be that of requests[0] for this model.`,
      {
        param: `requests[${at}].${name}`,
      },
    );
  }
  const { taskType, title, outputDimensionality } = first;
  const purpose = taskType === undefined ? undefined : lookUp(TASK_TYPES, taskType);
  return {
    inputs: requests.map(({ content }, index) => ({ type: 'text', text: textIn(content, index) })),
    ...(outputDimensionality !== undefined && { dimensions: outputDimensionality }),
    ...(purpose && { purpose }),
    ...(title !== undefined && { title }),
    dropped: [
      ...new Set(requests.flatMap((one) => Object.keys(one).filter((name) => !FIELDS.has(name)))),
      ...(taskType !== undefined && !purpose ? ['taskType'] : []),
      ...new Set(requests.flatMap(({ content }) => content.parts.flatMap(unreadInPart))),
    ],
  };
}

function unreadInPart(part: Json): string[] {
  return unreadFields(part, PART_FIELDS, 'content.parts.');
}

function textIn({ parts }: Json, index: number): string {
  if (parts.every((part: Json) => typeof part.text === 'string'))
    return parts.map((part: Json) => part.text).join('\n');
  throw new GatewayError('unsupported_modality', `requests[${index}].content: this model embeds text only.`, {
    param: `requests[${index}].content`,
  });
}

function encodeRequest({ inputs, dimensions, purpose, title }: EmbeddingRequest, { model }: Target) {
  const taskType = Object.keys(TASK_TYPES).find((name) => TASK_TYPES[name] === purpose);
  const requests = inputs.map((input) => {
    if (input.type === 'tokens') {
      throw new GatewayError('unsupported_parameter', 'input: this model takes text, not token ids.', {
        param: 'input',
      });
    }
    return {
      model: spell(model),
      content: { parts: [{ text: input.text }] },
      ...(taskType && { taskType }),
      ...(title !== undefined && { title }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    };
  });
  return { body: { requests }, dropped: [] };
}

function decodeResponse(body: Json): EmbeddingResponse {
  const embeddings: Json[] = Array.isArray(body.embeddings) ? body.embeddings : [body.embedding];
  const vectors = embeddings.map((embedding, index) => {
    const { values } = embedding ?? {};
    const vector = vectorFromNumbers(values);
    if (vector) return vector;
    throw new GatewayError('upstream_error', `The upstream sent embeddings whose number ${index} is not readable.`);
  });
  const usage = embed.usageOf(body);
  return { vectors, ...(usage?.input !== undefined && { usage: { ...usage, input: usage.input } }) };
}
