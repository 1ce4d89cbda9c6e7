/** A generateContent request, as its upstream reads it. */

import { isObject, type Json } from '../../../src/core/json/json.ts';
import { canonical } from '../answer.ts';
import { type Asked, addFormat, addTool, emptyAsked, resultOf, type Settings, words } from '../asked.ts';

/** Recorded requests spell fields either way. */
export function readGenerateRequest(given: Json): Asked {
  const body = camel(given);
  const asked = emptyAsked();
  const system = body.systemInstruction;
  const parts: Json[] = typeof system === 'string' ? [{ text: system }] : [system?.parts ?? []].flat();
  asked.system = parts.map(({ text }) => words(text));
  const contents: Json[] =
    typeof body.contents === 'string' ? [{ parts: [{ text: body.contents }] }] : [body.contents ?? []].flat();
  for (const { role, parts: list } of contents) for (const part of [list ?? []].flat()) readPart(asked, role, part);
  const tools: Json[] = [body.tools ?? []].flat();
  const declared = tools.flatMap((tool) => tool.functionDeclarations ?? []);
  for (const { name, description, parameters, parametersJsonSchema } of declared) {
    addTool(asked, { name, description, schema: parametersJsonSchema ?? parameters });
  }
  asked.settings = settingsOf(body, declared.length > 0);
  const schema = body.generationConfig?.responseJsonSchema ?? body.generationConfig?.responseSchema;
  if (schema) addFormat(asked, schema);
  return asked;
}

/** Names below these belong to the user. */
const USERS = [
  'args',
  'response',
  'properties',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
];

function camel(value: Json): Json {
  if (Array.isArray(value)) return value.map(camel);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => {
    const spelled = name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
    return [spelled, USERS.includes(spelled) ? inner : camel(inner)];
  });
  return Object.fromEntries(entries);
}

function readPart(asked: Asked, role: string | undefined, part: Json): void {
  const { functionCall: call, functionResponse: result, inlineData: blob, fileData: file } = part;
  if (typeof part.text === 'string' && !part.thought)
    asked[role === 'model' ? 'assistant' : 'user'].push(words(part.text));
  if (call) asked.calls.push(`${call.name} ${canonical(call.args ?? {})}`);
  if (result) {
    asked.results.push(resultOf(result.response));
    for (const inner of result.parts ?? []) readPart(asked, role, inner);
  }
  const type = (blob ?? file)?.mimeType ?? '';
  const kind = /^(image|audio|video)\//.exec(type)?.[1] ?? 'document';
  if (blob && type.startsWith('text/')) asked.user.push(words(Buffer.from(blob.data, 'base64').toString()));
  else if (blob) asked.media.push(`${kind} ${blob.data.length}`);
  if (file) asked.media.push(`${kind} ${file.fileUri}`);
}

function settingsOf({ generationConfig, toolConfig }: Json, hasTools: boolean): Settings {
  const config = generationConfig ?? {};
  const settings: Settings = {
    maxTokens: config.maxOutputTokens ?? undefined,
    temperature: config.temperature ?? undefined,
    topP: config.topP ?? undefined,
    topK: config.topK ?? undefined,
    stop: config.stopSequences?.length ? config.stopSequences.join() : undefined,
    seed: config.seed ?? undefined,
    frequencyPenalty: config.frequencyPenalty ?? undefined,
    presencePenalty: config.presencePenalty ?? undefined,
    candidates: config.candidateCount > 1 ? config.candidateCount : undefined,
    logprobs: config.responseLogprobs || undefined,
    reasoning: reasoningOf(config.thinkingConfig),
    choice: hasTools ? choiceOf(toolConfig?.functionCallingConfig) : undefined,
    format: config.responseMimeType === 'application/json' ? 'json' : undefined,
  };
  return JSON.parse(JSON.stringify(settings));
}

function choiceOf(calling: Json): string | undefined {
  switch (calling?.mode) {
    case 'ANY':
      return calling.allowedFunctionNames?.length === 1 ? calling.allowedFunctionNames[0] : 'required';
    case 'NONE':
      return 'none';
    default:
      return undefined;
  }
}

function reasoningOf(thinking: Json): 'on' | 'off' | undefined {
  if (thinking?.thinkingBudget === 0) return 'off';
  return thinking?.thinkingLevel || thinking?.thinkingBudget > 0 ? 'on' : undefined;
}
