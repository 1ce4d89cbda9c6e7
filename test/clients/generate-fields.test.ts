/** Every field of a generateContent request, as the official SDK's types have it, is carried, named as dropped, or refused by name. */

import { join } from 'node:path';
import type { Json } from '../../src/core/json/json.ts';
import { HEADERS } from '../gateway/harness.ts';
import { type FieldCase, FieldCases, type Samples } from './field-cases.ts';
import { type Exceptions, testFields } from './field-fates.ts';
import { readSdkTypes, SAMPLE } from './sdk-types.ts';

const DATA = Buffer.from(SAMPLE).toString('base64');
const FILE = { fileUri: `https://example.com/${SAMPLE}.png`, mimeType: 'image/png' };
const BLOB = { data: DATA, mimeType: 'image/png' };

/** What the API asks for, though the types don't. */
const NEEDS: Record<string, Json> = {
  Content: { parts: [{ text: SAMPLE }] },
  Blob_2: BLOB,
  FunctionResponseBlob: BLOB,
  FileData: FILE,
  FunctionResponseFileData: FILE,
  FunctionCall: { name: SAMPLE },
  FunctionResponse: { name: SAMPLE, response: { output: SAMPLE } },
  FunctionDeclaration: { name: SAMPLE },
  FunctionCallingConfig: { mode: 'ANY' },
  Schema: { type: 'OBJECT', properties: { another: { type: 'STRING' }, [SAMPLE]: { type: 'STRING' } } },
};

const TYPES = join(import.meta.dirname, 'node_modules/@google/genai/dist/genai.d.ts');
const sdk = readSdkTypes(TYPES, NEEDS);

/** Options of the SDK itself, and members that have their own cases. */
const OWN = [
  'httpOptions',
  'abortSignal',
  'automaticFunctionCalling',
  'automaticContinuation',
  'tools',
  'systemInstruction',
];
/** The other options are part of `generationConfig`. */
const TOP = [
  'toolConfig', 'safetySettings', 'cachedContent', 'serviceTier', 'store', 'labels',
  'modelArmorConfig', 'continuationToken', 'generationOutputConfig',
]; // biome-ignore format: a list
const SCHEMA = { type: 'object', properties: { [SAMPLE]: { type: 'string' } } };

const SAMPLES: Samples = {
  args: [{ [SAMPLE]: SAMPLE }],
  response: [{ [SAMPLE]: SAMPLE }],
  parametersJsonSchema: [SCHEMA],
  responseJsonSchema: [SCHEMA],
  mimeType: ['image/png'],
  logprobs: [1],
};

const WITHOUT_EFFECT: Exceptions = [
  ['it is the default', / = (\{\}|\[\{\}\]|"\w*(unspecified|UNSPECIFIED)")$/],
  ['it is the default', /^generationConfig\.candidateCount = 1$/],
  ['it is the default', /\.mode = "(AUTO|VALIDATED)"$/],
  ['arguments always arrive in pieces elsewhere', /\.streamFunctionCallArguments = true$/],
  ['reasoning that the model shows is in the answer', /\.includeThoughts = true$/],
  ['arguments are an object everywhere', /^tools\.functionDeclarations\.parameters\.nullable = true$/],
];

const user = (...parts: Json[]): Json => ({ role: 'user', parts });
const declarations = (name: string): Json => ({ functionDeclarations: [{ name }] });
const request = (more: Json): Json => ({ contents: [user({ text: 'Hi' })], tools: [declarations('other')], ...more });

function* allCases(): Generator<FieldCase> {
  const cases = new FieldCases(sdk, SAMPLES);
  const options = sdk.membersOf('GenerateContentConfig').filter(({ name }) => !OWN.includes(name));
  const tools = [declarations(SAMPLE), declarations('other')];
  yield* cases.of(
    options.filter(({ name }) => TOP.includes(name)),
    { path: '', base: {}, place: (given) => request({ tools, ...given }) },
  );
  // Members of the type of the API that the options lack.
  const others = sdk
    .membersOf('GenerationConfig')
    .filter(({ name }) => !options.some((option) => option.name === name));
  const inner = [...options.filter(({ name }) => !TOP.includes(name)), ...others];
  yield* cases.of(inner, {
    path: 'generationConfig',
    base: {},
    place: (config) => request({ contents: [user({ inlineData: BLOB })], tools, generationConfig: completed(config) }),
  });
  yield* cases.of(sdk.membersOf('Part'), {
    path: 'systemInstruction.parts',
    base: { text: SAMPLE },
    place: (part) => request({ systemInstruction: { parts: [part] } }),
  });
  yield* cases.of(sdk.membersOf('Part'), {
    path: 'contents.parts',
    base: {},
    place: (part) => request({ contents: around(part) }),
  });
  yield* cases.of(sdk.membersOf('Tool'), {
    path: 'tools',
    base: {},
    place: (tool) => request({ tools: [tool, declarations('other')] }),
  });
}

/** Options that other options need. */
function completed(config: Json): Json {
  return { ...config, ...(config.logprobs && { responseLogprobs: true }) };
}

/** A conversation with a part of the user or of the model. */
function around(part: Json): Json[] {
  const { functionCall, functionResponse: result } = part;
  const opening = user({ text: 'Hi' });
  if (functionCall) {
    const result = { name: functionCall.name, id: functionCall.id, response: { output: 'done' } };
    return [opening, { role: 'model', parts: [part] }, user({ functionResponse: result })];
  }
  if (result) {
    const call = { functionCall: { name: result.name, id: result.id } };
    return [opening, { role: 'model', parts: [call] }, user(part)];
  }
  const isModels = part.thought || part.thoughtSignature || part.executableCode || part.codeExecutionResult;
  if (part.mediaResolution && !part.inlineData) return [user({ inlineData: BLOB, ...part })];
  if (!isModels) return [user(part)];
  return [opening, { role: 'model', parts: [part, { text: 'Hello' }] }, user({ text: 'And now?' })];
}

testFields('generateContent', {
  protocol: 'generate',
  headers: HEADERS.generate,
  path: (model) => `/gemini/v1beta/models/${model}:generateContent`,
  body: (given) => given,
  cases: allCases,
  leastCases: 500,
  withoutEffect: WITHOUT_EFFECT,
  aliases: { 'tools.functionDeclarations.parametersJsonSchema': /^tools\.functionDeclarations\.parameters\b/ },
});

testFields('token counts of generateContent', {
  protocol: 'generate',
  wires: ['generate'],
  answer: { totalTokens: 1 },
  headers: HEADERS.generate,
  path: (model) => `/gemini/v1beta/models/${model}:countTokens`,
  body: (given) => given,
  cases: allCases,
  leastCases: 500,
  withoutEffect: [],
});
