/** generateContent, as its clients read it. */

import { type Json, read } from '../../../src/core/json/json.ts';
import {
  type Answer,
  type Choice,
  type Counts,
  canonical,
  type End,
  emptyChoice,
  eventsIn,
  type Reader,
  unique,
} from '../answer.ts';

export const ENDS: Record<string, End> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  CONTINUATION: 'continuation',
  1: 'stop',
  2: 'length',
};

/** Every other reason, but these, is a filter's. */
const ABNORMAL = /MALFORMED|UNEXPECTED|TOO_MANY|^NO_IMAGE$|OTHER|UNSPECIFIED|^FAKE/;

function readBody(body: Json): Answer {
  const candidates: Json[] = body.candidates ?? [];
  const choices = candidates.map(readCandidate);
  if (body.promptFeedback?.blockReason || choices.length === 0)
    choices.splice(0, 1, { ...emptyChoice(), end: 'blocked' });
  return { choices, counts: countsOf(body.usageMetadata) };
}

function readCandidate(candidate: Json): Choice {
  const choice = emptyChoice();
  for (const part of candidate.content?.parts ?? []) {
    if (typeof part.text === 'string') choice[part.thought ? 'reasoning' : 'text'] += part.text;
    const { functionCall: call, inlineData: blob } = part;
    if (call) choice.calls.push({ name: call.name, args: canonical(call.args ?? {}) });
    if (blob) choice.media.push(`${blob.mimeType.split('/')[0]} ${blob.data.length}`);
  }
  choice.citations = citationsOf(candidate);
  const reason = String(candidate.finishReason ?? 'OTHER');
  choice.end = ENDS[reason] ?? (ABNORMAL.test(reason) && reason !== 'IMAGE_OTHER' ? 'abnormal' : 'filtered');
  if (choice.calls.length > 0 && ['stop', 'length'].includes(choice.end)) choice.end = 'calls';
  return choice;
}

/** Sources that support something; all of them where nothing says which do. */
function citationsOf({ groundingMetadata, citationMetadata }: Json): string[] {
  const chunks: Json[] = groundingMetadata?.groundingChunks ?? [];
  const supports: Json[] = groundingMetadata?.groundingSupports ?? [];
  const used = new Set(supports.flatMap((support) => support.groundingChunkIndices ?? []));
  const sources = chunks
    .filter((_, index) => supports.length === 0 || used.has(index))
    .map(({ web, maps, image, retrievedContext }) => web ?? maps ?? image ?? retrievedContext ?? {})
    .map(({ uri, sourceUri, text }) => uri ?? sourceUri ?? (supports.length > 0 && text ? `“${text}”` : undefined));
  const recited: Json[] = citationMetadata?.citations ?? citationMetadata?.citationSources ?? [];
  return unique([...sources, ...recited.map(({ uri }) => uri)].filter((source) => typeof source === 'string'));
}

function countsOf(usage: Json): Counts | undefined {
  if (typeof usage?.promptTokenCount !== 'number') return undefined;
  const { promptTokenCount, toolUsePromptTokenCount = 0, candidatesTokenCount = 0, thoughtsTokenCount = 0 } = usage;
  return {
    input: promptTokenCount + toolUsePromptTokenCount,
    output: candidatesTokenCount + thoughtsTokenCount,
    cached: usage.cachedContentTokenCount ?? 0,
    cacheWrite: 0,
    reasoning: thoughtsTokenCount,
  };
}

function join(text: string): Json {
  const body: Json = {};
  const arrayed = text.startsWith('[') ? read(text) : undefined;
  const chunks: Json[] = arrayed ?? eventsIn(text).map(({ data }) => read(data));
  for (const chunk of chunks) {
    if (chunk.error) throw new Error(`error: ${JSON.stringify(chunk.error)}`);
    const { candidates = [], ...rest } = chunk;
    for (const [name, value] of Object.entries(rest)) {
      const keeps = name === 'usageMetadata' && (value as Json).promptTokenCount === undefined && body[name];
      const isWorse = name === 'promptFeedback' && !(value as Json).blockReason && body[name];
      if (!keeps && !isWorse) body[name] = value;
    }
    for (const [position, candidate] of candidates.entries())
      joinCandidate(body, candidate, candidate.index ?? position);
  }
  const ends = (body.candidates ?? []).every((candidate: Json) => candidate?.finishReason !== undefined);
  if (!ends || (!body.candidates && !body.promptFeedback)) throw new Error('no finishReason');
  return body;
}

function joinCandidate(body: Json, { content, ...rest }: Json, index: number): void {
  body.candidates ??= [];
  body.candidates[index] ??= { content: { role: 'model', parts: [] } };
  const candidate = body.candidates[index];
  for (const [name, value] of Object.entries(rest)) {
    const isEmptier =
      name === 'groundingMetadata' && !(value as Json).groundingChunks && candidate[name]?.groundingChunks;
    if (!isEmptier) candidate[name] = value;
  }
  for (const part of content?.parts ?? []) joinPart(candidate.content.parts, part);
}

/** Only calls come in pieces: after the one that opens it, each without a name. */
function joinPart(parts: Json[], part: Json): void {
  const { functionCall: call } = part;
  const open = parts.at(-1)?.functionCall;
  if (call && !call.name && open) {
    for (const piece of call.partialArgs ?? []) place(open.args, piece);
    return;
  }
  if (!call?.willContinue && !call?.partialArgs) {
    parts.push(part);
    return;
  }
  const { partialArgs = [], willContinue, ...rest } = call;
  const opened = { ...rest, args: rest.args ?? {} };
  for (const piece of partialArgs) place(opened.args, piece);
  parts.push({ ...part, functionCall: opened });
}

function place(args: Json, { jsonPath, stringValue, numberValue, boolValue }: Json): void {
  const path: string[] = [...jsonPath.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]/g)].map(
    (match) => match[1] ?? match[2] ?? match[3],
  );
  let holder = args;
  for (const [depth, name] of path.slice(0, -1).entries()) {
    holder[name] ??= /^\d+$/.test(path[depth + 1] ?? '') ? [] : {};
    holder = holder[name];
  }
  const last = path.at(-1) ?? '';
  if (stringValue !== undefined) holder[last] = (holder[last] ?? '') + stringValue;
  else holder[last] = numberValue ?? boolValue ?? null;
}

/** One chunk a part; what stands beside the parts comes with the last one. */
function split(body: Json): string {
  const { candidates, usageMetadata, ...rest } = body;
  const frame = (value: Json) => `data: ${JSON.stringify(value)}\r\n\r\n`;
  if (!candidates) return frame(body);
  const early = candidates.flatMap(({ content }: Json, index: number) =>
    (content?.parts ?? []).map((part: Json) =>
      frame({ candidates: [{ index, content: { role: 'model', parts: [part] } }], ...rest }),
    ),
  );
  const last = candidates.map(({ content, ...more }: Json, index: number) => ({ ...more, index }));
  return early.join('') + frame({ candidates: last, ...(usageMetadata && { usageMetadata }), ...rest });
}

export const generate: Reader = { read: readBody, join, split };
