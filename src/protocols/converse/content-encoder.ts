/** Content encoder: parts of the hub to blocks of Converse. */

import { createHash } from 'node:crypto';
import type { CacheMark, CallPart, MediaPart, Part, ResultPart } from '../../core/chat.ts';
import { customArguments, readArguments } from '../../core/custom-tool.ts';
import { GatewayError } from '../../core/errors.ts';
import type { Json } from '../../core/json/json.ts';
import { isTextType, registeredType, sniffBase64 } from '../../core/mime.ts';
import type { Modality } from '../../core/model.ts';
import { ownState } from '../../core/opaque.ts';
import type { Target } from '../../core/operation.ts';
import { lookUp } from '../../core/plain-objects.ts';
import type { ModelFamily } from './families.ts';

/** State of the encoding of one request. */
export interface RequestEncoding {
  target: Target;
  family: ModelFamily;
  nameDocument: (title: string | undefined) => string;
  /** Hub names of dropped members. */
  dropped: Set<string>;
}

const FORMATS: Record<MediaPart['kind'], Readonly<Record<string, string>>> = {
  image: { 'image/png': 'png', 'image/jpeg': 'jpeg', 'image/gif': 'gif', 'image/webp': 'webp' },
  document: {
    'application/pdf': 'pdf',
    'application/msword': 'doc',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
    'application/vnd.ms-excel': 'xls',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
    'text/csv': 'csv',
    'text/html': 'html',
    'text/markdown': 'md',
  },
  audio: {
    'audio/mpeg': 'mp3',
    'audio/mp3': 'mp3',
    'audio/wav': 'wav',
    'audio/x-wav': 'wav',
    'audio/ogg': 'ogg',
    'audio/opus': 'opus',
    'audio/flac': 'flac',
    'audio/aac': 'aac',
    'audio/mp4': 'mp4',
    'audio/webm': 'webm',
  },
  video: {
    'video/mp4': 'mp4',
    'video/quicktime': 'mov',
    'video/webm': 'webm',
    'video/mpeg': 'mpeg',
    'video/x-matroska': 'mkv',
    'video/x-flv': 'flv',
    'video/x-ms-wmv': 'wmv',
    'video/3gpp': 'three_gp',
  },
};
const MODALITIES: Record<MediaPart['kind'], Modality> = {
  image: 'image',
  document: 'file',
  audio: 'audio',
  video: 'video',
};

/** Blocks of all parts but calls and results. Texts without a visible character are refused upstream. */
export function encodePart(part: Exclude<Part, CallPart | ResultPart>, encoding: RequestEncoding): Json[] {
  switch (part.type) {
    case 'text':
      return part.text.trim() === '' ? [] : [{ text: part.text }, ...encodeMark(part.cache, encoding)];
    case 'refusal':
      return part.text.trim() === '' ? [] : [{ text: part.text }];
    case 'media':
      return [encodeMedia(part, encoding), ...encodeMark(part.cache, encoding)];
    case 'reasoning': {
      const state = ownState(part.opaque, encoding.target.origin);
      // Models repeat reasoning aloud that comes back without a signature.
      if (!state) return [];
      if (state.kind !== 'signature') return [{ reasoningContent: { redactedContent: state.value } }];
      return [{ reasoningContent: { reasoningText: { text: part.text, signature: state.value } } }];
    }
    case 'native':
      return part.protocol === 'converse' ? [part.value] : [];
  }
}

/** A cache point behind the part that has the mark. */
export function encodeMark(mark: CacheMark | undefined, { family, dropped }: RequestEncoding): Json[] {
  if (!mark) return [];
  // Points last five minutes.
  if (family.caches && mark.ttl !== undefined && mark.ttl !== '5m') dropped.add('cache.ttl');
  if (family.caches) return [{ cachePoint: { type: 'default' } }];
  dropped.add('cache');
  return [];
}

/** Arguments that are not a JSON object are sent unchanged, as text. */
export function encodeCall(call: CallPart, id: string): Json {
  const input = call.custom ? customArguments(call) : (readArguments(call.args) ?? { rawInvalidInput: call.args });
  return { toolUse: { toolUseId: id, name: call.name, input } };
}

const FAILED = 'The tool failed.';
/** Content of a result without any, which would be refused. */
const EMPTY = 'The tool gave no output.';

/** The blocks of a result: the result, and behind it the media that may not be inside. */
export function encodeResult(
  result: ResultPart,
  id: string,
  encoding: RequestEncoding,
): { inside: Json[]; behind: Json[] } {
  const { family, target } = encoding;
  const holdsMedia = target.rules.resultMedia ?? family.resultMedia;
  const content: Json[] = [];
  const behind: Json[] = [];
  if (result.isError && !family.statuses) content.push({ text: FAILED });
  for (const part of result.parts) {
    if (part.type === 'call' || part.type === 'result') continue;
    const isMoved = part.type === 'media' && (!holdsMedia || part.kind === 'audio');
    (isMoved ? behind : content).push(...encodePart(part, encoding));
  }
  if (content.length === 0) content.push({ text: result.isError ? FAILED : EMPTY });
  const status = family.statuses && { status: result.isError ? 'error' : 'success' };
  const block = { toolResult: { toolUseId: id, content: content.filter(isContent), ...status } };
  return {
    inside: [block, ...content.filter((one) => !isContent(one)), ...encodeMark(result.cache, encoding)],
    behind,
  };
}

/** Whether a block may stand inside of a result; cache points stand behind it. */
function isContent(block: Json): boolean {
  return block.cachePoint === undefined;
}

function encodeMedia(part: MediaPart, encoding: RequestEncoding): Json {
  const { kind, text } = part;
  const { inputModalities } = encoding.target.rules;
  const isRead = inputModalities?.includes(MODALITIES[kind]) ?? true;
  if (kind !== 'document') {
    if (!isRead) throw unsupported(`The model does not read ${kind === 'image' ? 'images' : kind}.`);
    return { [kind]: { format: formatOf(part), source: sourceOf(part) } };
  }
  if (!isRead && text !== undefined) return { text: part.title ? `${part.title}\n\n${text}` : text };
  if (!isRead) throw unsupported('The model does not read documents.');
  const source = text === undefined ? sourceOf(part) : { bytes: Buffer.from(text).toString('base64') };
  return { document: { format: formatOf(part), name: encoding.nameDocument(part.title), source } };
}

/** The content tells the type of an image better than its label, which clients get wrong. */
function formatOf(part: MediaPart): string {
  const { kind, mime, data, text } = part;
  const known = FORMATS[kind];
  const said = registeredType(mime?.split(';')[0]?.trim().toLowerCase());
  const seen = data === undefined ? undefined : sniffBase64(data);
  const type = kind === 'image' ? (seen ?? said) : (said ?? seen);
  const format = lookUp(known, type);
  if (format !== undefined) return format;
  if (kind === 'document' && (text !== undefined || (type !== undefined && isTextType(type)))) return 'txt';
  if (kind === 'document' && type === undefined) return 'pdf';
  throw unsupported(
    `The model takes ${kind}s of type ${Object.keys(known).join(', ')}; this one is ${type ?? 'of unknown type'}.`,
  );
}

/** Addresses of S3 are refused: they would be read with the rights of the gateway's account. */
function sourceOf({ data, url }: MediaPart): Json {
  if (data !== undefined) return { bytes: data };
  if (url !== undefined) throw unsupported('The model takes media by their content.');
  throw unsupported('A file id only works with the provider that holds the file.');
}

const MAX_DOCUMENT_NAME = 100;

/** Gives the documents of a request names of the letters that are allowed, each its own. */
export function createDocumentNames(): RequestEncoding['nameDocument'] {
  const used = new Set<string>();
  return (title) => {
    const plain = (title ?? '')
      .replace(/\.[a-z0-9]{1,5}$/i, '')
      .replace(/[^a-zA-Z0-9()[\]-]+/g, ' ')
      .trim()
      .slice(0, MAX_DOCUMENT_NAME)
      .trimEnd();
    const base = /[a-zA-Z0-9]/.test(plain) ? plain : 'document';
    let name = base;
    for (let count = 2; used.has(name); count++) name = `${base} (${count})`;
    used.add(name);
    return name;
  };
}

const SHORT_ID = /^[a-zA-Z0-9]{9}$/;
const MAX_ID_CHARACTERS = 64;

/** Gives every call of a request an id that the model takes and that is its own. */
export function createCallIds({ shortIds }: ModelFamily): (id: string) => string {
  const used = new Set<string>();
  const counts = new Map<string, number>();
  return (id) => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    let name = fitting(count === 1 ? id : `${id}_${count}`, shortIds);
    while (used.has(name)) name = fitting(`${id} ${name}`, shortIds);
    used.add(name);
    return name;
  };
}

function fitting(id: string, isShort: boolean): string {
  if (isShort) return SHORT_ID.test(id) ? id : digest(id).slice(0, 9);
  const clean = id.replace(/[^a-zA-Z0-9_-]/g, '_') || 'call';
  return clean.length <= MAX_ID_CHARACTERS ? clean : `call_${digest(id).slice(0, 32)}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function unsupported(message: string): GatewayError {
  return new GatewayError('unsupported_modality', message, { param: 'turns' });
}
