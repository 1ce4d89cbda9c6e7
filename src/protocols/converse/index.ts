/** Converse, Amazon Bedrock's protocol for the models of all vendors: for upstreams only. Its codecs are loaded with the first request. */

import * as Type from 'typebox';
import { encodeAll } from '../../core/aws-signature.ts';
import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { knownNames } from '../../core/json/names.ts';
import { largestFigure, type RequestedOutput } from '../../core/output.ts';
import type { UpstreamOperations, UpstreamProtocol } from '../../core/protocol.ts';
import { tierName } from '../service-tier.ts';

type Codec = typeof import('./codec.ts');

let loaded: Codec | undefined;

function codec(): Codec {
  if (loaded) return loaded;
  throw new Error('the codecs of Converse are not loaded');
}

const any = Type.Unknown();
const Body = Type.Object({
  messages: any,
  system: any,
  toolConfig: any,
  outputConfig: any,
  promptVariables: any,
  requestMetadata: any,
  additionalModelRequestFields: any,
  additionalModelResponseFieldPaths: any,
  inferenceConfig: Type.Object({ maxTokens: any, temperature: any, topP: any, stopSequences: any }),
  guardrailConfig: Type.Object({ guardrailIdentifier: any, guardrailVersion: any, trace: any }),
  performanceConfig: Type.Object({ latency: any }),
  serviceTier: Type.Object({ type: any }),
});

const complete: UpstreamOperations['complete'] = {
  name: 'complete',
  names: knownNames([Body]),
  gatewayFields: [],
  requestModel: { paths: [], required: false, spell: (model) => model },
  reservedFields: ['messages', 'system', 'toolConfig'],
  upstreamPath: (model, stream) => `/model/${encodeAll(model)}/${stream ? 'converse-stream' : 'converse'}`,
  // The excluded name is that of the tool for answers by a schema.
  toolName: /^(?!json_answer$)[a-zA-Z0-9_-]{1,64}$/,
  answersAreObjects: true,
  tierOf: ({ serviceTier }) => tierName(serviceTier?.type),
  outputOf,
  limitOutput: (body, tokens) => codec().limitOutput(body, tokens),
  encodeRequest: (request, target) => codec().encodeRequest(request, target),
  repair: (body, error, isOwn) => codec().repair(body, error, isOwn),
  decodeResponse: (body, target) => codec().decodeResponse(body, target),
  streamDecoder: (target) => codec().createStreamDecoder(target),

  modelPaths: [],
  textPlaces: { after: ['"delta"'], text: ['text', 'input'], calls: ['name'] },
  usageMarks: ['"usage"'],
  usageOf: ({ usage }) => codec().decodeUsage(usage),
  factsOf: ({ stopReason }) => ({ finish: textOf(stopReason) }),
  isEnd: ({ event }) => event === 'messageStop' || event === 'metadata',
  endMarks: ['messageStop', 'metadata'],
  endIsLast: false,
};

function outputOf({ inferenceConfig }: Json): RequestedOutput {
  const limit = isObject(inferenceConfig) ? largestFigure([inferenceConfig.maxTokens]) : undefined;
  return { ...(limit !== undefined && { limit }), answers: 1, thinking: 0 };
}

export const converse: UpstreamProtocol = {
  id: 'converse',
  operations: { complete },
  async load() {
    loaded ??= await import('./codec.ts');
  },
  forwardedHeaders: {},
  decodeError: (status, body) => codec().decodeError(status, body),
  errorIn: (body: Json) => (isObject(body) ? codec().errorIn(body) : undefined),
};
