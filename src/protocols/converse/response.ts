/** Whole answers of Converse, and the blocks of their content. */

import type { ChatResponse, Citation, MediaPart, NativePart, Opaque, OpenPart } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json, textOf } from '../../core/json/json.ts';
import { count, list, object, record, text } from '../../core/json/shape.ts';
import type { WebSearch } from '../../core/native.ts';
import type { Target } from '../../core/operation.ts';
import { isWritten } from '../../core/parts.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { familyOf } from './families.ts';
import { decodeFinish, decodeUsage, isCall } from './finish.ts';
import { ANSWER_TOOL } from './format.ts';

const reasoning = record({
  reasoningText: record({ text, signature: text }),
  redactedContent: text,
});
const place = record({ url: text, documentIndex: count });
const citation = record({ title: text, sourceContent: list(record({ text })), location: object });
const block = record({
  text,
  toolUse: record({ toolUseId: text, name: text, type: text }),
  reasoningContent: reasoning,
  citationsContent: record({ content: list(record({ text })), citations: list(citation) }),
});
const shape = record({ output: record({ message: record({ content: list(block) }) }) });

const NO_INPUT = '{}';

/** Throws `upstream_error` for a body without an answer. */
export function decodeResponse(given: Json, target: Target): ChatResponse {
  const body = shape(given);
  const message = body?.output?.message;
  if (!message) throw new GatewayError('upstream_error', 'The upstream sent no answer.');
  const blocks: Json[] = message.content ?? [];
  const parts: OpenPart[] = [];
  for (const one of blocks) addPart(parts, decodeBlock(one, target));
  const finish = decodeFinish(body.stopReason, parts.some(isCall));
  const last = parts.findLast(isWritten);
  // A call that the output limit cut off before its arguments has an empty input.
  const isCut = finish.reason === 'length' || finish.reason === 'context-full';
  if (isCut && last?.type === 'call' && last.args === NO_INPUT) last.args = '';
  const usage = decodeUsage(body.usage, body);
  return {
    id: '',
    model: target.model,
    candidates: [{ parts, finish }],
    ...(usage && { usage }),
  };
}

/** A citation without a text is of the text before it. */
function addPart(parts: OpenPart[], part: OpenPart): void {
  const last = parts.at(-1);
  if (part.type === 'text' && part.text === '' && part.citations && last?.type === 'text')
    last.citations = [...(last.citations ?? []), ...part.citations];
  else parts.push(part);
}

/** Blocks of kinds that other protocols do not have are kept as they are. */
function decodeBlock(given: Json, target: Target): OpenPart {
  const { text: words, toolUse, reasoningContent, citationsContent, image, audio, video } = given;
  if (words !== undefined) return { type: 'text', text: words };
  if (toolUse) return decodeToolUse(toolUse) ?? native(given, target);
  if (reasoningContent) return decodeReasoning(reasoningContent, target);
  if (citationsContent) return decodeCited(citationsContent);
  const media = decodeMedia('image', image) ?? decodeMedia('audio', audio) ?? decodeMedia('video', video);
  return media ?? native(given, target);
}

/** A call of the client's tool, or the answer in place of one; undefined for a tool that the platform runs. */
function decodeToolUse({ toolUseId = '', name = '', input, type }: Json): OpenPart | undefined {
  if (isServerTool(type)) return undefined;
  const args = JSON.stringify(input ?? {});
  if (name === ANSWER_TOOL) return { type: 'text', text: args };
  return { type: 'call', id: toolUseId, name, args };
}

export function isServerTool(type: unknown): boolean {
  return type === 'server_tool_use';
}

function decodeReasoning({ reasoningText, redactedContent }: Json, { origin }: Target): OpenPart {
  if (redactedContent !== undefined) return redacted(redactedContent, origin);
  const { text: words = '', signature } = reasoningText ?? {};
  const opaque = signatureOf(signature, origin);
  return { type: 'reasoning', text: words, ...(opaque && { opaque }) };
}

export function redacted(value: string, origin: string): OpenPart {
  return { type: 'reasoning', text: '', opaque: { kind: 'redacted', value, origin } };
}

export function signatureOf(value: unknown, origin: string): Opaque | undefined {
  return typeof value === 'string' && value !== '' ? { kind: 'signature', value, origin } : undefined;
}

function decodeCited({ content = [], citations = [] }: Json): OpenPart {
  const words = content.map((piece: Json) => piece.text ?? '').join('');
  return { type: 'text', text: words, ...(citations.length > 0 && { citations: citations.map(decodeCitation) }) };
}

/** A citation is of the whole block that holds it. */
export function decodeCitation(given: Json): Citation {
  const { title, sourceContent = [], location } = citation(given) ?? {};
  const quoted = sourceContent.map((piece: Json) => piece.text ?? '').join('');
  const { url, documentIndex } = place(Object.values(location ?? {}).find(isObject)) ?? {};
  return {
    ...(url !== undefined && { url }),
    ...(title !== undefined && { title }),
    ...(quoted !== '' && { citedText: quoted }),
    ...(documentIndex !== undefined && { source: documentIndex }),
  };
}

const MIMES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', mpeg: 'video/mpeg', three_gp: 'video/3gpp' };

/** Media by their bytes; undefined for others. */
export function decodeMedia(kind: 'image' | 'audio' | 'video', given: Json): MediaPart | undefined {
  const data: unknown = given?.source?.bytes;
  if (typeof data !== 'string' || data === '') return undefined;
  const format = textOf(given.format);
  return {
    type: 'media',
    kind,
    data,
    ...(format !== undefined && { mime: lookUp(MIMES, format) ?? `${kind}/${format}` }),
  };
}

export function native(value: Json, { model }: Target): NativePart {
  const search = searchIn(value, familyOf(model).search);
  return { type: 'native', protocol: 'converse', value, ...(search && { search }) };
}

/** The beginning or the end of a search of the web that the platform runs. */
function searchIn({ toolUse, toolResult }: Json, name: string | undefined): WebSearch | undefined {
  if (name === undefined) return undefined;
  if (toolUse?.name === name) {
    const query = textOf(toolUse.input?.query);
    return { id: textOf(toolUse.toolUseId) ?? '', queries: query === undefined ? [] : [query] };
  }
  if (toolResult?.type !== `${name}_result`) return undefined;
  const failed = toolResult.status === 'error' && { failed: true };
  return { id: textOf(toolResult.toolUseId) ?? '', sources: [], ...failed };
}
