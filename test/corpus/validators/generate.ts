/** Rules of Google for generateContent requests, beyond those that the gateway checks. */

import { isObject, type Json } from '../../../src/core/json/json.ts';

const TOOL_NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/;
const KINDS = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
];
const TOP = [
  'contents',
  'systemInstruction',
  'tools',
  'toolConfig',
  'safetySettings',
  'generationConfig',
  'cachedContent',
  'serviceTier',
  'labels',
];
const NO_SCHEMA = ['$ref', 'additionalProperties', 'oneOf', 'allOf', 'const', 'not', '$schema', 'patternProperties'];
const NO_JSON_SCHEMA = ['const', 'not', 'allOf', 'if', 'patternProperties', '$schema', 'pattern', 'default'];

export function problemsOfGenerate(body: Json): string[] {
  const unknown = Object.keys(body).filter((name) => !TOP.includes(name));
  const system: Json[] = body.systemInstruction?.parts ?? [];
  return [
    ...unknown.map((name) => `unknown field ${name}`),
    ...system.flatMap((part) => (part.text?.trim() ? [] : ['systemInstruction has a blank part'])),
    ...settings(body),
    ...tools(body),
    ...contents(body.contents ?? []),
  ];
}

function settings({ generationConfig: config = {} }: Json): string[] {
  const found: string[] = [];
  if ((config.stopSequences ?? []).length > 5) found.push('more than 5 stop sequences');
  if (config.responseSchema && config.responseJsonSchema) found.push('two response schemas');
  const hasSchema = config.responseSchema || config.responseJsonSchema;
  if (hasSchema && !['application/json', 'text/x.enum'].includes(config.responseMimeType))
    found.push('a schema without its media type');
  if (config.responseSchema) found.push(...keywords(config.responseSchema, NO_SCHEMA, 'responseSchema'));
  if (config.responseJsonSchema)
    found.push(...keywords(config.responseJsonSchema, NO_JSON_SCHEMA, 'responseJsonSchema'));
  if (config.maxOutputTokens !== undefined && !(config.maxOutputTokens > 0))
    found.push(`maxOutputTokens is ${config.maxOutputTokens}`);
  const { temperature } = config;
  if (temperature !== undefined && (temperature < 0 || temperature > 2)) found.push(`temperature is ${temperature}`);
  return found;
}

function tools({ tools: list = [], toolConfig }: Json): string[] {
  const found: string[] = [];
  const declared: Json[] = list.flatMap((tool: Json) => tool.functionDeclarations ?? []);
  const names = declared.map(({ name }) => name);
  for (const { name, parameters, parametersJsonSchema } of declared) {
    if (!TOOL_NAME.test(name)) found.push(`function name ${name}`);
    if (parameters && parametersJsonSchema) found.push(`${name} has two schemas`);
    if (parameters) found.push(...keywords(parameters, NO_SCHEMA, name));
    if (parametersJsonSchema) found.push(...keywords(parametersJsonSchema, NO_JSON_SCHEMA, name));
  }
  if (new Set(names).size < names.length) found.push('two functions of one name');
  if (list.some((tool: Json) => tool.functionDeclarations?.length === 0)) found.push('an empty functionDeclarations');
  const calling = toolConfig?.functionCallingConfig;
  const allowed: string[] = calling?.allowedFunctionNames ?? [];
  for (const name of allowed) if (!names.includes(name)) found.push(`${name} is allowed, but no function`);
  if (allowed.length > 0 && !['ANY', 'VALIDATED'].includes(calling.mode))
    found.push(`allowed names with mode ${calling.mode}`);
  if (calling && declared.length === 0 && calling.mode === 'ANY') found.push('a forced call without functions');
  return found;
}

/** Keywords where a schema stands; the names of properties are free. */
function keywords(schema: Json, forbidden: string[], at: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((inner) => keywords(inner, forbidden, at));
  if (!isObject(schema)) return [];
  return Object.entries(schema).flatMap(([name, inner]) => {
    if (['enum', 'default', 'example', 'examples', 'required'].includes(name))
      return forbidden.includes(name) ? [`${at} has ${name}`] : [];
    const below = ['properties', '$defs', 'definitions'].includes(name) ? Object.values(inner ?? {}) : inner;
    return [...(forbidden.includes(name) ? [`${at} has ${name}`] : []), ...keywords(below, forbidden, at)];
  });
}

function contents(list: Json[]): string[] {
  const found: string[] = [];
  if (list.length === 0) found.push('no contents');
  let due: string[] = [];
  let before = '';
  for (const [index, { role, parts = [] }] of list.entries()) {
    const at = `contents[${index}]`;
    if (!['user', 'model'].includes(role)) found.push(`${at} has the role ${role}`);
    if (index === 0 && role === 'model') found.push(`${at} is the model's`);
    if (role === before) found.push(`${at} is ${role} again`);
    before = role;
    if (parts.length === 0) found.push(`${at} is empty`);
    found.push(...parts.flatMap((part: Json) => ofPart(part, at)));
    const given: string[] = parts.flatMap((part: Json) => (part.functionResponse ? [part.functionResponse.name] : []));
    if (given.join() !== due.join() && (given.length > 0 || due.length > 0))
      found.push(`${at} answers [${given}] where [${due}] was asked`);
    due = parts.flatMap((part: Json) => (part.functionCall ? [part.functionCall.name] : []));
  }
  if (due.length > 0) found.push(`the last content leaves ${due} open`);
  return found;
}

function ofPart(part: Json, at: string): string[] {
  const found: string[] = [];
  const kinds = KINDS.filter((kind) => part[kind] !== undefined);
  if (kinds.length !== 1) found.push(`${at} has a part of [${kinds}]`);
  if (part.text === '' && !part.thoughtSignature) found.push(`${at} has an empty text`);
  const { inlineData: blob, fileData: file, functionCall: call, functionResponse: result } = part;
  if (blob && !(blob.mimeType && blob.data)) found.push(`${at} has a blob without type or data`);
  if (file && !(file.mimeType && file.fileUri)) found.push(`${at} has a file without type or URI`);
  if (call && !(TOOL_NAME.test(call.name) && isObject(call.args ?? {}))) found.push(`${at} has a bad functionCall`);
  if (result && !(TOOL_NAME.test(result.name) && isObject(result.response)))
    found.push(`${at} has a bad functionResponse`);
  return found;
}
