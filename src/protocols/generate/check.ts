/** Request check of generateContent. */

import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { GatewayError } from '../../core/errors.ts';
import { assertValid } from '../../core/json/check.ts';
import type { Json } from '../../core/json/json.ts';
import { MAX_ID_CHARACTERS, MAX_MEDIA_TYPE_CHARACTERS, MAX_NAME_CHARACTERS } from '../../core/lengths.ts';
import { relaxed } from '../../core/relaxed-schema.ts';
import { camelCased } from './spelling.ts';

const optional = Type.Optional;
const AnyObject = Type.Object({});
const MediaType = Type.String({ minLength: 1, maxLength: MAX_MEDIA_TYPE_CHARACTERS });
const Id = Type.String({ maxLength: MAX_ID_CHARACTERS });
const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });
const Blob = Type.Object({ mimeType: MediaType, data: Type.String() });
const File = Type.Object({
  fileUri: Type.String({ minLength: 1 }),
  mimeType: optional(Type.String({ maxLength: MAX_MEDIA_TYPE_CHARACTERS })),
});

const Part = Type.Object({
  text: optional(Type.String()),
  thought: optional(Type.Boolean()),
  thoughtSignature: optional(Type.String()),
  inlineData: optional(Blob),
  fileData: optional(File),
  functionCall: optional(
    Type.Object({
      id: optional(Id),
      name: optional(Name),
      args: optional(AnyObject),
    }),
  ),
  functionResponse: optional(
    Type.Object({
      id: optional(Id),
      name: optional(Type.String({ maxLength: MAX_NAME_CHARACTERS })),
      response: optional(AnyObject),
      parts: optional(Type.Array(Type.Object({ inlineData: optional(Blob), fileData: optional(File) }))),
    }),
  ),
  executableCode: optional(AnyObject),
  codeExecutionResult: optional(AnyObject),
});

const Content = Type.Object({
  role: optional(Type.Enum(['user', 'model', 'function', 'system'])),
  parts: Type.Array(Part),
});

const Instruction = Type.Union([
  Type.String(),
  Type.Object({ parts: optional(Type.Union([Type.Array(Part), Part])), text: optional(Type.String()) }),
]);

const FunctionDeclaration = Type.Object({
  name: Name,
  description: optional(Type.String()),
  parameters: optional(AnyObject),
  parametersJsonSchema: optional(Type.Union([AnyObject, Type.Boolean()])),
});

const Tool = Type.Object({
  functionDeclarations: optional(Type.Union([Type.Array(FunctionDeclaration), FunctionDeclaration])),
});

const GenerationConfig = Type.Object({
  temperature: optional(Type.Number({ minimum: 0, maximum: 2 })),
  topP: optional(Type.Number({ minimum: 0, maximum: 1 })),
  topK: optional(Type.Number({ minimum: 0 })),
  candidateCount: optional(Type.Integer({ minimum: 1 })),
  maxOutputTokens: optional(Type.Integer({ minimum: 1 })),
  stopSequences: optional(Type.Array(Type.String())),
  seed: optional(Type.Integer()),
  presencePenalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  frequencyPenalty: optional(Type.Number({ minimum: -2, maximum: 2 })),
  responseLogprobs: optional(Type.Boolean()),
  logprobs: optional(Type.Integer({ minimum: 0, maximum: 20 })),
  responseMimeType: optional(Type.String({ maxLength: MAX_MEDIA_TYPE_CHARACTERS })),
  responseSchema: optional(AnyObject),
  responseJsonSchema: optional(Type.Union([AnyObject, Type.Boolean()])),
  responseModalities: optional(Type.Array(Type.String())),
  thinkingConfig: optional(
    Type.Object({
      includeThoughts: optional(Type.Boolean()),
      thinkingBudget: optional(Type.Integer({ minimum: -1 })),
      thinkingLevel: optional(Type.String()),
    }),
  ),
});

const ToolConfig = Type.Object({
  functionCallingConfig: optional(
    Type.Object({ mode: optional(Type.String()), allowedFunctionNames: optional(Type.Array(Type.String())) }),
  ),
});

const GenerateRequest = Type.Object({
  contents: Type.Union([Type.Array(Content, { minItems: 1 }), Content]),
  systemInstruction: optional(Instruction),
  tools: optional(Type.Union([Type.Array(Tool), Tool])),
  toolConfig: optional(ToolConfig),
  safetySettings: optional(Type.Array(AnyObject)),
  generationConfig: optional(GenerationConfig),
  cachedContent: optional(Type.String()),
  serviceTier: optional(Type.String()),
});

const CountRequest = Type.Object({ generateContentRequest: GenerateRequest });

/** Members whose ranges the gateway enforces: they determine the cost of a request. */
const LIMITED_PATHS = ['generationConfig.maxOutputTokens', 'generationConfig.candidateCount'];

const GenerateLimits = relaxed(GenerateRequest, LIMITED_PATHS);
const CountLimits = relaxed(CountRequest, []);

export const requestSchema = GenerateRequest;
export const countSchema = Type.Union([GenerateRequest, CountRequest]);

export const checkRequestLimits = (body: Json): void => checkComplete(camelCased(body), GenerateLimits);
export const checkRequest = (body: Json): void => checkComplete(camelCased(body), GenerateRequest);
export const checkCountLimits = createCountCheck(GenerateLimits, CountLimits);
export const checkCount = createCountCheck(GenerateRequest, CountRequest);

function checkComplete(request: Json, schema: TSchema): void {
  assertValid(schema, request);
  checkSchemas(request);
}

/** A token count accepts only contents, or a whole request under `generateContentRequest`. */
function createCountCheck(plain: TSchema, wrapped: TSchema): (body: Json) => void {
  return (body) => {
    const request = camelCased(body);
    const { generateContentRequest } = request;
    assertValid(generateContentRequest == null ? plain : wrapped, request);
    checkSchemas(generateContentRequest ?? request);
  };
}

/** The two forms of a schema exclude each other. */
function checkSchemas(request: Json): void {
  const { generationConfig } = request;
  if (generationConfig?.responseSchema != null && generationConfig.responseJsonSchema != null) {
    throw new GatewayError(
      'invalid_request',
      'generationConfig.responseSchema and generationConfig.responseJsonSchema exclude each other.',
      { param: 'generationConfig.responseSchema' },
    );
  }
}
