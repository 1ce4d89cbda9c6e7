/** Content decoder: converts client contents to turns, assigns call ids and matches results to calls. */

import type { CallPart, MediaPart, Part, ReasoningPart, ResultPart, Turn } from '../../core/chat.ts';
import { GatewayError } from '../../core/errors.ts';
import { isObject, type Json } from '../../core/json/json.ts';
import { unreadFields } from '../../core/losses.ts';
import { isTextType, sniffBase64 } from '../../core/mime.ts';
import { lookUp } from '../../core/plain-objects.ts';
import { createOpenCalls, type OpenCalls } from './open-calls.ts';
import { list } from './spelling.ts';
import { decodeState } from './state.ts';

/** Members of a part that are read; others are reported as dropped. */
const PART_FIELDS = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
  'audioTranscription',
  'mediaResolution',
]);

/** Known members of the media in a part, also of a result. */
const MEDIA: Record<string, ReadonlySet<string>> = {
  inlineData: new Set(['mimeType', 'data', 'displayName']),
  fileData: new Set(['mimeType', 'fileUri', 'displayName']),
};
const MEDIA_FIELDS = new Set(Object.keys(MEDIA));

/** Known members of the objects in a part. */
const INSIDE: Record<string, ReadonlySet<string>> = {
  ...MEDIA,
  functionCall: new Set(['id', 'name', 'args']),
  functionResponse: new Set(['id', 'name', 'response', 'parts']),
  mediaResolution: new Set(['level']),
};

const NATIVE = ['executableCode', 'codeExecutionResult', 'toolCall', 'toolResponse', 'audioTranscription'];

const DETAILS: Record<string, MediaPart['detail']> = {
  MEDIA_RESOLUTION_LOW: 'low',
  MEDIA_RESOLUTION_HIGH: 'high',
  MEDIA_RESOLUTION_ULTRA_HIGH: 'original',
};

interface Calls {
  /** Calls of the last model turn. */
  last: OpenCalls;
  /** Call ids in all turns, set by the client. */
  ids: Set<string>;
}

export interface DecodedContents {
  turns: Turn[];
  dropped: string[];
}

/** `resolution` applies to media without their own. */
export function decodeContents(contents: Json, resolution?: Json): DecodedContents {
  const dropped = new Set<string>();
  const calls: Calls = { last: createOpenCalls(), ids: new Set() };
  const given = list(contents);
  const turns = given.map((content, index): Turn => {
    if (content.role === 'model' && given[index - 1]?.role !== 'model') calls.last = createOpenCalls();
    const parts = list(content.parts).flatMap((part, position): Part[] => {
      for (const name of unreadIn(part)) dropped.add(`contents.parts.${name}`);
      if (part.functionCall) return [decodeCall(part, `call_${index}_${position}`, calls)];
      if (part.functionResponse) return [decodeResult(part.functionResponse, `call_${index}_${position}`, calls)];
      return decodePart(part, resolution);
    });
    const role = roleOf(content.role);
    return { role, parts: role === 'assistant' ? joinedTexts(parts) : parts };
  });
  const whole = joinedAnswers(turns).map((turn) => ({ ...turn, parts: joinedReasoning(turn.parts) }));
  return { turns: whole.filter(({ parts }) => parts.length > 0), dropped: [...dropped] };
}

/** Joins the streamed pieces of a text in one content; a signature ends the text. */
function joinedTexts(parts: Part[]): Part[] {
  const result: Part[] = [];
  for (const part of parts) {
    const last = result.at(-1);
    const joins = part.type === 'text' && last?.type === 'text' && !last.opaque;
    if (joins) result[result.length - 1] = { ...part, text: last.text + part.text };
    else result.push(part);
  }
  return result;
}

/** Joins consecutive contents: clients store each chunk of a streamed answer as a separate content. */
function joinedAnswers(turns: Turn[]): Turn[] {
  const joined: Turn[] = [];
  for (const turn of turns) {
    const last = joined.at(-1);
    if (turn.role !== 'assistant' || last?.role !== 'assistant') joined.push({ ...turn, parts: [...turn.parts] });
    else joinPieces(last.parts, turn.parts);
  }
  return joined;
}

/** White space joins the preceding text: upstreams refuse it as a separate text. */
function joinPieces(parts: Part[], more: Part[]): void {
  const [next, ...rest] = more;
  const last = parts.at(-1);
  const isBlank = last?.type === 'text' && next?.type === 'text' && !last.opaque && next.text.trim() === '';
  if (isBlank) parts.splice(-1, 1, { ...last, ...next, text: last.text + next.text }, ...rest);
  else parts.push(...more);
}

function roleOf(role: Json): Turn['role'] {
  if (role === 'model') return 'assistant';
  return role === 'system' ? 'system' : 'user';
}

const INSTRUCTION_FIELDS = new Set(['text']);

/** The instruction as a text, a part, or a content of one or many parts. Throws `unsupported_modality` for media in it. */
export function decodeInstruction(instruction: Json): DecodedContents {
  const source = typeof instruction === 'string' ? { text: instruction } : instruction;
  const dropped = new Set<string>();
  const parts = list(source?.parts ?? source).flatMap((part): Part[] => {
    if (part?.inlineData || part?.fileData) {
      const message = 'systemInstruction must be text for this model; put media into contents.';
      throw new GatewayError('unsupported_modality', message, { param: 'systemInstruction' });
    }
    for (const name of unreadFields(part, INSTRUCTION_FIELDS)) dropped.add(`systemInstruction.parts.${name}`);
    return typeof part?.text === 'string' && part.text !== '' ? [{ type: 'text', text: part.text }] : [];
  });
  return { turns: parts.length > 0 ? [{ role: 'system', parts }] : [], dropped: [...dropped] };
}

function unreadIn(part: Json): string[] {
  const inside = [
    ...unreadInside(part, INSIDE),
    ...list(part.functionResponse?.parts).flatMap((inner) => [
      ...unreadFields(inner, MEDIA_FIELDS, 'functionResponse.parts.'),
      ...unreadInside(inner, MEDIA, 'functionResponse.parts.'),
    ]),
  ];
  const resolution = isUnknownDetail(part.mediaResolution?.level ?? part.mediaResolution) ? ['mediaResolution'] : [];
  return [...unreadFields(part, PART_FIELDS), ...inside, ...resolution];
}

function unreadInside(part: Json, known: Record<string, ReadonlySet<string>>, prefix = ''): string[] {
  return Object.entries(known).flatMap(([name, fields]) =>
    isObject(part[name]) ? unreadFields(part[name], fields, `${prefix}${name}.`) : [],
  );
}

/** Whether the resolution has no hub equivalent. */
export function isUnknownDetail(resolution: Json): boolean {
  return typeof resolution === 'string' && !resolution.endsWith('UNSPECIFIED') && DETAILS[resolution] === undefined;
}

function decodePart(part: Json, resolution: Json): Part[] {
  const opaque = decodeState(part);
  const state = opaque && { opaque };
  if (part.inlineData) return [{ ...decodeBlob(part.inlineData), ...detailOf(part, resolution), ...state }];
  if (part.fileData) return [{ ...decodeFile(part.fileData), ...detailOf(part, resolution), ...state }];
  if (NATIVE.some((name) => isObject(part[name]))) return [{ type: 'native', protocol: 'generate', value: part }];
  if (typeof part.text !== 'string' && !opaque) return [];
  const text = part.text ?? '';
  if (part.thought === true) return text === '' && !opaque ? [] : [{ type: 'reasoning', text, ...state }];
  return text === '' && !opaque ? [] : [{ type: 'text', text, ...state }];
}

/** Joins the streamed pieces of a thought; the signature belongs to all of them and ends the thought. */
function joinedReasoning(parts: Part[]): Part[] {
  const result: Part[] = [];
  let open: ReasoningPart | undefined;
  for (const part of parts) {
    if (part.type !== 'reasoning') {
      open = undefined;
      result.push(part);
    } else if (open) {
      open.text += part.text;
      if (part.opaque) open.opaque = part.opaque;
    } else {
      open = { ...part };
      result.push(open);
    }
    if (open?.opaque) open = undefined;
  }
  return result;
}

function detailOf(part: Json, resolution: Json): { detail?: MediaPart['detail'] } {
  const detail = lookUp(DETAILS, part.mediaResolution?.level ?? part.mediaResolution ?? resolution);
  return detail ? { detail } : {};
}

/** Kind of a media type; any other type than image, audio and video is a document. */
function kindOf(mime: string): MediaPart['kind'] {
  const kind = mime.split('/')[0];
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}

export function decodeBlob(blob: Json): MediaPart {
  const data = /[-_]/.test(blob.data) ? blob.data.replaceAll('-', '+').replaceAll('_', '/') : blob.data;
  const mime: string = blob.mimeType ?? sniffBase64(data) ?? 'application/octet-stream';
  const title = blob.displayName ? { title: blob.displayName } : {};
  const kind = kindOf(mime);
  if (isTextType(mime)) {
    return { type: 'media', kind, mime, text: Buffer.from(data, 'base64').toString('utf8'), ...title };
  }
  return { type: 'media', kind, mime, data, ...title };
}

const OWN_FILE = /^https:\/\/[^/]*generativelanguage\.googleapis\.com\//;

/** URLs can be fetched by any provider; files in Google's storage cannot. */
export function decodeFile({ fileUri, mimeType, displayName }: Json): MediaPart {
  const foreign = /^https?:\/\//.test(fileUri) && !OWN_FILE.test(fileUri);
  const mime = mimeType ? { mime: mimeType } : {};
  const title = displayName ? { title: displayName } : {};
  const kind = mimeType ? kindOf(mimeType) : 'document';
  return { type: 'media', kind, ...mime, ...(foreign ? { url: fileUri } : { fileId: fileUri }), ...title };
}

function decodeCall(part: Json, fallback: string, calls: Calls): CallPart {
  const { id, name, args } = part.functionCall;
  const opaque = decodeState(part);
  const call = { id: id || fallback, name: name ?? '' };
  calls.last.add(call);
  if (id) calls.ids.add(id);
  return { type: 'call', ...call, args: JSON.stringify(args ?? {}), ...(opaque && { opaque }) };
}

function decodeResult(response: Json, fallback: string, calls: Calls): ResultPart {
  const call = take(calls, response);
  const { error, output } = response.response ?? {};
  const single = Object.keys(response.response ?? {}).length === 1;
  const failed = single && error !== undefined;
  const content = failed ? error : single && output !== undefined ? output : response.response;
  const media = list(response.parts).flatMap((part): Part[] => {
    if (part.inlineData) return [decodeBlob(part.inlineData)];
    return part.fileData ? [decodeFile(part.fileData)] : [];
  });
  const text = typeof content === 'string' ? content : JSON.stringify(content ?? {});
  const silent = text === '' || (text === '{}' && media.length > 0);
  return {
    type: 'result',
    callId: call?.id ?? (response.id || fallback),
    name: response.name || call?.name,
    parts: [...(silent ? [] : [{ type: 'text', text } as const]), ...media],
    ...(failed && { isError: true }),
  };
}

/** The call that a result answers. A result with the id of an earlier call is a repetition and answers no other. */
function take({ last, ids }: Calls, { id, name }: Json): ReturnType<OpenCalls['take']> {
  return id && ids.has(id) && !last.has(id) ? undefined : last.take(id, name);
}
